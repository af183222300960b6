// Numbers, letters, words and lines of texts that somebody else wrote. They are those of ASCII whatever locale the host
// has set, which the functions of <cctype> and streams are not.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace tenure {

[[nodiscard]] constexpr bool isDigit(char c) noexcept { return c >= '0' && c <= '9'; }
[[nodiscard]] constexpr bool isUpper(char c) noexcept { return c >= 'A' && c <= 'Z'; }
[[nodiscard]] constexpr bool isLower(char c) noexcept { return c >= 'a' && c <= 'z'; }
[[nodiscard]] constexpr bool isLetter(char c) noexcept { return isUpper(c) || isLower(c); }
[[nodiscard]] constexpr char lower(char c) noexcept { return isUpper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
[[nodiscard]] constexpr char upper(char c) noexcept { return isLower(c) ? static_cast<char>(c - 'a' + 'A') : c; }

[[nodiscard]] inline std::string lowered(std::string_view text) {
  std::string out{text};
  for (char& c : out) c = lower(c);
  return out;
}

[[nodiscard]] inline std::string uppered(std::string_view text) {
  std::string out{text};
  for (char& c : out) c = upper(c);
  return out;
}

/// But for the case of letters.
[[nodiscard]] constexpr bool sameText(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

/// Only digits, and at least one.
[[nodiscard]] constexpr bool isAllDigits(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), isDigit);
}

/// The number, if the whole text is one in that base that fits. It has no plus sign and no space around it.
template <class Number>
[[nodiscard]] std::optional<Number> numberFrom(std::string_view text, int base = 10) noexcept {
  Number number{};
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (fault != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

inline constexpr std::string_view hexDigits{"0123456789abcdef"};

/// Two digits.
[[nodiscard]] inline std::string hexOf(char byte) {
  const auto value = static_cast<unsigned char>(byte);
  return {hexDigits[value >> 4U], hexDigits[value & 0xFU]};
}

/// The last `digits` digits of a number, with zeros in front.
[[nodiscard]] inline std::string hexOf(std::uint64_t number, std::size_t digits) {
  std::string out(digits, '0');
  for (auto digit = out.rbegin(); digit != out.rend(); ++digit, number >>= 4U) *digit = hexDigits[number & 0xFU];
  return out;
}

/// Without the characters of `blank` at its ends.
[[nodiscard]] constexpr std::string_view trimmed(std::string_view text, std::string_view blank = " \t\r\n") noexcept {
  text.remove_prefix(std::min(text.find_first_not_of(blank), text.size()));
  return text.substr(0, text.find_last_not_of(blank) + 1);
}

/// The parts between separators: at least one, and as many as there are separators and one more.
[[nodiscard]] inline std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  for (;;) {
    const std::size_t end = text.find(separator);
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

/// What stands before the next `mark`, which is removed with it; without one, all of the text.
[[nodiscard]] constexpr std::string_view takeUpTo(std::string_view& text, char mark) noexcept {
  const std::string_view part = text.substr(0, text.find(mark));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

/// Parts of `text`, without the white space round them.
[[nodiscard]] inline std::vector<std::string_view> wordsOf(std::string_view text) {
  constexpr std::string_view blank = " \t\n\v\f\r";
  std::vector<std::string_view> words;
  for (std::size_t begin = text.find_first_not_of(blank); begin != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(blank, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(blank, end);
  }
  return words;
}

/// Parts of `text`, without their line breaks. A line break at the end begins no further line.
[[nodiscard]] inline std::vector<std::string_view> linesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    lines.push_back(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(lines.back().size() + 1, text.size()));
  }
  return lines;
}

/// With the byte for each %XX; empty: a % has no two digits after it.
[[nodiscard]] inline std::optional<std::string> percentDecoded(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      out += text[at];
      continue;
    }
    const auto byte = numberFrom<unsigned char>(text.substr(at + 1, 2), 16);
    if (!byte || at + 2 >= text.size()) return std::nullopt;
    out += static_cast<char>(*byte);
    at += 2;
  }
  return out;
}

}  // namespace tenure
