#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include <tenure/lockcore/lease_key.hpp>
#include <tenure/lockcore/runtime.hpp>
#include <tenure/lockcore/store_checks.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>

#include "lockcore/runtime/call_permit.hpp"
#include "memory_table.hpp"

namespace tenure {
namespace {

/// The callers that want to know when a lease changes. Thread-safe. Hints run on the scheduler; several changes before
/// a hint runs cause one hint.
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

class WatchList::Watcher {
 public:
  explicit Watcher(std::function<void()> hint) : hint_{std::move(hint)} {}

  /// True: the caller must make sure that run() is called.
  [[nodiscard]] bool claimRun() noexcept { return !pending_.exchange(true); }

  void run() {
    pending_ = false;  // a later change needs another hint, because this one may already have read the record
    permit_.call(hint_);
  }

  void close() { permit_.revoke(); }

 private:
  const std::function<void()> hint_;
  CallPermit permit_;
  std::atomic<bool> pending_{false};
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

/// A call takes effect before it returns, under the mutex, which makes reads linearizable; only the answer is posted. A
/// posted answer owns everything it needs, so it also comes when the store is gone. Time limits never matter here.
class MemoryStore final : public LeaseStore {
 public:
  explicit MemoryStore(std::shared_ptr<Scheduler> scheduler)
      : scheduler_{std::move(scheduler)}, watches_{std::make_shared<WatchList>(scheduler_)} {}

  [[nodiscard]] std::string describe() const override { return "memory (single process)"; }

  void ensureSchema(CallOptions, StatusHandler handler) override {
    scheduler_->post([handler = std::move(handler)] { handler(StoreStatus{}); });
  }

  void read(const LeaseKey& key, CallOptions, ReadHandler handler) override {
    if (auto refusal = refusalOf(key)) return answer(std::move(handler), ReadOutcome{*std::move(refusal)});
    answer(std::move(handler), ReadOutcome{locked([&] { return table_.read(key); })});
  }

  void write(WriteRequest request, CallOptions, WriteHandler handler) override {
    if (auto refusal = refusalOf(request))
      return answer(std::move(handler), WriteOutcome{Rejected{*std::move(refusal)}});
    WriteOutcome outcome = locked([&] { return table_.write(request); });
    const bool applied = std::holds_alternative<Applied>(outcome);
    answer(std::move(handler), std::move(outcome));
    if (applied) watches_->changed(request.key);
  }

  void list(std::string prefix, CallOptions, ListHandler handler) override {
    answer(std::move(handler), ListOutcome{locked([&] { return table_.list(prefix); })});
  }

  void requestStepDown(const LeaseKey& key, FencingToken token, CallOptions, WriteHandler handler) override {
    if (auto refusal = refusalOf(key)) return answer(std::move(handler), WriteOutcome{Rejected{*std::move(refusal)}});
    answer(std::move(handler), locked([&] { return table_.requestStepDown(key, token); }));
  }

  void remove(const LeaseKey& key, RecordVersion version, CallOptions, WriteHandler handler) override {
    if (auto refusal = refusalOf(key)) return answer(std::move(handler), WriteOutcome{Rejected{*std::move(refusal)}});
    WriteOutcome outcome = locked([&] { return table_.remove(key, version); });
    const bool applied = std::holds_alternative<Applied>(outcome);
    answer(std::move(handler), std::move(outcome));
    if (applied) watches_->changed(key);
  }

  void readTokens(const LeaseKey& key, CallOptions, TokensHandler handler) override {
    if (auto refusal = refusalOf(key)) return answer(std::move(handler), StoreResult<StoredTokens>{*refusal});
    answer(std::move(handler), StoreResult<StoredTokens>{locked([&] { return table_.tokens(key); })});
  }

  void setTokens(const LeaseKey& key, StoredTokens expected, FencingToken token, CallOptions,
                 WriteHandler handler) override {
    if (auto refusal = refusalOfRecovery(key, token))
      return answer(std::move(handler), WriteOutcome{Rejected{*std::move(refusal)}});
    WriteOutcome outcome = locked([&] { return table_.setTokens(key, expected, token); });
    answer(std::move(handler), std::move(outcome));
    watches_->changed(key);
  }

  [[nodiscard]] std::shared_ptr<void> watch(const LeaseKey& key, std::function<void()> hint) override {
    return WatchList::add(watches_, key, std::move(hint));
  }

 private:
  template <class Work>
  std::invoke_result_t<Work> locked(Work work) {
    const std::lock_guard lock{mutex_};
    return work();
  }

  template <class Outcome>
  void answer(std::function<void(Outcome)> handler, Outcome outcome) {
    scheduler_->post(
        [handler = std::move(handler), outcome = std::move(outcome)]() mutable { handler(std::move(outcome)); });
  }

  const std::shared_ptr<Scheduler> scheduler_;
  const std::shared_ptr<WatchList> watches_;
  std::mutex mutex_;
  MemoryTable table_;  // guarded by mutex_
};

}  // namespace

std::shared_ptr<LeaseStore> makeMemoryStore(std::shared_ptr<Scheduler> scheduler) {
  return std::make_shared<MemoryStore>(scheduler ? std::move(scheduler) : sharedScheduler());
}

}  // namespace tenure
