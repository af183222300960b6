#include "lease_driver_impl.hpp"

namespace tenure {

void LeaseDriver::Link::open(std::shared_ptr<Impl> impl) {
  const std::lock_guard lock{mutex_};
  impl_ = std::move(impl);
}

/// In a forked child a thread that does not exist there may hold the lock, and the driver is the parent's.
template <class Call>
auto LeaseDriver::Link::ask(const Call& call) const {
  using Answer = decltype(call(*impl_));
  if (!mark_.isHere()) return Answer();
  const std::lock_guard lock{mutex_};
  return impl_ ? call(*impl_) : Answer();
}

// These post, so they run nothing under the lock.
void LeaseDriver::Link::submit(LeaseEvent event) {
  ask([&](Impl& impl) { impl.submit(std::move(event)); });
}
bool LeaseDriver::Link::schedule(std::chrono::nanoseconds delay, Scheduler::Task task) {
  return ask([&](Impl& impl) { return impl.schedule(delay, std::move(task)); });
}
void LeaseDriver::Link::keep(std::shared_ptr<void> owner, std::chrono::nanoseconds atMost) {
  ask([&](Impl& impl) { impl.keep(std::move(owner), atMost); });
}
bool LeaseDriver::Link::withdraw() {
  return ask([](Impl& impl) { return impl.withdraw(); });
}
void LeaseDriver::Link::endTerm(FencingToken token) {
  ask([&](Impl& impl) { impl.endTerm(token); });
}
void LeaseDriver::Link::schemaAnswered(StoreStatus status) {
  ask([&](Impl& impl) { impl.schemaAnswered(std::move(status)); });
}

LeaseStatus LeaseDriver::Link::status() const {
  return ask([](const Impl& impl) { return impl.status(); });
}
std::optional<LeaseStatus> LeaseDriver::Link::tryStatus() const {
  if (!mark_.isHere()) return std::nullopt;
  const std::unique_lock lock{mutex_, std::try_to_lock};
  if (!lock) return std::nullopt;
  return impl_ ? impl_->tryStatus() : LeaseStatus{LeaseState::stopped};
}
void LeaseDriver::Link::countIn(std::shared_ptr<LeaseAccount> account) {
  ask([&](Impl& impl) { impl.countIn(std::move(account)); });
}
bool LeaseDriver::Link::isOnScheduler() const {
  return ask([](const Impl& impl) { return impl.isOnScheduler(); });
}

void LeaseDriver::Link::close() noexcept {
  if (!mark_.isHere()) return;
  std::shared_ptr<Impl> last;  // destroyed after the lock is released: it releases the store and more
  const std::lock_guard lock{mutex_};
  last.swap(impl_);
  if (last) last->close();
}

LeaseDriver::LeaseDriver(Options options, std::shared_ptr<LeaseStore> store, std::shared_ptr<Scheduler> scheduler,
                         std::unique_ptr<RandomSource> random)
    : link_{std::make_shared<Link>()} {
  auto impl =
      std::make_shared<Impl>(std::move(options), std::move(store), std::move(scheduler), std::move(random), link_);
  term_ = impl->term();
  link_->open(std::move(impl));
}

LeaseDriver::~LeaseDriver() { close(); }

void LeaseDriver::close() noexcept { link_->close(); }
void LeaseDriver::submit(LeaseEvent event) { link_->submit(std::move(event)); }
bool LeaseDriver::schedule(std::chrono::nanoseconds delay, Scheduler::Task task) {
  return link_->schedule(delay, std::move(task));
}
void LeaseDriver::keep(std::shared_ptr<void> owner, std::chrono::nanoseconds atMost) {
  link_->keep(std::move(owner), atMost);
}
bool LeaseDriver::withdraw() { return link_->withdraw(); }
void LeaseDriver::endTerm(FencingToken token) { link_->endTerm(token); }
void LeaseDriver::reportProgress() noexcept { link_->reportProgress(); }
bool LeaseDriver::isOnScheduler() const { return link_->isOnScheduler(); }
const std::shared_ptr<const TermCell>& LeaseDriver::term() const noexcept { return term_; }
LeaseStatus LeaseDriver::status() const { return link_->status(); }
std::optional<LeaseStatus> LeaseDriver::tryStatus() const { return link_->tryStatus(); }
void LeaseDriver::countIn(std::shared_ptr<LeaseAccount> account) { link_->countIn(std::move(account)); }

}  // namespace tenure
