// Signatures of the Fencing-Token header: nobody without a key can raise, lower or borrow a token.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenure/adapters/fence_header.hpp>

namespace tenure {

/// A secret that clients and the fence share. To change it, let the fence know both keys, move the clients to the new
/// one, then take the old one from the fence.
struct FenceKey {
  std::string id;      ///< 1 to 64 of A-Z a-z 0-9 . _ -; travels with the request
  std::string secret;  ///< any bytes, at least 32 of them, random

  friend bool operator==(const FenceKey&, const FenceKey&) = default;
};

/// A key as key files and variables have it: `ID SECRET`, the secret in base64 with its padding. Empty if it is not
/// that.
[[nodiscard]] std::optional<FenceKey> parseFenceKey(std::string_view text);

/// What a client signs with.
struct FenceSigner {
  FenceKey key;
  /// The service that is meant: any name that its fence was told, too (HttpFenceOptions::audience). What was signed for
  /// one service is nothing to another that has the same keys.
  std::string audience;
};

/// What is wrong with the keys, one sentence each; empty if they may be used together.
[[nodiscard]] std::vector<std::string> faultsOf(const std::vector<FenceKey>& keys);

/// What a signature covers besides lease, token and holder.
struct SignedParts {
  std::string_view audience;       ///< FenceSigner::audience
  std::string_view method;         ///< as in the request line
  std::string_view target;         ///< path and query as in the request line
  std::string_view contentDigest;  ///< the whole value of Content-Digest (RFC 9530); empty: the request has none
};

/// HMAC-SHA-256 (RFC 2104) of the netstrings of "tenure-fence-2", audience, lease, token in decimal, holder, method,
/// target and content digest. It says nothing of time: who can read a request can send the very same one again as long
/// as its term is the latest. After that the fence refuses it, as it refuses the term itself.
[[nodiscard]] FenceClaim signClaim(const TermStamp& stamp, const FenceKey& key, const SignedParts& parts);

/// Compares in constant time. False for a claim that is not signed, or signed with a key that is not among these.
[[nodiscard]] bool signatureHolds(const FenceClaim& claim, const std::vector<FenceKey>& keys, const SignedParts& parts);

/// `sha-256=:...:`, the value of Content-Digest for a body.
[[nodiscard]] std::string contentDigestOf(std::string_view body);

/// Whether the body is what `contentDigest` says; every digest in it that is a sha-256 counts, and there must be one.
[[nodiscard]] bool digestHolds(std::string_view contentDigest, std::string_view body);

/// The headers that a request needs: Fencing-Token and, if it is signed and has a body, Content-Digest. `signer` may be
/// null: not signed.
using HeaderLines = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] HeaderLines fenceHeaders(const TermStamp& stamp, std::string_view method, std::string_view target,
                                       std::string_view body, const FenceSigner* signer = nullptr);

}  // namespace tenure
