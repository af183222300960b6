// The callers that want to know when a lease changes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include <tenure/lockcore/lease_key.hpp>
#include <tenure/lockcore/runtime.hpp>

namespace tenure {

/// Thread-safe. Hints run on the scheduler; several changes before a hint runs cause one hint.
class WatchList {
 public:
  explicit WatchList(std::shared_ptr<Scheduler> scheduler) : scheduler_{std::move(scheduler)} {}

  /// Hints come until the handle is destroyed. Its destruction waits for a hint that runs on another thread.
  [[nodiscard]] static std::shared_ptr<void> add(const std::shared_ptr<WatchList>& list, const LeaseKey& key,
                                                 std::function<void()> hint);
  void changed(const LeaseKey& key);

 private:
  class Watcher;
  void remove(const LeaseKey& key, const Watcher* watcher);

  const std::shared_ptr<Scheduler> scheduler_;
  std::mutex mutex_;
  std::multimap<LeaseKey, std::shared_ptr<Watcher>> watchers_;  // guarded by mutex_
};

}  // namespace tenure
