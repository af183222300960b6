// A store in this process's memory: for development with one process, for examples and tests.
#pragma once

#include <memory>

#include <tenure/lockcore/lease_store.hpp>
#include <tenure/lockcore/runtime.hpp>

namespace tenure {

/// All candidates that share the returned object compete with each other; other processes do not see it. Replies come
/// on `scheduler` (null: sharedScheduler()). Thread-safe.
[[nodiscard]] std::shared_ptr<LeaseStore> makeMemoryStore(std::shared_ptr<Scheduler> scheduler = nullptr);

}  // namespace tenure
