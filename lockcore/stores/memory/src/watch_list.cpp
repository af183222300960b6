#include "watch_list.hpp"

#include <condition_variable>
#include <thread>
#include <utility>
#include <vector>

namespace tenure {

class WatchList::Watcher {
 public:
  explicit Watcher(std::function<void()> hint) : hint_{std::move(hint)} {}

  /// True: the caller must make sure that run() is called.
  [[nodiscard]] bool claimRun() {
    const std::lock_guard lock{mutex_};
    return !closed_ && !std::exchange(pending_, true);
  }

  void run() {
    std::unique_lock lock{mutex_};
    pending_ = false;  // a later change needs another hint, because this one may already have read the record
    if (closed_) return;
    runner_ = std::this_thread::get_id();
    lock.unlock();
    hint_();
    lock.lock();
    runner_ = {};
    idle_.notify_all();
  }

  void close() {
    std::unique_lock lock{mutex_};
    closed_ = true;
    // A hint that drops its own handle must not wait for itself.
    if (runner_ == std::this_thread::get_id()) return;
    idle_.wait(lock, [this] { return runner_ == std::thread::id{}; });
  }

 private:
  const std::function<void()> hint_;
  std::mutex mutex_;  // guards all below; not held while the hint runs
  std::condition_variable idle_;
  std::thread::id runner_;
  bool pending_{false};
  bool closed_{false};
};

std::shared_ptr<void> WatchList::add(const std::shared_ptr<WatchList>& list, const LeaseKey& key,
                                     std::function<void()> hint) {
  auto watcher = std::make_shared<Watcher>(std::move(hint));
  {
    const std::lock_guard lock{list->mutex_};
    list->watchers_.emplace(key, watcher);
  }
  return {watcher.get(), [list, key, watcher](void*) {
            list->remove(key, watcher.get());
            watcher->close();
          }};
}

void WatchList::changed(const LeaseKey& key) {
  std::vector<std::shared_ptr<Watcher>> toRun;
  {
    const std::lock_guard lock{mutex_};
    const auto [first, last] = watchers_.equal_range(key);
    for (auto it = first; it != last; ++it) {
      if (it->second->claimRun()) toRun.push_back(it->second);
    }
  }
  for (auto& watcher : toRun) scheduler_->post([watcher = std::move(watcher)] { watcher->run(); });
}

void WatchList::remove(const LeaseKey& key, const Watcher* watcher) {
  const std::lock_guard lock{mutex_};
  const auto [first, last] = watchers_.equal_range(key);
  for (auto it = first; it != last; ++it) {
    if (it->second.get() != watcher) continue;
    watchers_.erase(it);
    return;
  }
}

}  // namespace tenure
