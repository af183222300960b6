// The gateway over HTTP.
#pragma once

#include <memory>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/stores/etcd_store.hpp>

#include "lockcore/net/http_client.hpp"
#include "lockcore/stores/etcd/src/gateway.hpp"

namespace tenure::etcd_store {

/// Throws std::invalid_argument for options with faults, all of them in one message.
void checkOptions(const EtcdStoreOptions& options);

/// How the members are reached, for all who ask them.
[[nodiscard]] TENURE_API net::HttpClientOptions clientOptions(const EtcdStoreOptions& options, Logger logger);

/// The options must have no faults. Nobody is asked before the first call. Throws std::runtime_error if a certificate
/// or a key cannot be used.
[[nodiscard]] std::shared_ptr<Gateway> makeHttpGateway(const EtcdStoreOptions& options, Logger logger);

}  // namespace tenure::etcd_store
