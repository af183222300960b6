// A store in this process's memory: for development with one process, for examples and tests.
#pragma once

#include <memory>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_options.hpp>
#include <tenure/lockcore/runtime.hpp>

namespace tenure {

class LeaseStore;

/// It has no options. The type represents this store in a configuration that may be of any store.
struct MemoryStoreOptions {
  friend bool operator==(const MemoryStoreOptions&, const MemoryStoreOptions&) = default;
};

[[nodiscard]] inline OptionFaults faultsOf(const MemoryStoreOptions& /*options*/) { return {}; }

/// All candidates that share the returned object compete with each other; other processes do not see it. Replies come
/// on `scheduler` (null: sharedScheduler()). Thread-safe.
[[nodiscard]] TENURE_API std::shared_ptr<LeaseStore> makeMemoryStore(std::shared_ptr<Scheduler> scheduler = nullptr);

}  // namespace tenure
