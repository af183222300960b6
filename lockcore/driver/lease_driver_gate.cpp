#include "lease_driver_impl.hpp"

namespace tenure {

void LeaseDriver::Gate::open(std::shared_ptr<Impl> impl) {
  const std::lock_guard lock{mutex_};
  impl_ = std::move(impl);
}

// In a forked child a thread that does not exist there may hold the lock.

void LeaseDriver::Gate::submit(LeaseEvent event) {
  if (!mark_.isHere()) return;
  const std::lock_guard lock{mutex_};
  if (impl_) impl_->submit(std::move(event));  // this posts, so it runs nothing under the lock
}

bool LeaseDriver::Gate::withdraw() {
  if (!mark_.isHere()) return false;
  const std::lock_guard lock{mutex_};
  return impl_ && impl_->withdraw();
}

void LeaseDriver::Gate::endTerm(FencingToken token) {
  if (!mark_.isHere()) return;
  const std::lock_guard lock{mutex_};
  if (impl_) impl_->endTerm(token);
}

void LeaseDriver::Gate::schemaAnswered(StoreStatus status) {
  if (!mark_.isHere()) return;
  const std::lock_guard lock{mutex_};
  if (impl_) impl_->schemaAnswered(std::move(status));
}

LeaseStatus LeaseDriver::Gate::status() const {
  if (!mark_.isHere()) return {};
  const std::lock_guard lock{mutex_};
  return impl_ ? impl_->status() : LeaseStatus{};
}

bool LeaseDriver::Gate::isOnScheduler() const {
  if (!mark_.isHere()) return false;
  const std::lock_guard lock{mutex_};
  return impl_ && impl_->isOnScheduler();
}

void LeaseDriver::Gate::close() noexcept {
  if (!mark_.isHere()) return;
  std::shared_ptr<Impl> last;  // destroyed after the lock is released: it releases the store and more
  const std::lock_guard lock{mutex_};
  last.swap(impl_);
  if (last) last->close();
}

LeaseDriver::LeaseDriver(Options options, std::shared_ptr<LeaseStore> store, std::shared_ptr<Scheduler> scheduler,
                         std::unique_ptr<RandomSource> random)
    : gate_{std::make_shared<Gate>()} {
  auto impl =
      std::make_shared<Impl>(std::move(options), std::move(store), std::move(scheduler), std::move(random), gate_);
  term_ = impl->term();
  gate_->open(std::move(impl));
}

LeaseDriver::~LeaseDriver() { close(); }

void LeaseDriver::close() noexcept { gate_->close(); }
void LeaseDriver::submit(LeaseEvent event) { gate_->submit(std::move(event)); }
bool LeaseDriver::withdraw() { return gate_->withdraw(); }
void LeaseDriver::endTerm(FencingToken token) { gate_->endTerm(token); }
void LeaseDriver::reportProgress() noexcept { gate_->reportProgress(); }
bool LeaseDriver::isOnScheduler() const { return gate_->isOnScheduler(); }
const std::shared_ptr<const TermCell>& LeaseDriver::term() const noexcept { return term_; }
LeaseStatus LeaseDriver::status() const { return gate_->status(); }

}  // namespace tenure
