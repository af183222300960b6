#include <stdexcept>
#include <utility>

#include <tenure/election/leader_follower.hpp>

namespace tenure {
namespace {

Group observing(const Group& group) {
  if (!group.options().shards.shardNames().empty()) {
    throw std::invalid_argument{"LeaderFollower: group " + group.name() + " has shards, and each has its own leader"};
  }
  GroupOptions options = group.options();
  options.candidate.mode = CandidateMode::observe;
  options.candidate.reclaimAfter.reset();
  return Group::make(std::move(options), group.store(), group.logger()).value();
}

}  // namespace

LeaderFollower::LeaderFollower(const Group& group, Callback changed, Runtime runtime)
    : elector_{observing(group), {.onLeaderChanged = std::move(changed)}, std::move(runtime)} {}

}  // namespace tenure
