#include <stdexcept>
#include <utility>

#include <tenure/election/leader_elector.hpp>

#include "elector_impl.hpp"

namespace tenure {

LeaderElector::LeaderElector(Group group, Listener listener, Runtime runtime) {
  if (!group.options().shards.shardNames().empty()) {
    throw std::invalid_argument{"LeaderElector: group " + group.name() +
                                " has shards, so it has no lease of its own; use ShardedElector"};
  }
  impl_ = ElectorImpl::make(std::move(group), std::move(listener), std::move(runtime));
}

LeaderElector::~LeaderElector() {
  if (!impl_) return;
  impl_->isOriginalProcess() ? impl_->abandon() : leaveToParent(std::move(impl_));
}

LeaderElector::LeaderElector(LeaderElector&&) noexcept = default;

LeaderElector& LeaderElector::operator=(LeaderElector&& other) noexcept {
  LeaderElector gone{std::move(other)};  // swapped, so that a move to itself changes nothing
  impl_.swap(gone.impl_);
  return *this;
}

void LeaderElector::addListener(Listener listener) { impl_->addListener(std::move(listener)); }

void LeaderElector::start() {
  if (impl_->isOriginalProcess()) impl_->start();
}

void LeaderElector::stepDown(std::string why) { impl_->stepDown(std::move(why)); }

ReleaseResult LeaderElector::stop() {
  if (!impl_->isOriginalProcess()) return ReleaseResult::notHeld;
  return impl_->stop();
}

void LeaderElector::requestStop() {
  if (impl_->isOriginalProcess()) impl_->requestStop();
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
  return impl_->isOriginalProcess() ? impl_->status()
                                    : impl_->statusWithoutLease();  // here the lock may be held for ever
}

ElectorView LeaderElector::view(const ElectorView& continues) { return impl_->view(continues); }

const std::string& LeaderElector::candidate() const noexcept { return impl_->candidate(); }

}  // namespace tenure
