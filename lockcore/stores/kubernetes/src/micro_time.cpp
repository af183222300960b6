#include "micro_time.hpp"

#include <algorithm>
#include <chrono>

namespace tenure::kubernetes_store {
namespace {

using std::chrono::days;
using std::chrono::microseconds;

void appendDigits(std::string& out, std::int64_t value, std::size_t width) {
  const std::string digits = std::to_string(value);
  out.append(width > digits.size() ? width - digits.size() : 0, '0').append(digits);
}

/// Takes a text from front to back. After the first thing that is not as it must be, nothing is.
class TimeReader {
 public:
  explicit TimeReader(std::string_view text) : rest_{text} {}

  std::int64_t digits(std::size_t count) {
    std::int64_t value = 0;
    if (rest_.size() < count) good_ = false;
    for (std::size_t i = 0; good_ && i < count; ++i) {
      if (!isDigit(rest_[i])) good_ = false;
      value = value * 10 + (rest_[i] - '0');
    }
    if (good_) rest_.remove_prefix(count);
    return value;
  }
  bool take(char wanted) {
    if (!good_ || rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char wanted) { good_ = take(wanted) && good_; }
  std::int64_t fraction() {
    std::int64_t value = 0;
    int width = 0;
    for (; good_ && !rest_.empty() && isDigit(rest_.front()); rest_.remove_prefix(1), ++width) {
      if (width < 6) value = value * 10 + (rest_.front() - '0');
    }
    if (width == 0) good_ = false;
    for (; width < 6; ++width) value *= 10;
    return value;
  }
  [[nodiscard]] bool isWhole() const { return good_ && rest_.empty(); }

 private:
  static bool isDigit(char c) { return c >= '0' && c <= '9'; }

  std::string_view rest_;
  bool good_{true};
};

std::int64_t offsetMinutes(TimeReader& reader) {
  if (reader.take('Z')) return 0;
  const bool west = reader.take('-');
  if (!west) reader.expect('+');
  const std::int64_t hours = reader.digits(2);
  reader.expect(':');
  const std::int64_t minutes = hours * 60 + reader.digits(2);
  return west ? -minutes : minutes;
}

}  // namespace

std::string microTime(std::int64_t micros) {
  const microseconds since{std::clamp(micros, earliestMicros, latestMicros)};
  const auto day = std::chrono::floor<days>(since);
  const std::chrono::year_month_day date{std::chrono::sys_days{day}};
  const std::chrono::hh_mm_ss<microseconds> time{since - day};
  std::string out;
  appendDigits(out, static_cast<int>(date.year()), 4);
  appendDigits(out += '-', static_cast<unsigned>(date.month()), 2);
  appendDigits(out += '-', static_cast<unsigned>(date.day()), 2);
  appendDigits(out += 'T', time.hours().count(), 2);
  appendDigits(out += ':', time.minutes().count(), 2);
  appendDigits(out += ':', time.seconds().count(), 2);
  appendDigits(out += '.', time.subseconds().count(), 6);
  return out += 'Z';
}

std::optional<std::int64_t> microsFrom(std::string_view text) {
  TimeReader reader{text};
  const std::chrono::year year{static_cast<int>(reader.digits(4))};
  reader.expect('-');
  const std::chrono::month month{static_cast<unsigned>(reader.digits(2))};
  reader.expect('-');
  const std::chrono::year_month_day date{year, month, std::chrono::day{static_cast<unsigned>(reader.digits(2))}};
  reader.expect('T');
  const std::int64_t hour = reader.digits(2);
  reader.expect(':');
  const std::int64_t minute = reader.digits(2);
  reader.expect(':');
  const std::int64_t second = reader.digits(2);
  const std::int64_t fraction = reader.take('.') ? reader.fraction() : 0;
  const std::int64_t offset = offsetMinutes(reader);
  if (!reader.isWhole() || !date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const microseconds day = std::chrono::sys_days{date}.time_since_epoch();
  const microseconds time = std::chrono::hours{hour} + std::chrono::minutes{minute - offset} +
                            std::chrono::seconds{second} + microseconds{fraction};
  const std::int64_t micros = (day + time).count();
  if (micros < earliestMicros || micros > latestMicros) return std::nullopt;
  return micros;
}

namespace {

constexpr std::int64_t aSecond = 1'000'000;

std::int64_t microsFromMillis(std::int64_t millis) {
  return std::clamp(millis, earliestMicros / 1000, latestMicros / 1000) * 1000;
}

}  // namespace

std::int64_t nextRenewMicros(std::optional<std::int64_t> before, const std::optional<RenewClock>& clock,
                             const Instant& now, std::int64_t wallMillis) {
  std::int64_t next = microsFromMillis(wallMillis);
  if (clock) {
    const auto elapsed = std::chrono::duration_cast<std::chrono::microseconds>(elapsedForHolder(clock->at, now));
    next = clock->micros + elapsed.count();
  }
  if (before) next = std::max(next, *before + (clock ? 1 : aSecond));
  return std::clamp(next, earliestMicros, latestMicros);
}

}  // namespace tenure::kubernetes_store
