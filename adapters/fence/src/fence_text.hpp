// Fencing tokens as text, for resources that keep or carry text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/fence.hpp>
#include <tenure/lockcore/lease_record.hpp>

namespace tenure {

/// Decimal digits of 1 .. maxFencingToken, the only way in which adapters write a token: no sign, no blank, no leading
/// zero. Empty for everything else, of any length: a token that cannot be read fails closed.
[[nodiscard]] TENURE_API std::optional<FencingToken> parseFencingToken(std::string_view text) noexcept;

/// What an adapter answers where a resource remembers something that is no token, above all one that is too great: the
/// memory is damaged, nothing was written, and only an operator can correct it. It is a `corrupt` error that names the
/// resource (`where`), the lease, the stored text, and what to do.
[[nodiscard]] TENURE_API FenceError damagedFence(const std::string& where, const std::string& lease,
                                                 std::string_view stored);

}  // namespace tenure
