// Internal: makes the JsonClient that calls AWS: signed HTTPS, with credentials found as the SDKs find them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/logger.hpp>

#include "json_client.hpp"

namespace tenure::aws {

/// Keys that the program supplies. For this client they never expire; keys that expire belong in a profile with
/// `credential_process`.
struct ExplicitCredentials {
  std::string accessKeyId{};
  std::string secretAccessKey{};
  std::string sessionToken{};  ///< empty: none
};

struct JsonClientOptions {
  std::string service{"dynamodb"};  ///< the name in endpoints and signatures
  std::string contentType{"application/x-amz-json-1.0"};
  std::string region{};    ///< empty: AWS_REGION, AWS_DEFAULT_REGION, the profile, the instance's own
  std::string endpoint{};  ///< empty: AWS_ENDPOINT_URL_<SERVICE>, AWS_ENDPOINT_URL, the profile, the region's
  /// If set, credentials come only from this profile. Empty: AWS_PROFILE or "default", as one link of the chain.
  std::string profile{};
  std::string caFile{};  ///< PEM; empty: AWS_CA_BUNDLE, the profile's ca_bundle, the system's trust store
  std::optional<ExplicitCredentials> credentials{};
  std::size_t maxConnections{64};
  std::size_t maxReply{1U << 20U};  ///< bytes of a reply's header and body together
};

/// Makes no request itself. The process's environment is read once, in this call, so later changes of it cannot race
/// with anything. Files and metadata services are read when credentials are first needed and whenever they are
/// refreshed. That happens on threads of the client ("tenure-aws", "tenure-aws-get"), never on the caller's or the
/// network's thread.
///
/// What the environment lacks (no region, no credentials, a file that cannot be read) is the error of each call, until
/// it is corrected. Throws std::invalid_argument for an invalid `endpoint` or `region`, and std::runtime_error if the
/// file of trusted certificates is not usable. That file is read once, in this call. There is one exception: the
/// profiles, which may name it, cannot be read yet. Then it is read later, together with them, and a fault of it is the
/// error of each call.
[[nodiscard]] TENURE_API std::shared_ptr<JsonClient> makeJsonClient(JsonClientOptions options, Logger logger = {});

}  // namespace tenure::aws
