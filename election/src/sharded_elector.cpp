#include <utility>

#include <tenure/election/sharded_elector.hpp>

#include "sharded_impl.hpp"

namespace tenure {

ShardedElector::ShardedElector(Group group, ShardListener listener, Runtime runtime) {
  std::shared_ptr<Scheduler> scheduler = runtime.scheduler ? std::move(runtime.scheduler) : sharedScheduler();
  impl_ = std::make_shared<Impl>(std::move(group), std::move(listener), std::move(runtime), std::move(scheduler));
}

ShardedElector::~ShardedElector() {
  if (!impl_) return;
  impl_->isHere() ? impl_->abandon() : leaveToParent(std::move(impl_));
}

ShardedElector::ShardedElector(ShardedElector&&) noexcept = default;

ShardedElector& ShardedElector::operator=(ShardedElector&& other) noexcept {
  ShardedElector gone{std::move(other)};  // swapped, so that a move to itself changes nothing
  impl_.swap(gone.impl_);
  return *this;
}

void ShardedElector::start() {
  if (auto* own = inItsProcess(impl_)) own->start();
}

ReleaseResult ShardedElector::stop() {
  auto* own = inItsProcess(impl_);
  return own != nullptr ? own->stop() : ReleaseResult::notHeld;
}

void ShardedElector::requestStop(std::function<void(ReleaseResult)> done) {
  if (auto* own = inItsProcess(impl_)) return own->requestStop(std::move(done));
  if (done) done(ReleaseResult::notHeld);
}

bool ShardedElector::owns(std::size_t shard) const { return impl_->owns(shard); }
std::vector<OwnedShard> ShardedElector::owned() const { return impl_->owned(); }
ShardedStatus ShardedElector::status() const { return impl_->status(); }
const std::string& ShardedElector::candidate() const noexcept { return impl_->candidate(); }
ShardsView ShardedElector::view() { return impl_->view(); }

}  // namespace tenure
