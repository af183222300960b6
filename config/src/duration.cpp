#include "duration.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>

#include "lockcore/port/ascii_text.hpp"

namespace tenure {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t milliseconds;
};

constexpr std::array<Unit, 4> units{{{"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};
constexpr std::int64_t longest = longestDuration.count();
constexpr std::string_view unitNames = "units are ms, s, m and h";

/// Our units with the spellings that other programs have, for suggestions only.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> foreignUnits{{
    {"s", "sec secs second seconds S"},
    {"m", "min mins minute minutes"},
    {"h", "hr hour hours H"},
    {"ms", "msec millis MS milliseconds"},
}};
constexpr std::array<std::string_view, 6> finerUnits{"us", "ns", "\xC2\xB5s", "\xCE\xBCs", "usec", "nsec"};

std::string_view takeDigits(std::string_view& rest) {
  std::size_t n = 0;
  while (n < rest.size() && isDigit(rest[n])) ++n;
  const std::string_view digits = rest.substr(0, n);
  rest.remove_prefix(n);
  return digits;
}

std::string_view takeUnit(std::string_view& rest) {
  std::size_t n = 0;
  while (n < rest.size() && !isDigit(rest[n]) && rest[n] != '.') ++n;
  const std::string_view unit = rest.substr(0, n);
  rest.remove_prefix(n);
  return unit;
}

/// Reads the parts of one duration from left to right. Each step returns nothing if it succeeded, else what is wrong.
class DurationReader {
 public:
  explicit DurationReader(std::string_view text) : text_{text}, rest_{text} {}

  boost::system::result<std::chrono::milliseconds, ValueFault> read() {
    if (text_.empty()) return ValueFault{"is empty; write a duration such as 10s or 1500ms"};
    if (text_.front() == '-') return ValueFault{inQuotes(text_) + " is negative; a duration is zero or more"};
    while (!rest_.empty()) {
      if (auto wrong = readPart()) return ValueFault{withoutSpaces().value_or(std::move(*wrong))};
    }
    return std::chrono::milliseconds{total_};
  }

 private:
  std::optional<std::string> readPart() {
    const std::string_view whole = takeDigits(rest_);
    std::string_view fraction;
    if (!rest_.empty() && rest_.front() == '.') {
      rest_.remove_prefix(1);
      fraction = takeDigits(rest_);
      if (fraction.empty()) return notADuration();
    }
    if (whole.empty()) return notADuration();
    const std::string_view name = takeUnit(rest_);
    if (name.empty()) return rest_.empty() ? withoutUnit() : notADuration();
    std::size_t index = 0;
    while (index < units.size() && units[index].name != name) ++index;
    if (index == units.size()) return unknownUnit(name);
    if (index < nextUnit_) return inQuotes(text_) + " must name its units from large to small, each once: 1h30m, 1m30s";
    nextUnit_ = index + 1;
    if (auto wrong = addWhole(whole, units[index])) return wrong;
    return addFraction(fraction, units[index]);
  }

  std::optional<std::string> addWhole(std::string_view digits, const Unit& unit) {
    std::int64_t value = 0;
    for (const char c : digits) {
      value = value * 10 + (c - '0');
      if (value > longest / unit.milliseconds) return tooLong();
    }
    return add(value * unit.milliseconds);
  }

  std::optional<std::string> addFraction(std::string_view digits, const Unit& unit) {
    while (!digits.empty() && digits.back() == '0') digits.remove_suffix(1);
    // 3600000 = 2^7 * 3^2 * 5^5: more than seven decimals of an hour are never whole milliseconds.
    if (digits.size() > 7) return tooFine();
    std::int64_t value = 0;
    std::int64_t scale = 1;
    for (const char c : digits) {
      value = value * 10 + (c - '0');
      scale *= 10;
    }
    if (value * unit.milliseconds % scale != 0) return tooFine();
    return add(value * unit.milliseconds / scale);
  }

  std::optional<std::string> add(std::int64_t part) {
    total_ += part;
    if (total_ > longest) return tooLong();
    return std::nullopt;
  }

  [[nodiscard]] std::string notADuration() const {
    return inQuotes(text_) + " is not a duration; write it such as 10s, 1500ms or 1m30s";
  }
  [[nodiscard]] std::string tooLong() const { return inQuotes(text_) + " is too long"; }
  [[nodiscard]] std::string tooFine() const { return inQuotes(text_) + " is finer than a millisecond"; }

  [[nodiscard]] std::string withoutUnit() const {
    const std::string text{text_};
    if (nextUnit_ > 0) return inQuotes(text_) + " has no unit after its last number; write it such as 1m30s";
    return inQuotes(text_) + " has no unit; give one, such as " + text + "ms or " + text + "s";
  }

  /// The message for a text in which only spaces are wrong.
  [[nodiscard]] std::optional<std::string> withoutSpaces() const {
    std::string joined;
    for (const char c : text_) {
      if (c != ' ' && c != '\t') joined += c;
    }
    if (joined.size() == text_.size() || !DurationReader{joined}.read()) return std::nullopt;
    return inQuotes(text_) + " has a space in it; write it as " + joined;
  }

  [[nodiscard]] std::string unknownUnit(std::string_view name) const {
    for (const std::string_view finer : finerUnits) {
      if (name == finer) return inQuotes(text_) + " is finer than a millisecond; " + std::string{unitNames};
    }
    std::string message = inQuotes(text_) + " has the unknown unit " + inQuotes(name);
    for (const auto& [ours, foreign] : foreignUnits) {
      const auto words = wordsOf(foreign);
      const bool isMeant = std::find(words.begin(), words.end(), name) != words.end();
      if (isMeant) message += " (did you mean \"" + std::string{ours} + "\"?)";
    }
    return message + "; " + std::string{unitNames};
  }

  std::string_view text_;
  std::string_view rest_;
  std::size_t nextUnit_{0};
  std::int64_t total_{0};
};

}  // namespace

void throw_exception_from_error(const ValueFault& fault, const boost::source_location& /*where*/) {
  throw std::invalid_argument(fault.message);
}

boost::system::result<std::chrono::milliseconds, ValueFault> parseDuration(std::string_view text) {
  return DurationReader{text}.read();
}

std::string durationText(std::chrono::milliseconds value) {
  std::int64_t left = value.count();
  if (left % 1'000 != 0) return std::to_string(left) + "ms";
  std::string out;
  for (const Unit& unit : units) {
    if (left < unit.milliseconds) continue;
    out.append(std::to_string(left / unit.milliseconds)).append(unit.name);
    left %= unit.milliseconds;
  }
  return out.empty() ? "0s" : out;
}

}  // namespace tenure
