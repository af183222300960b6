#include <stdexcept>
#include <utility>

#include <tenure/election/leader_elector.hpp>

#include "elector_impl.hpp"

namespace tenure {

LeaderElector::LeaderElector(Group group, Listener listener, Runtime runtime) {
  if (!group.options().shards.shardNames().empty()) {
    throw std::invalid_argument{"LeaderElector: group " + group.name() +
                                " has shards, so it has no single lease; use ShardedElector"};
  }
  impl_ = ElectorImpl::make(std::move(group), std::move(listener), std::move(runtime));
}

LeaderElector::~LeaderElector() {
  if (!impl_) return;
  impl_->isHere() ? impl_->abandon() : leaveToParent(std::move(impl_));
}

LeaderElector::LeaderElector(LeaderElector&&) noexcept = default;

LeaderElector& LeaderElector::operator=(LeaderElector&& other) noexcept {
  LeaderElector gone{std::move(other)};  // swapped, so that a move to itself changes nothing
  impl_.swap(gone.impl_);
  return *this;
}

void LeaderElector::addListener(Listener listener) {
  if (auto* own = inItsProcess(impl_)) own->addListener(std::move(listener));
}

void LeaderElector::start() {
  if (auto* own = inItsProcess(impl_)) own->start();
}

void LeaderElector::stepDown(std::string why, std::string successor) {
  if (auto* own = inItsProcess(impl_)) own->stepDown(std::move(why), std::move(successor));
}

void LeaderElector::setReady(bool ready, std::string why) {
  if (auto* own = inItsProcess(impl_)) own->setReady(ready, std::move(why));
}

ReleaseResult LeaderElector::stop() {
  auto* own = inItsProcess(impl_);
  return own != nullptr ? own->stop() : ReleaseResult::notHeld;
}

void LeaderElector::requestStop(std::function<void(ReleaseResult)> done) {
  if (auto* own = inItsProcess(impl_)) return own->requestStop(std::move(done));
  if (done) done(ReleaseResult::notHeld);
}

bool LeaderElector::isLeader() const noexcept { return impl_->termState().leadsAt(impl_->now()); }

std::optional<FencingToken> LeaderElector::fencingToken() const noexcept {
  const TermState state = impl_->termState();
  return state.leadsAt(impl_->now()) ? std::optional{state.token} : std::nullopt;
}

std::chrono::nanoseconds LeaderElector::remaining() const noexcept {
  return impl_->termState().remainingAt(impl_->now());
}

ElectorStatus LeaderElector::status() const {
  auto* own = inItsProcess(impl_);
  return own != nullptr ? own->status() : impl_->statusWithoutLease();
}

ElectorView LeaderElector::view(const ElectorView& continues) {
  auto* own = inItsProcess(impl_);
  return own != nullptr ? own->view(continues) : impl_->viewInChild();
}

const std::string& LeaderElector::candidate() const noexcept { return impl_->candidate(); }

}  // namespace tenure
