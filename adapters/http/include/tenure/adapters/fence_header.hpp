// The header by which an HTTP request says under whose term it is sent, and the keys that sign it:
//
//     Fencing-Token: billing=42;holder="billing-1#5f2c..."
//
// docs/fencing/http.md has its grammar, for clients in other languages.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/fence.hpp>

namespace tenure {

inline constexpr std::string_view fenceHeaderName = "Fencing-Token";

/// A secret that clients and the fence share. To change it, first let the fence know both keys, then move the clients
/// to the new one, then remove the old one from the fence.
struct TENURE_API FenceKey {
  std::string id;      ///< 1 to 64 of A-Z a-z 0-9 . _ -; travels with the request
  std::string secret;  ///< any bytes, at least 32 of them, random

  friend bool operator==(const FenceKey&, const FenceKey&) = default;
};

/// Parses a key as key files and variables have it: `ID SECRET`, the secret in base64 with its padding. Empty if the
/// text is not of this form.
[[nodiscard]] TENURE_API std::optional<FenceKey> parseFenceKey(std::string_view text);

/// What a client signs with.
struct TENURE_API FenceSigner {
  FenceKey key;
  /// The name of the intended service: one of the names that its fence was given (HttpFenceOptions::audience). A
  /// signature for one service is worthless at another service that has the same keys.
  std::string audience;
};

/// What is wrong with the keys, one sentence for each fault; empty if they may be used together.
[[nodiscard]] TENURE_API std::vector<std::string> faultsOf(const std::vector<FenceKey>& keys);

/// `sha-256=:...:`, the value of Content-Digest for a body.
[[nodiscard]] TENURE_API std::string contentDigestOf(std::string_view body);

/// The headers that a request needs: Fencing-Token and, if the request is signed and has a body, Content-Digest.
/// `signer` may be null: then the request is not signed.
using HeaderLines = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] TENURE_API HeaderLines fenceHeaders(const TermStamp& stamp, std::string_view method,
                                                  std::string_view target, std::string_view body,
                                                  const FenceSigner* signer = nullptr);

}  // namespace tenure
