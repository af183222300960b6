#include "times.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace tenure::aws {
namespace {

/// Reads a text from its front; after the first mismatch it stays bad.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_{text} {}

  int digits(std::size_t count) {
    int value = 0;
    if (rest_.size() < count) return fail();
    for (std::size_t i = 0; i < count; ++i) {
      if (rest_[i] < '0' || rest_[i] > '9') return fail();
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(count);
    return value;
  }
  void expect(std::string_view literal) {
    if (!take(literal)) fail();
  }
  bool take(std::string_view literal) {
    if (!rest_.starts_with(literal)) return false;
    rest_.remove_prefix(literal.size());
    return true;
  }
  std::string_view letters(std::size_t count) {
    const std::string_view out = rest_.substr(0, count);
    if (out.size() < count) fail();
    rest_.remove_prefix(out.size());
    return out;
  }
  void skipDigits() { rest_.remove_prefix(std::min(rest_.find_first_not_of("0123456789"), rest_.size())); }
  int fail() {
    good_ = false;
    return 0;
  }
  [[nodiscard]] bool doneWell() const { return good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_{true};
};

std::optional<std::chrono::seconds> secondsFrom(int year, int month, int day, int hour, int minute, int second) {
  const std::chrono::year_month_day date{std::chrono::year{year}, std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  return std::chrono::sys_days{date}.time_since_epoch() + std::chrono::hours{hour} + std::chrono::minutes{minute} +
         std::chrono::seconds{second};
}

int readOffsetMinutes(Reader& in) {
  if (in.take("Z")) return 0;
  const bool west = in.take("-");
  if (!west) in.expect("+");
  const int hours = in.digits(2);
  in.take(":");
  const int minutes = in.digits(2);
  return (west ? -1 : 1) * (hours * 60 + minutes);
}

void put(char*& out, int value, int digits) {
  for (int i = digits; i-- > 0; value /= 10) out[i] = static_cast<char>('0' + value % 10);
  out += digits;
}

}  // namespace

std::string amzDate(std::chrono::seconds since1970) {
  const auto days = std::chrono::floor<std::chrono::days>(since1970);
  const std::chrono::year_month_day date{std::chrono::sys_days{days}};
  const auto rest = static_cast<int>((since1970 - days).count());
  std::string text = "00000000T000000Z";
  char* out = text.data();
  put(out, int{date.year()}, 4);
  put(out, static_cast<int>(unsigned{date.month()}), 2);
  put(out, static_cast<int>(unsigned{date.day()}), 2);
  ++out;
  put(out, rest / 3600, 2);
  put(out, rest / 60 % 60, 2);
  put(out, rest % 60, 2);
  return text;
}

std::optional<std::chrono::seconds> parseIsoTime(std::string_view text) {
  Reader in{text};
  const int year = in.digits(4);
  in.expect("-");
  const int month = in.digits(2);
  in.expect("-");
  const int day = in.digits(2);
  if (!in.take("T")) in.expect(" ");
  const int hour = in.digits(2);
  in.expect(":");
  const int minute = in.digits(2);
  in.expect(":");
  const int second = in.digits(2);
  if (in.take(".")) in.skipDigits();
  const int offset = readOffsetMinutes(in);
  if (!in.doneWell()) return std::nullopt;
  auto out = secondsFrom(year, month, day, hour, minute, second);
  if (out) *out -= std::chrono::minutes{offset};
  return out;
}

std::optional<std::chrono::seconds> parseHttpDate(std::string_view text) {
  static constexpr std::array<std::string_view, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                           "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  Reader in{text};
  in.letters(3);
  in.expect(", ");
  const int day = in.digits(2);
  in.expect(" ");
  const auto month = std::find(months.begin(), months.end(), in.letters(3)) - months.begin() + 1;
  in.expect(" ");
  const int year = in.digits(4);
  in.expect(" ");
  const int hour = in.digits(2);
  in.expect(":");
  const int minute = in.digits(2);
  in.expect(":");
  const int second = in.digits(2);
  in.expect(" GMT");
  if (!in.doneWell()) return std::nullopt;
  return secondsFrom(year, static_cast<int>(month), day, hour, minute, second);
}

}  // namespace tenure::aws
