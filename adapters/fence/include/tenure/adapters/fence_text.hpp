// Fencing tokens as text, for resources that keep or carry text.
#pragma once

#include <optional>
#include <string_view>

#include <tenure/lockcore/fencing_token.hpp>

namespace tenure {

/// Decimal digits of 1 .. maxFencingToken, the only way in which adapters write a token: no sign, no blank, no leading
/// zero. Empty for everything else, of whatever length: a token that cannot be read fails closed.
[[nodiscard]] std::optional<FencingToken> parseFencingToken(std::string_view text) noexcept;

}  // namespace tenure
