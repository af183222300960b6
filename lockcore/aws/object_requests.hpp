// Builds the requests of S3, as far as no network is needed.
#pragma once

#include <memory>

#include "object_client.hpp"
#include "service_access.hpp"
#include "signed_calls.hpp"

namespace tenure::aws {

/// The request's destination and its request line. The key is encoded once, as S3 requires.
[[nodiscard]] SignedRequest unsignedRequest(const net::Url& endpoint, const ObjectRequest& what, Addressing addressing);

/// makeObjectClient() with parts that the caller supplies.
[[nodiscard]] std::shared_ptr<ObjectClient> makeObjectClient(JsonClientOptions options, Addressing addressing,
                                                             ClientParts parts, Logger logger);

}  // namespace tenure::aws
