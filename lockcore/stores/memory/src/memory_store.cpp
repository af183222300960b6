#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include <tenure/lockcore/stores/memory_store.hpp>

#include "lockcore/runtime/call_permit.hpp"
#include "lockcore/stored/register_store.hpp"

namespace tenure {
namespace {

using stored::LoadedLease;
using stored::StoredLease;

/// What an object stands for is not changed, so the object itself is what a swap compares. A call takes effect before
/// it returns, under the mutex; only the answer is posted.
class MemoryRegister final : public stored::Register, public stored::HintSource {
 public:
  explicit MemoryRegister(std::shared_ptr<Scheduler> scheduler) : scheduler_{std::move(scheduler)} {}

  [[nodiscard]] const std::string& where() const noexcept override { return where_; }

  void prepare(const CallDeadline&, StatusHandler handler) override { post(std::move(handler), StoreStatus{}); }

  void load(const stored::RegisterCall& call, stored::LoadHandler handler) override {
    const std::lock_guard lock{mutex_};
    post(std::move(handler), StoreResult<LoadedLease>{at(call.key)});
  }

  void swap(const stored::RegisterCall& call, const LoadedLease& seen, stored::Change change,
            stored::SwapHandler handler) override {
    const std::lock_guard lock{mutex_};
    if (at(call.key) != seen) return post(std::move(handler), stored::SwapOutcome{stored::Differs{at(call.key)}});
    const LoadedLease next = leases_[call.key] = std::make_shared<const StoredLease>(after(*seen, change));
    post(std::move(handler), stored::SwapOutcome{stored::Swapped{next}});
    stored::Tidings tidings{.alive = true, .changes = {{call.key, next->term()}}};
    for (const auto& stream : streams_)
      scheduler_->post([stream, tidings] { stream->permit.call([&] { stream->handlers.onTidings(tidings); }); });
  }

  void scan(const std::string& prefix, const std::string& /*from*/, const CallDeadline& /*deadline*/,
            stored::ScanHandler handler) override {
    const std::lock_guard lock{mutex_};
    stored::ScannedPage found;
    for (auto it = leases_.lower_bound(LeaseKey{prefix}); it != leases_.end(); ++it) {
      if (!it->first.name.starts_with(prefix)) break;
      if (const auto& record = *it->second->record) found.page.leases.push_back({it->first, record->record});
    }
    post(std::move(handler), StoreResult<stored::ScannedPage>{std::move(found)});
  }

  [[nodiscard]] StoreResult<StoredTokens> tokensOf(const LeaseKey&, const StoredLease& lease) const override {
    return &lease == absent_.get() ? StoredTokens{} : stored::tokensOf(lease);
  }

  [[nodiscard]] std::shared_ptr<void> open(const std::set<LeaseKey>&, stored::HintHandlers handlers) override {
    auto stream = std::make_shared<Stream>();
    stream->handlers = std::move(handlers);
    const std::lock_guard lock{mutex_};
    streams_.insert(stream);
    return {stream.get(), [this, stream](void*) {
              stream->permit.revoke();
              const std::lock_guard inner{mutex_};
              streams_.erase(stream);
            }};
  }

 private:
  struct Stream {
    stored::HintHandlers handlers{};
    CallPermit permit{};
  };

  [[nodiscard]] LoadedLease at(const LeaseKey& key) const {
    const auto found = leases_.find(key);
    return found == leases_.end() ? absent_ : found->second;
  }

  template <class Answer>
  void post(std::function<void(Answer)> handler, Answer answer) const {
    scheduler_->post(
        [handler = std::move(handler), answer = std::move(answer)]() mutable { handler(std::move(answer)); });
  }

  const std::string where_{"memory (single process)"};
  const std::shared_ptr<Scheduler> scheduler_;
  const LoadedLease absent_{std::make_shared<const StoredLease>()};
  mutable std::mutex mutex_;
  std::map<LeaseKey, LoadedLease> leases_{};  ///< guarded by mutex_, as the next one
  std::set<std::shared_ptr<Stream>> streams_{};
};

}  // namespace

std::shared_ptr<LeaseStore> makeMemoryStore(std::shared_ptr<Scheduler> scheduler) {
  if (!scheduler) scheduler = sharedScheduler();
  auto leases = std::make_shared<MemoryRegister>(scheduler);
  return stored::makeRegisterStore({leases, std::move(scheduler), leases});
}

}  // namespace tenure
