// The requests of S3, as far as no network is needed.
#pragma once

#include <memory>

#include "object_client.hpp"
#include "service_access.hpp"
#include "signed_calls.hpp"

namespace tenure::aws {

/// Where it goes and what stands in its request line; the key is encoded once, as S3 wants it.
[[nodiscard]] SignedRequest unsignedRequest(const net::Url& endpoint, const ObjectRequest& what, Addressing addressing);

/// makeObjectClient() with parts of the caller's.
[[nodiscard]] std::shared_ptr<ObjectClient> makeObjectClient(JsonClientOptions options, Addressing addressing,
                                                             ClientParts parts, Logger logger);

}  // namespace tenure::aws
