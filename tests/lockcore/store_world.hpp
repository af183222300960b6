// A manual scheduler, and a store with faults that answers on it.
#pragma once

#include <memory>
#include <optional>

#include <tenure/lockcore/stores/memory_store.hpp>
#include <tenure/testing/manual_runtime.hpp>

#include "support/fault_store.hpp"
#include "support/polled_store.hpp"

namespace tenure::test {

class StoreWorld {
 public:
  /// The record as it is now. It also runs what is ready.
  [[nodiscard]] std::optional<LeaseRecord> stored(const LeaseKey& key) {
    std::optional<LeaseRecord> record;
    memory->read(key, {}, [&](const ReadOutcome& found) { record = found.value(); });
    scheduler->runReady();
    return record;
  }

  std::shared_ptr<ManualScheduler> scheduler{std::make_shared<ManualScheduler>()};
  std::shared_ptr<LeaseStore> memory{std::make_shared<PolledStore>(makeMemoryStore(scheduler))};
  std::shared_ptr<FaultStore> store{std::make_shared<FaultStore>(memory, scheduler)};
};

}  // namespace tenure::test
