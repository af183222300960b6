// Puts texts that somebody else wrote into messages.
#pragma once

#include <string>
#include <string_view>

namespace tenure {

/// The text in quotes, safe to print: control characters escaped, and shortened if it is long.
[[nodiscard]] std::string inQuotes(std::string_view text);

}  // namespace tenure
