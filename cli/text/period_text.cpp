#include "period_text.hpp"

#include <algorithm>
#include <charconv>

#include <tenure/lockcore/clock.hpp>

#include "lockcore/port/ascii_text.hpp"

namespace tenure::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::sys_days;
using std::chrono::sys_seconds;
using std::chrono::year_month_day;

constexpr std::string_view shape = "dddd-dd-ddTdd:dd:ddZ";

bool hasShape(std::string_view text) {
  return std::equal(text.begin(), text.end(), shape.begin(), shape.end(),
                    [](char c, char wanted) { return wanted == 'd' ? isDigit(c) : c == wanted; });
}

unsigned numberAt(std::string_view text, std::size_t at, std::size_t digits) {
  unsigned value = 0;
  std::from_chars(text.data() + at, text.data() + at + digits, value);
  return value;
}

}  // namespace

std::string periodText(sys_seconds period) {
  std::string text = wallClockTextForDisplay(milliseconds{period.time_since_epoch()}.count());
  return text.erase(text.rfind('.')) + 'Z';  // periods are whole seconds
}

std::optional<sys_seconds> periodFrom(std::string_view text) {
  if (!hasShape(text)) return std::nullopt;
  const year_month_day date{std::chrono::year{static_cast<int>(numberAt(text, 0, 4))},
                            std::chrono::month{numberAt(text, 5, 2)}, std::chrono::day{numberAt(text, 8, 2)}};
  const std::chrono::hours hours{numberAt(text, 11, 2)};
  const std::chrono::minutes minutes{numberAt(text, 14, 2)};
  const std::chrono::seconds seconds{numberAt(text, 17, 2)};
  if (!date.ok() || hours.count() > 23 || minutes.count() > 59 || seconds.count() > 59) return std::nullopt;
  return sys_days{date} + hours + minutes + seconds;
}

}  // namespace tenure::cli
