// The store on any gateway: what makeEtcdStore() and the simulation build.
#pragma once

#include <memory>
#include <string>

#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "gateway.hpp"
#include "lockcore/port/lease_store.hpp"

namespace tenure::etcd_store {

struct StoreParts {
  std::shared_ptr<Gateway> gateway;
  Logger logger{};
  /// Its clock counts the deadlines; it answers calls that ask nobody, and runs the pauses of the watch.
  std::shared_ptr<Scheduler> scheduler{};
};

/// `prefix` as in the options, where its faults were found.
[[nodiscard]] std::shared_ptr<LeaseStore> makeStore(const std::string& prefix, StoreParts parts);

}  // namespace tenure::etcd_store
