// Texts that somebody else wrote: which of them may be names, holders and attributes, and how they get into messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <tenure/lockcore/lease_key.hpp>

namespace tenure {

/// UTF-8 without NUL, because C interfaces would take a NUL for the end.
[[nodiscard]] inline bool isPlainText(std::string_view text) {
  return isUtf8(text) && text.find('\0') == std::string_view::npos;
}

/// The text in quotes, safe to print: control characters escaped, and shortened if it has more than `most` bytes.
[[nodiscard]] std::string inQuotes(std::string_view text, std::size_t most = 60);

}  // namespace tenure
