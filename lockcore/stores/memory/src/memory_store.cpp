#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include <tenure/lockcore/stores/memory_store.hpp>

#include "lockcore/port/extended_store.hpp"
#include "lockcore/port/random_draws.hpp"
#include "lockcore/port/store_checks.hpp"
#include "lockcore/runtime/call_permit.hpp"
#include "lockcore/runtime/system_random.hpp"
#include "memory_table.hpp"

namespace tenure {
namespace {

using stored::StoredLease;

struct Watcher {
  explicit Watcher(std::function<void()> called) : hint{std::move(called)} {}

  void run() {
    pending = false;  // a later change needs another hint, because this one may already have read the record
    permit.call(hint);
  }

  const std::function<void()> hint;
  CallPermit permit{};
  std::atomic<bool> pending{false};  ///< it will run, so what changes until then needs no other hint
};

/// A call takes effect before it returns, under the mutex, which makes reads linearizable; only answers and hints are
/// posted. A posted answer owns everything it needs, so it also comes when the store is gone. Time limits never matter
/// here.
class MemoryStore final : public ExtendedStore, public std::enable_shared_from_this<MemoryStore> {
 public:
  explicit MemoryStore(std::shared_ptr<Scheduler> scheduler) : scheduler_{std::move(scheduler)} {}

  [[nodiscard]] std::string describe() const override { return where_; }

  void ensureSchema(CallOptions, StatusHandler handler) override { answer(std::move(handler), StoreStatus{}); }

  void read(const LeaseKey& key, CallOptions, ReadHandler handler) override {
    look(errorOf(key), std::move(handler), [&] { return table_.at(key).answer(); });
  }

  void write(WriteRequest request, CallOptions, WriteHandler handler) override {
    change(request.key, errorOf(request), std::move(handler),
           [&](const StoredLease& stored) { return stored::decideWrite(where_, request, stored); });
  }

  void list(std::string prefix, CallOptions, ListHandler handler) override {
    look(std::nullopt, std::move(handler), [&] { return ListOutcome{table_.list(prefix)}; });
  }

  void requestStepDownFor(const LeaseKey& key, StepDownRequest request, CallOptions, WriteHandler handler) override {
    change(key, errorOf(key, request), std::move(handler),
           [&](const StoredLease& stored) { return stored::decideStepDown(request, stored); });
  }

  void remove(const LeaseKey& key, RecordVersion version, CallOptions, WriteHandler handler) override {
    change(key, errorOf(key), std::move(handler),
           [&](const StoredLease& stored) { return stored::decideRemoval(version, stored); });
  }

  void readTokens(const LeaseKey& key, CallOptions, TokensHandler handler) override {
    look(errorOf(key), std::move(handler), [&] { return StoreResult<StoredTokens>{tokensOf(table_.at(key))}; });
  }

  void setTokens(const LeaseKey& key, StoredTokens expected, FencingToken token, CallOptions,
                 WriteHandler handler) override {
    SystemRandom random;
    change(key, errorOfRecovery(key, token), std::move(handler), [&](const StoredLease& stored) {
      return stored::decideTokens(tokensOf(stored), expected, token, uuid4(random));
    });
  }

  /// Hints come until the handle is destroyed. Its destruction waits for a hint that runs on another thread.
  [[nodiscard]] std::shared_ptr<void> watch(const LeaseKey& key, std::function<void()> hint) override {
    auto watcher = std::make_shared<Watcher>(std::move(hint));
    const std::lock_guard lock{mutex_};
    const auto place = watchers_.emplace(key, watcher);
    return {watcher.get(), [self = shared_from_this(), place, watcher](void*) {
              watcher->permit.revoke();
              const std::lock_guard inner{self->mutex_};
              self->watchers_.erase(place);
            }};
  }

 private:
  template <class Handler, class Work>
  void look(std::optional<StoreError> refused, Handler handler, Work work) {
    if (refused) return answer(std::move(handler), decltype(work()){*std::move(refused)});
    const std::lock_guard lock{mutex_};
    answer(std::move(handler), work());
  }

  void change(const LeaseKey& key, std::optional<StoreError> refused, WriteHandler handler,
              const stored::Decide& decide) {
    if (refused) return answer(std::move(handler), WriteOutcome{Rejected{*std::move(refused)}});
    const std::lock_guard lock{mutex_};
    WriteOutcome outcome = table_.change(key, decide);
    const bool applied = std::holds_alternative<Applied>(outcome);
    answer(std::move(handler), std::move(outcome));
    const auto [first, last] = watchers_.equal_range(key);
    for (auto it = first; applied && it != last; ++it) {
      if (!it->second->pending.exchange(true)) scheduler_->post([watcher = it->second] { watcher->run(); });
    }
  }

  template <class Handler, class Outcome>
  void answer(Handler handler, Outcome outcome) {
    scheduler_->post(
        [handler = std::move(handler), outcome = std::move(outcome)]() mutable { handler(std::move(outcome)); });
  }

  const std::string where_{"memory (single process)"};
  const std::shared_ptr<Scheduler> scheduler_;
  std::mutex mutex_;
  MemoryTable table_{};  ///< guarded by mutex_, as the next one
  std::multimap<LeaseKey, std::shared_ptr<Watcher>> watchers_{};
};

}  // namespace

std::shared_ptr<LeaseStore> makeMemoryStore(std::shared_ptr<Scheduler> scheduler) {
  return std::make_shared<MemoryStore>(scheduler ? std::move(scheduler) : sharedScheduler());
}

}  // namespace tenure
