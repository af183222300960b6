// AWS Signature Version 4 (header variant) for any request, as pure functions.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "credentials.hpp"
#include "lockcore/net/http_client.hpp"
#include "sha256.hpp"

namespace tenure::aws {

/// The scope for which a signing key is valid.
struct Scope {
  std::string day{};  ///< 20150830
  std::string region{};
  std::string service{};

  /// `20150830/us-east-1/dynamodb/aws4_request`
  [[nodiscard]] std::string text() const;
  friend bool operator==(const Scope&, const Scope&) = default;
};

/// `target`: path and query as in the request line. All of `headers` are signed; Host and X-Amz-Date must be in it.
struct SignableRequest {
  std::string method{};
  std::string target{};
  std::vector<net::HttpHeader> headers{};
  std::string bodyHash{};  ///< hex
  /// Every service but S3 removes `.`, `..` and double slashes from the path.
  bool normalizePath{true};
  /// S3 signs the path as it is in the request line; every other service encodes it a second time.
  bool encodePath{true};
};

struct CanonicalRequest {
  std::string text{};
  std::string signedHeaders{};  ///< names, sorted, with ';' between
};

[[nodiscard]] CanonicalRequest canonicalRequest(const SignableRequest& request);
[[nodiscard]] std::string stringToSign(std::string_view amzDate, const Scope& scope, std::string_view canonical);
[[nodiscard]] HmacKey signingKey(std::string_view secretAccessKey, const Scope& scope);
/// The value of the Authorization header.
[[nodiscard]] std::string authorization(const Keys& keys, std::string_view amzDate, const Scope& scope,
                                        const CanonicalRequest& canonical);

/// Adds X-Amz-Date, X-Amz-Security-Token (if the keys have one) and Authorization.
void signRequest(net::HttpRequest& request, const net::Origin& origin, const Keys& keys, std::string_view region,
                 std::string_view service, std::chrono::seconds now);

/// The same for S3: it also adds X-Amz-Content-Sha256, which S3 requires. The caller encodes the path of `target` once.
void signS3Request(net::HttpRequest& request, const net::Origin& origin, const Keys& keys, std::string_view region,
                   std::chrono::seconds now);

/// The Host header that the HTTP client sends: brackets around IPv6, and the port if it is not the scheme's default.
[[nodiscard]] std::string hostHeader(const net::Origin& origin);

}  // namespace tenure::aws
