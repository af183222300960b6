#include "quoted_text.hpp"

#include <algorithm>

#include <tenure/lockcore/lease_record.hpp>

#include "ascii_text.hpp"
#include "name_text.hpp"

namespace tenure {
namespace {

/// `character` is a byte of ASCII, a character of UTF-8, or a byte that is none. Quotes are left to the caller.
void appendShown(std::string& out, std::string_view character) {
  const auto byte = static_cast<unsigned char>(character[0]);
  if (character == "\n") {
    out += "\\n";
  } else if (character == "\t") {
    out += "\\t";
  } else if (byte < 0x20 || byte == 0x7F || (byte >= 0x80 && utf8SequenceLength(character) == 0)) {
    out += "\\x" + hexOf(character[0]);
  } else if (const auto odd = oddCharacter(character); odd && odd->kind != OddCharacter::Kind::lookAlike) {
    out += escapeOf(*odd);
  } else {
    out += character;
  }
}

/// At most `most` bytes of `text`, each character written by `append`. False: there was more.
template <typename Append>
bool forCharacters(std::string_view text, std::size_t most, const Append& append) {
  while (!text.empty()) {
    const std::string_view character = text.substr(0, std::max<std::size_t>(utf8SequenceLength(text), 1));
    if (character.size() > most) return false;
    most -= character.size();
    append(character);
    text.remove_prefix(character.size());
  }
  return true;
}

}  // namespace

std::string shown(std::string_view text, std::size_t most) {
  std::string out;
  if (!forCharacters(text, most, [&](std::string_view character) { appendShown(out, character); })) out += "...";
  return out;
}

std::string shown(std::string_view text) { return shown(text, text.size()); }

std::string inQuotes(std::string_view text, std::size_t most) {
  std::string out = "\"";
  const bool whole = forCharacters(text, most, [&](std::string_view character) {
    if (character == "\"" || character == "\\") out += '\\';
    appendShown(out, character);
  });
  return out += whole ? "\"" : "...\"";
}

std::string_view fitting(std::string_view text, std::size_t most) noexcept {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
  return text.substr(0, most);
}

std::size_t utf8SequenceLength(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto continues = [&](std::size_t i) { return byte(i) >= 0x80 && byte(i) <= 0xBF; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return continues(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const unsigned low = lead == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = lead == 0xED ? 0x9F : 0xBF;
    return byte(1) >= low && byte(1) <= high && continues(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const unsigned low = lead == 0xF0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xF4 ? 0x8F : 0xBF;
    return byte(1) >= low && byte(1) <= high && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

bool isUtf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t length = utf8SequenceLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace tenure
