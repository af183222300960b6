// The header Fencing-Token in detail: what it claims about each lease, and what its signature covers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <boost/system/result.hpp>

#include <tenure/adapters/http_fence.hpp>
#include <tenure/lockcore/fence.hpp>

namespace tenure {

/// Longer values are refused without being read. The longest lease name fits.
inline constexpr std::size_t maxFenceHeaderBytes = 8192;
inline constexpr std::size_t maxFenceHeaderMembers = 16;

/// What a header claims about one lease. Only what the signature covers is proven.
struct FenceClaim {
  TermStamp stamp;          ///< the holder may be empty; lease and token are always set
  std::string keyId{};      ///< of the signature; empty: not signed
  std::string signature{};  ///< 32 bytes, or none

  friend bool operator==(const FenceClaim&, const FenceClaim&) = default;
};

/// What is wrong with a header, as a sentence without its end. It quotes at most a few printable characters of the
/// header.
struct FenceHeaderFault {
  std::string message;
};
[[noreturn]] void throw_exception_from_error(const FenceHeaderFault& fault, const boost::source_location& where);

/// A dictionary of RFC 9651 (Structured Field Values; RFC 8941 except for display strings). It has one member for each
/// lease:
///
///     Fencing-Token: billing=42;holder="billing-1#5f2c..."
///     Fencing-Token: *=42;lease="Billing/EU";holder=%"caf%c3%a9#5f2c..."
///
/// - The key is the lease's name if that is a key of the grammar (a-z first, then a-z 0-9 _ - . *, at most 64). Any
///   other name is sent in the parameter `lease`, with a key that begins with `*`. There `lease` is required; elsewhere
///   it is a fault. So each lease has only one spelling.
/// - The token is an Integer, at least 1. A token of 16 digits (up to maxFencingToken, 9007199254740991) is a String of
///   digits, because the grammar's Integers have at most 15.
/// - `holder`, `lease`: Strings, or Display Strings where the text is not printable ASCII.
/// - `kid` (String) and `sig` (Byte Sequence of 32 bytes), both or none: signClaim() below.
///
/// This is stricter than the grammar, because a fence must not guess. The whole header is refused for a key, a lease or
/// a parameter that comes twice, for an unknown parameter, and for a token that is no number, negative, zero or too
/// great.
using FenceClaims = boost::system::result<std::vector<FenceClaim>, FenceHeaderFault>;
[[nodiscard]] FenceClaims parseFenceHeader(std::string_view value);

/// The value of the header. The claims' leases must differ. Throws std::invalid_argument for a claim that no fence
/// would accept (errorOf in fence.hpp, except for an empty holder), or if the value would be too long.
[[nodiscard]] std::string formatFenceHeader(const std::vector<FenceClaim>& claims);
[[nodiscard]] std::string formatFenceHeader(const TermStamp& stamp);

/// What a signature covers in addition to lease, token and holder.
struct SignedParts {
  std::string_view audience;       ///< FenceSigner::audience
  std::string_view method;         ///< as in the request line
  std::string_view target;         ///< path and query as in the request line
  std::string_view contentDigest;  ///< the whole value of Content-Digest (RFC 9530); empty: the request has none
};

/// HMAC-SHA-256 (RFC 2104) of the netstrings of "tenure-fence-2", audience, lease, token in decimal, holder, method,
/// target and content digest. It contains no time: anybody who can read a request can send the same request again as
/// long as its term is the latest. After that the fence refuses it, as it refuses every request of that term.
[[nodiscard]] FenceClaim signClaim(const TermStamp& stamp, const FenceKey& key, const SignedParts& parts);

/// Compares in constant time. False for a claim that is not signed, or that is signed with a key that is not among
/// `keys`.
[[nodiscard]] bool signatureHolds(const FenceClaim& claim, const std::vector<FenceKey>& keys, const SignedParts& parts);

/// Whether the body matches `contentDigest`. Every sha-256 in it is checked, and there must be at least one.
[[nodiscard]] bool digestHolds(std::string_view contentDigest, std::string_view body);

}  // namespace tenure
