#include "quoted_text.hpp"

#include <algorithm>

#include <tenure/lockcore/lease_key.hpp>

#include "ascii_text.hpp"
#include "name_text.hpp"
#include "utf8.hpp"

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

}  // namespace tenure
