// The header by which an HTTP request tells under whose term it is sent: Fencing-Token: billing=42;holder="a#1"
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/system/result.hpp>

#include <tenure/lockcore/fence.hpp>

namespace tenure {

inline constexpr std::string_view fenceHeaderName = "Fencing-Token";
/// Longer values are refused unread. The longest lease name fits.
inline constexpr std::size_t maxFenceHeaderBytes = 8192;
inline constexpr std::size_t maxFenceHeaderMembers = 16;

/// What a header claims about one lease. Nothing of it is proven but what the signature covers.
struct FenceClaim {
  TermStamp stamp;          ///< the holder may be empty; lease and token are there
  std::string keyId{};      ///< of the signature; empty: not signed
  std::string signature{};  ///< 32 bytes, or none

  friend bool operator==(const FenceClaim&, const FenceClaim&) = default;
};

/// What is wrong with a header, as a sentence without its end. It quotes at most a few printable characters of it.
struct FenceHeaderFault {
  std::string message;
};
[[noreturn]] void throw_exception_from_error(const FenceHeaderFault& fault, const boost::source_location& where);

/// A dictionary of RFC 9651 (Structured Field Values; RFC 8941 but for display strings). One member a lease:
///
///     Fencing-Token: billing=42;holder="billing-1#5f2c..."
///     Fencing-Token: *=42;lease="Billing/EU";holder=%"caf%c3%a9#5f2c..."
///
/// - The key is the lease's name if that is a key of the grammar (a-z first, then a-z 0-9 _ - . *, at most 64). Any
///   other name travels in the parameter `lease`, behind a key that begins with `*`; there `lease` is a must, elsewhere
///   a fault. So each lease has one spelling.
/// - The token is an Integer, at least 1. One of 16 digits (up to maxFencingToken, 9007199254740991) is a String of
///   digits, because the grammar's Integers end at 15.
/// - `holder`, `lease`: Strings, or Display Strings where the text is not printable ASCII.
/// - `kid` (String) and `sig` (Byte Sequence of 32 bytes), both or none: fence_signature.hpp.
///
/// Stricter than the grammar, as a fence must not guess: a key, a lease or a parameter that comes twice, an unknown
/// parameter, a token that is no number, negative, zero or too great refuse the header as a whole.
using FenceClaims = boost::system::result<std::vector<FenceClaim>, FenceHeaderFault>;
[[nodiscard]] FenceClaims parseFenceHeader(std::string_view value);

/// The value of the header. The claims' leases must differ. Throws std::invalid_argument for a claim that no fence
/// would take (refusalOf in fence.hpp, but for an empty holder), or if the value would be too long.
[[nodiscard]] std::string formatFenceHeader(const std::vector<FenceClaim>& claims);
[[nodiscard]] std::string formatFenceHeader(const TermStamp& stamp);

}  // namespace tenure
