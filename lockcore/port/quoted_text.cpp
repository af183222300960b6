#include "quoted_text.hpp"

#include <algorithm>

#include <tenure/lockcore/lease_key.hpp>

#include "terminal_text.hpp"
#include "utf8.hpp"

namespace tenure {
namespace {

void appendEscaped(std::string& out, char c, bool isText) {
  static constexpr std::string_view digits{"0123456789abcdef"};
  const auto byte = static_cast<unsigned char>(c);
  if (c == '\n') {
    out += "\\n";
  } else if (c == '\t') {
    out += "\\t";
  } else if (byte < 0x20 || byte == 0x7F || (byte >= 0x80 && !isText)) {
    out.append("\\x").append(1, digits[byte >> 4U]).append(1, digits[byte & 0xFU]);
  } else {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
}

bool continuesCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

}  // namespace

std::string shown(std::string_view text, std::size_t most) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(utf8SequenceLength(text), 1);
    const std::string_view character = text.substr(0, length);
    if (length > most) return out + "...";
    most -= length;
    const bool isText = isUtf8(character) && !steersTerminal(character);
    if (length == 1 && (character[0] == '"' || character[0] == '\\')) {
      out += character;
    } else {
      for (const char c : character) appendEscaped(out, c, isText);
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string inQuotes(std::string_view text, std::size_t most) {
  std::size_t end = text.size();
  if (end > most) {
    end = most;
    while (end > 0 && continuesCharacter(text[end])) --end;
  }
  std::string out = "\"";
  const bool isText = isUtf8(text);
  for (const char c : text.substr(0, end)) appendEscaped(out, c, isText);
  out += end < text.size() ? "...\"" : "\"";
  return out;
}

}  // namespace tenure
