// The gateway over HTTP.
#pragma once

#include <memory>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/stores/kubernetes_store.hpp>

#include "gateway.hpp"
#include "lockcore/net/http_client.hpp"

namespace tenure::kubernetes_store {

/// Throws std::invalid_argument for options with faults, all of them in one message.
TENURE_API void checkOptions(const KubernetesStoreOptions& options);

/// How the API server is reached, for all who ask it.
[[nodiscard]] TENURE_API net::HttpClientOptions clientOptions(const KubernetesStoreOptions& options, Logger logger);

/// The options must have no faults and leave nothing to the pod. Nobody is asked before the first call. Throws
/// std::runtime_error if a certificate or a key cannot be used. Tests give a client of their own.
[[nodiscard]] TENURE_API std::shared_ptr<Gateway> makeHttpGateway(const KubernetesStoreOptions& options,
                                                                  Logger logger = {},
                                                                  std::shared_ptr<net::HttpClient> client = nullptr);

}  // namespace tenure::kubernetes_store
