// Which characters a name may hold. Names that look alike to people must be one name, or two leaders work side by side.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <tenure/lockcore/export.hpp>

namespace tenure {

/// A character that people cannot see, or that looks like another one.
struct OddCharacter {
  enum class Kind {
    unseen,     ///< controls, default-ignorable and directional characters, what Unicode keeps for no character
    space,      ///< any space but U+0020
    lookAlike,  ///< typographic quotes and hyphens, which programs for texts write by themselves
  };
  Kind kind{Kind::unseen};
  char32_t code{0};
  std::string_view name{};  ///< as in Unicode
  std::size_t offset{0};    ///< its first byte in the text
  std::size_t number{0};    ///< which character of the text it is, from 1

  /// "U+200B ZERO WIDTH SPACE".
  [[nodiscard]] TENURE_API std::string text() const;
};

/// Begins the name of the holder that is an operator's pause, which nobody renews. No candidate may be called so.
inline constexpr std::string_view pauseNamePrefix{"paused by "};

/// `\u200b`, as C++, JSON and YAML write it; `\U000e0001` beyond four digits.
[[nodiscard]] TENURE_API std::string escapeOf(const OddCharacter& odd);

/// The first one. Bytes that are not UTF-8 are passed over.
[[nodiscard]] TENURE_API std::optional<OddCharacter> firstOddCharacter(std::string_view text) noexcept;

/// Of one character of UTF-8.
[[nodiscard]] std::optional<OddCharacter> oddCharacter(std::string_view character) noexcept;

/// "holds U+200B ZERO WIDTH SPACE as character 8, ...", without a subject: why UTF-8 text may not be a name, an id or a
/// key; empty if it may. Besides odd characters these are spaces at the ends, and what is not composed (NFC).
[[nodiscard]] TENURE_API std::optional<std::string> faultOfNameText(std::string_view text);

/// The first character that Unicode's NFC would write in another way (UAX #15), as its number from 1; 0: none. The
/// text is UTF-8.
[[nodiscard]] TENURE_API std::size_t firstNotComposed(std::string_view text);

}  // namespace tenure
