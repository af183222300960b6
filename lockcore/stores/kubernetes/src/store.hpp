// The store on any gateway: what makeKubernetesStore() and a simulation build.
#pragma once

#include <memory>

#include <tenure/lockcore/lease_store.hpp>
#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "lockcore/kubernetes/gateway.hpp"
#include "object_texts.hpp"

namespace tenure::kubernetes_store {

struct StoreParts {
  std::shared_ptr<Gateway> gateway;
  Logger logger{};
  /// Its clock counts the deadlines and the terms; it answers calls that ask nobody, and runs the pauses of the watch.
  std::shared_ptr<Scheduler> scheduler{};
  bool watches{true};
};

/// `settings` as in the options, where their faults were found.
[[nodiscard]] std::shared_ptr<LeaseStore> makeStore(const Settings& settings, StoreParts parts);

}  // namespace tenure::kubernetes_store
