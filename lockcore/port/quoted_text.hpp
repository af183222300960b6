// Texts that somebody else wrote: which of them may be names, holders and attributes, and how they get into messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_record.hpp>

namespace tenure {

/// The length of the well-formed UTF-8 sequence at the start of `text`; 0 if there is none (RFC 3629, table 3-7 of the
/// Unicode Standard: no overlong forms, no surrogates, nothing above U+10FFFF).
[[nodiscard]] std::size_t utf8SequenceLength(std::string_view text) noexcept;

/// The longest beginning of `text` that has at most `most` bytes and does not end within a character of UTF-8.
[[nodiscard]] TENURE_API std::string_view fitting(std::string_view text, std::size_t most) noexcept;

/// UTF-8 without NUL, because C interfaces would take a NUL for the end.
[[nodiscard]] inline bool isPlainText(std::string_view text) {
  return isUtf8(text) && text.find('\0') == std::string_view::npos;
}

/// The text in quotes, and shortened if it has more than `most` bytes. Escaped is what `shown` escapes, and quotes.
[[nodiscard]] TENURE_API std::string inQuotes(std::string_view text, std::size_t most = 60);

/// Enough for the text of every candidate of tenure.
inline constexpr std::size_t mostOfHolder = 250;

/// The text without quotes, of at most `most` bytes, for a line of a log or of a terminal. Escaped is what could end
/// the line, steer a terminal or turn the direction of writing, what people cannot see or take for a plain space, and
/// bytes that are not UTF-8. Everything that others wrote goes through this or inQuotes().
[[nodiscard]] TENURE_API std::string shown(std::string_view text, std::size_t most);
/// All of it.
[[nodiscard]] TENURE_API std::string shown(std::string_view text);

}  // namespace tenure
