#include "text.hpp"

#include <algorithm>

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

std::string_view trim(std::string_view text) noexcept {
  const std::size_t first = text.find_first_not_of(white);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(white) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  for (;;) {
    const std::size_t end = text.find(separator);
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

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
  text = trim(text);
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
  std::string out{trim(text).substr(0, most)};
  for (char& c : out) c = static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  return out;
}

bool isHostLabel(std::string_view text) noexcept {
  if (text.empty() || text.size() > 63 || text.front() == '-' || text.back() == '-') return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return isLower(c) || isDigit(c) || c == '-'; });
}

}  // namespace tenure::aws
