// What a lock client does without a lock: it reads, lists and follows.
#include <atomic>
#include <utility>

#include "lock_client_impl.hpp"
#include "lockcore/port/extended_store.hpp"
#include "lockcore/port/lock_errors.hpp"
#include "lockcore/runtime/call_permit.hpp"
#include "lockcore/runtime/store_answer.hpp"
#include "lockcore/runtime/user_code.hpp"

namespace tenure {

using std::chrono::milliseconds;

namespace {

/// An error of the store is the whole outcome of a call that only reads.
template <class Outcome, class Call>
Outcome awaited(milliseconds timeout, const Call& call) {
  return answerOf<Outcome>(
      timeout, [](StoreError error) { return Outcome{std::move(error)}; }, call);
}

LockError inChild() { return {LockErrc::forked, "this client belongs to the parent process; make one here"}; }

LeaseView viewOf(const ListedLease& lease) {
  if (lease.record.has_error()) return {lease.key, readable(lease.record.error())};
  return {lease.key, *lease.record};
}

}  // namespace

LockResult<LeaseView> LockClient::Impl::peek(const LeaseKey& key) const {
  if (!isHere()) return inChild();
  const ReadOutcome outcome = readAnswer(*common_->store, key, options_.lease.duration);
  if (outcome.has_error()) return storeError(key, outcome.error());
  return LeaseView{key, *outcome};
}

LockResult<std::vector<LeaseView>> LockClient::Impl::list(const std::string& prefix) const {
  if (!isHere()) return inChild();
  const auto outcome = awaited<ListOutcome>(options_.lease.duration, [&](CallOptions call, ListHandler handler) {
    common_->store->list(prefix, call, std::move(handler));
  });
  if (outcome.has_error()) return storeError(LeaseKey{prefix + '*'}, outcome.error());
  std::vector<LeaseView> views;
  for (const ListedLease& lease : *outcome) views.push_back(viewOf(lease));
  return views;
}

LockResult<void> LockClient::Impl::scan(const std::string& prefix,
                                        const std::function<bool(const LeaseView&)>& each) const {
  if (!isHere()) return inChild();
  std::string from;
  do {
    const auto page = awaited<PageOutcome>(options_.lease.duration, [&](CallOptions call, PageHandler handler) {
      extended(common_->store)->listPage(prefix, from, call, std::move(handler));
    });
    if (page.has_error()) return storeError(LeaseKey{prefix + '*'}, page.error());
    for (const ListedLease& lease : page->leases) {
      if (!each(viewOf(lease))) return {};
    }
    from = page->next;
  } while (!from.empty());
  return {};
}

/// A machine that never competes, with its own driver.
class LeaseObserver::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(std::shared_ptr<CallbackLane> lane, Logger logger, Callback changed)
      : lane_{std::move(lane)}, logger_{std::move(logger)}, changed_{std::move(changed)} {}
  void begin(MachineOptions machine, std::shared_ptr<LeaseStore> store, std::shared_ptr<Scheduler> scheduler,
             std::unique_ptr<RandomSource> random) {
    machine.observesOnly = true;
    LeaseDriver::Options options{std::move(machine), logger_, [weak = weak_from_this()](const LeaseNotice& notice) {
                                   const auto* changed = std::get_if<action::LeaderChanged>(&notice);
                                   const auto self = weak.lock();
                                   if (changed != nullptr && self) self->take(changed->leader);
                                 }};
    driver_ =
        std::make_unique<LeaseDriver>(std::move(options), std::move(store), std::move(scheduler), std::move(random));
    driver_->submit(event::Start{});
  }

  /// The user's last handle is destroyed, or the client is. No callback begins any more. One that is still running
  /// keeps this object alive, but must not keep the scheduler: its loop may be gone before the callback returns.
  void end() noexcept {
    ended_.store(true);
    posting_.revoke();
    driver_->close();
  }

  [[nodiscard]] bool isHere() const noexcept { return mark_.isHere(); }
  [[nodiscard]] std::optional<LeaderInfo> holder() const { return driver_->status().leader; }

 private:
  void take(const std::optional<LeaderInfo>& leader) {
    if (!changed_) return;
    posting_.call([&] {
      lane_->post([weak = weak_from_this(), leader] {
        const auto self = weak.lock();
        if (!self || self->ended_.load()) return;
        const auto what = whatThrown([&] { self->changed_(leader); });
        if (what) self->logger_.log(LogLevel::error, "an observer's callback threw: " + *what);
      });
    });
  }

  const ProcessMark mark_{};
  const std::shared_ptr<CallbackLane> lane_;
  const Logger logger_;
  const Callback changed_;
  std::unique_ptr<LeaseDriver> driver_{};
  std::atomic<bool> ended_{false};
  CallPermit posting_{};  ///< so that nothing reaches the executor once this has ended
};

std::optional<LeaderInfo> LeaseObserver::holder() const {
  auto* own = inItsProcess(impl_);
  return own != nullptr ? own->holder() : std::nullopt;
}

LockResult<LeaseObserver> LockClient::observe(const LeaseKey& key, LeaseObserver::Callback changed) {
  return impl_->observe(key, std::move(changed));
}

void LockClient::Impl::endObservers() {
  std::unique_lock lock{mutex_};
  const auto all = observers_.all();
  lock.unlock();
  for (const auto& observer : all) observer->end();
}

LockResult<LeaseObserver> LockClient::Impl::observe(const LeaseKey& key, LeaseObserver::Callback changed) {
  if (!isHere()) return inChild();
  const auto timing = checked(key, AcquireOptions{}, options_.lease, *common_->store);
  if (timing.has_error()) return invalidOptionsError(key, timing.error());
  const auto lane = std::make_shared<CallbackLane>(common_->executor);
  auto observer = std::make_shared<LeaseObserver::Impl>(lane, options_.logger, std::move(changed));
  {
    const std::lock_guard lock{mutex_};
    lanes_.add(lane);
    observers_.add(observer);
  }
  MachineOptions machine{key, common_->candidate + ".observer", timing->timing};
  observer->begin(std::move(machine), common_->store, scheduler(), randomness());
  auto* const shown = observer.get();
  return LeaseObserver{{shown, [observer = std::move(observer)](LeaseObserver::Impl*) mutable {
                          observer->isHere() ? observer->end() : leaveToParent(std::move(observer));
                        }}};
}

}  // namespace tenure
