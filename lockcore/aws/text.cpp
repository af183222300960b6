#include "text.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "lockcore/port/ascii_text.hpp"

namespace tenure::aws {
namespace {

constexpr std::string_view white = " \t\r\n";

bool isUnreserved(char c) noexcept {
  return isLetter(c) || isDigit(c) || std::string_view{"-._~"}.find(c) != std::string_view::npos;
}

int hexValue(char c) noexcept {
  if (isDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool mayBeSecret(char c) noexcept { return isUnreserved(c) || c == '+' || c == '/' || c == '=' || c == '%'; }

}  // namespace

std::vector<std::string> shellWords(std::string_view text) {
  std::vector<std::string> words;
  char quote = '\0';
  bool inWord = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool wasInWord = inWord;
    inWord = quote != '\0' || white.find(c) == std::string_view::npos;
    if (!inWord) continue;
    if (!wasInWord) words.emplace_back();
    const bool escapes = c == '\\' && quote != '\'' && i + 1 < text.size();
    if (escapes && (quote == '\0' || text[i + 1] == '"' || text[i + 1] == '\\')) {
      words.back() += text[++i];
    } else if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == quote) {
      quote = '\0';
    } else {
      words.back() += c;
    }
  }
  if (quote != '\0') words.clear();
  return words;
}

std::string percentEncode(std::string_view text, std::string_view kept) {
  static constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (isUnreserved(c) || kept.find(c) != std::string_view::npos) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out.append({'%', digits[byte >> 4U], digits[byte & 0xFU]});
    }
  }
  return out;
}

std::string percentDecode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool whole = text[i] == '%' && i + 2 < text.size();
    const int high = whole ? hexValue(text[i + 1]) : -1;
    const int low = whole ? hexValue(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      out += text[i];
    } else {
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

std::string forPeople(std::string_view text, std::size_t most) {
  constexpr std::size_t shortestSecret = 30;  // secret keys have 40 characters; access key ids, which are no secret, 20
  std::string out;
  text = trimmed(text);
  for (std::size_t i = 0; i < text.size() && out.size() < most;) {
    std::size_t end = i;
    while (end < text.size() && mayBeSecret(text[end])) ++end;
    if (end - i >= shortestSecret) {
      out += "[left out]";
    } else {
      out.append(text.substr(i, end - i));
    }
    if (end < text.size()) out += static_cast<unsigned char>(text[end]) < 0x20 ? ' ' : text[end];
    i = end + 1;
  }
  if (out.size() > most) out.resize(most);
  return out;
}

std::string oneLine(std::string_view text, std::size_t most) {
  std::string out{trimmed(text).substr(0, most)};
  for (char& c : out) c = static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  return out;
}

bool isHostLabel(std::string_view text) noexcept {
  if (text.empty() || text.size() > 63 || text.front() == '-' || text.back() == '-') return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return isLower(c) || isDigit(c) || c == '-'; });
}

namespace {

/// Reads a text from its front; after the first mismatch it stays bad.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_{text} {}

  int digits(std::size_t count) { return digits(count, count); }
  int digits(std::size_t least, std::size_t most) {
    int value = 0;
    std::size_t count = 0;
    for (; count < std::min(most, rest_.size()) && isDigit(rest_[count]); ++count) {
      value = value * 10 + (rest_[count] - '0');
    }
    if (count < least) return fail();
    rest_.remove_prefix(count);
    return value;
  }
  [[nodiscard]] bool atDigit() const { return !rest_.empty() && isDigit(rest_.front()); }
  void expect(std::string_view literal) {
    if (!take(literal)) fail();
  }
  bool takeOneOf(std::initializer_list<std::string_view> literals) {
    return std::any_of(literals.begin(), literals.end(), [&](std::string_view one) { return take(one); });
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
  in.take(" ");
  if (in.takeOneOf({"Z", "z", "UTC", "GMT"})) return 0;
  const bool west = in.take("-");
  if (!west) in.expect("+");
  const int hours = in.digits(2);
  const int minutes = in.take(":") || in.atDigit() ? in.digits(2) : 0;
  return (west ? -1 : 1) * (hours * 60 + minutes);
}

struct TimeOfDay {
  int hour{0};
  int minute{0};
  int second{0};
};

/// `1:02:03`, `01:02` or `010203`, with a fraction behind the seconds.
TimeOfDay readTimeOfDay(Reader& in) {
  TimeOfDay out{.hour = in.digits(1, 2)};
  const bool extended = in.take(":");
  out.minute = in.digits(extended ? 1 : 2, 2);
  if (extended ? !in.take(":") : !in.atDigit()) return out;
  out.second = in.digits(extended ? 1 : 2, 2);
  if (in.takeOneOf({".", ","})) in.skipDigits();
  return out;
}

constexpr std::chrono::seconds firstSecond =
    std::chrono::sys_days{std::chrono::year{0} / std::chrono::January / 1}.time_since_epoch();
constexpr std::chrono::seconds lastSecond =
    std::chrono::sys_days{std::chrono::year{9999} / std::chrono::December / 31}.time_since_epoch() +
    std::chrono::seconds{86'399};

void put(char*& out, int value, int digits) {
  for (int i = digits; i-- > 0; value /= 10) out[i] = static_cast<char>('0' + value % 10);
  out += digits;
}

}  // namespace

std::string amzDate(std::chrono::seconds time) {
  const std::chrono::seconds since1970 = std::clamp(time, firstSecond, lastSecond);
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
  Reader in{trimmed(text)};
  const int year = in.digits(4);
  const bool extended = in.take("-");
  const std::size_t least = extended ? 1 : 2;
  const int month = in.digits(least, 2);
  if (extended) in.expect("-");
  const int day = in.digits(least, 2);
  if (!in.takeOneOf({"T", "t"})) in.expect(" ");
  const TimeOfDay time = readTimeOfDay(in);
  const int offset = readOffsetMinutes(in);
  if (!in.doneWell()) return std::nullopt;
  auto out = secondsFrom(year, month, day, time.hour, time.minute, time.second);
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
