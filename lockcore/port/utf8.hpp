// Well-formed UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace tenure {

/// The length of the well-formed UTF-8 sequence at the start of `text`; 0 if there is none (RFC 3629, table 3-7 of the
/// Unicode Standard: no overlong forms, no surrogates, nothing above U+10FFFF).
[[nodiscard]] std::size_t utf8SequenceLength(std::string_view text) noexcept;

}  // namespace tenure
