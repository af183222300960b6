// Internal: makes the JsonClient that talks to AWS: signed HTTPS, with credentials found as the SDKs find them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include <tenure/lockcore/logger.hpp>

#include "json_client.hpp"

namespace tenure::aws {

/// Keys that the program brings itself. They never expire for this client; keys that do belong into a profile with
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
  /// If given, credentials come from this profile only; empty: AWS_PROFILE, "default", as one link of the chain.
  std::string profile{};
  std::string caFile{};  ///< PEM; empty: AWS_CA_BUNDLE, the profile's ca_bundle, the system's trust store
  std::optional<ExplicitCredentials> credentials{};
  std::size_t maxConnections{64};
  std::size_t maxReply{1U << 20U};  ///< bytes of a reply's header and body together
};

/// Makes no request itself. The process's environment is read here and once, so that later changes of it race with
/// nothing; files and metadata services are read when credentials are first needed and whenever they are refreshed,
/// on threads of the client's ("tenure-aws", "tenure-aws-get"), never on the caller's or the network's.
///
/// What the environment lacks (no region, no credentials, a file that cannot be read) comes as the error of each call,
/// until it is put right. Throws std::invalid_argument for an `endpoint` or `region` that cannot be, and
/// std::runtime_error if the file of trusted certificates is not usable. That file is read here and once; only where
/// the profiles cannot be read yet, which may name it, with them later, and a fault of it is then the error of each
/// call.
[[nodiscard]] std::shared_ptr<JsonClient> makeJsonClient(JsonClientOptions options, Logger logger = {});

}  // namespace tenure::aws
