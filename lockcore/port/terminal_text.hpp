// Characters that a terminal obeys instead of showing them.
#pragma once

#include <string_view>

namespace tenure {

/// Whether a character of UTF-8 beyond ASCII is a C1 control, or turns the direction of writing (UAX #9).
[[nodiscard]] inline bool steersTerminal(std::string_view character) noexcept {
  if (character.size() == 2) return character[0] == '\xC2' && static_cast<unsigned char>(character[1]) < 0xA0;
  if (character.size() != 3 || character[0] != '\xE2') return false;
  const auto second = static_cast<unsigned char>(character[1]), third = static_cast<unsigned char>(character[2]);
  const bool marks = second == 0x80 && (third == 0x8E || third == 0x8F || (third >= 0xA8 && third <= 0xAE));
  return marks || (second == 0x81 && third >= 0xA6 && third <= 0xA9);
}

}  // namespace tenure
