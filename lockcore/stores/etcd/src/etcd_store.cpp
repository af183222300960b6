// The store for users: over HTTP.
#include <utility>

#include <tenure/lockcore/runtime.hpp>
#include <tenure/lockcore/stores/etcd_store.hpp>

#include "link/http_gateway.hpp"
#include "store.hpp"

namespace tenure {

std::shared_ptr<LeaseStore> makeEtcdStore(const EtcdStoreOptions& options, Logger logger) {
  etcd_store::checkOptions(options);
  auto gateway = etcd_store::makeHttpGateway(options, logger);
  return etcd_store::makeStore(options.prefix, {std::move(gateway), std::move(logger), sharedScheduler()});
}

}  // namespace tenure
