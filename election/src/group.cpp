#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include <tenure/election/group.hpp>
#include <tenure/election/listener.hpp>
#include <tenure/lockcore/candidate_id.hpp>

#include "checked_group.hpp"
#include "group_ranges.hpp"
#include "leader_document.hpp"
#include "lockcore/port/extended_store.hpp"
#include "lockcore/port/name_text.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "shard_keys.hpp"

namespace tenure {
namespace {

void checkCandidate(const CandidateOptions& candidate, OptionFaults& faults) {
  const std::string id = candidate.id.empty() ? hostNameAsCandidate() : candidate.id;
  if (auto fault = faultOfCandidateName(id)) faults.push_back({"candidate.id", *std::move(fault)});
  if (pauseIn(id)) {
    faults.push_back({"candidate.id", "reads as an operator's pause (tenure pause); choose another name"});
  }
  if (!GroupRanges::priority.holds(candidate.priority)) {
    faults.push_back({"candidate.priority",
                      std::to_string(candidate.priority) + " is out of range; allowed is 0 (most preferred) to " +
                          std::to_string(maxPriority),
                      true});
  }
  if (!candidate.address.empty() && !isLeaderAddress(candidate.address)) {
    faults.push_back({"candidate.address", "must be 1 to 256 printable characters of ASCII without spaces"});
  }
}

void checkReclaim(const GroupOptions& options, OptionFaults& faults) {
  const auto& after = options.candidate.reclaimAfter;
  if (!after) return;
  const auto refuse = [&](std::string message, bool range = false) {
    faults.push_back({"candidate.reclaimAfter", std::move(message), range});
  };
  if (!GroupRanges::reclaimAfter.holds(*after)) {
    refuse(std::to_string(after->count()) + "ms is out of range; allowed is 1s to 24h", true);
  }
  if (options.candidate.mode == CandidateMode::observe) {
    refuse("is for candidates that compete; leave it out where candidate.mode is observe");
  }
  if (options.shards.count > 0 || !options.shards.names.empty()) {
    refuse("is for groups with one lease; leave it out in a group with shards, which are spread over all candidates");
  }
}

constexpr std::size_t maxShardNameBytes = 200;

bool isShardName(const std::string& name) {
  const auto forbidden = [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F || c == '#' || c == '/';
  };
  return !name.empty() && name.size() <= maxShardNameBytes && isUtf8(name) &&
         std::none_of(name.begin(), name.end(), forbidden);
}

void checkShardNames(const ShardOptions& shards, OptionFaults& faults) {
  std::set<std::string> seen;
  for (const std::string& name : shards.names) {
    if (!isShardName(name)) {
      faults.push_back({"shards.names", "each must be 1 to " + std::to_string(maxShardNameBytes) +
                                            " bytes of UTF-8 text without control characters, '/' and '#'"});
      return;
    }
    if (const auto fault = faultOfNameText(name)) faults.push_back({"shards.names", inQuotes(name) + ' ' + *fault});
    if (!seen.insert(name).second) faults.push_back({"shards.names", "has \"" + name + "\" twice"});
  }
}

void checkListInterval(const GroupOptions& options, OptionFaults& faults) {
  const auto& interval = options.shards.listInterval;
  const auto& own = GroupRanges::listInterval;
  // A senseless duration has a fault of its own.
  const auto most = LeaseRanges::duration.holds(options.lease.duration) ? options.lease.duration / 2 : own.most;
  if (!interval || (*interval >= own.least && *interval <= most)) return;
  faults.push_back({"shards.listInterval",
                    std::to_string(interval->count()) + "ms is out of range; allowed is " +
                        std::to_string(own.least.count()) + "ms to half of lease.duration, " +
                        std::to_string(most.count()) + "ms",
                    !own.holds(*interval)});
}

void checkShards(const GroupOptions& options, OptionFaults& faults) {
  const ShardOptions& shards = options.shards;
  constexpr unsigned most = GroupRanges::shards.most;
  const bool tooMany = shards.count > most;
  if (tooMany || shards.names.size() > most) {
    faults.push_back({tooMany ? "shards.count" : "shards.names",
                      "at most " + std::to_string(most) + " shards are allowed", tooMany});
  }
  if (shards.count > 0 && !shards.names.empty())
    faults.push_back({"shards.names", "cannot be given together with shards.count; the names say how many there are"});
  checkShardNames(shards, faults);
  if (shards.maxLeases && !GroupRanges::maxLeases.holds(*shards.maxLeases)) {
    faults.push_back({"shards.maxLeases",
                      "must be 1 to " + std::to_string(GroupRanges::maxLeases.most) + "; leave it out for no limit",
                      true});
  }
  const bool none = shards.count == 0 && shards.names.empty();
  if (!none && options.candidate.mode == CandidateMode::observe)
    faults.push_back({"candidate.mode", "cannot be observe in a group with shards; an observer follows one lease"});
  if (none && shards.maxLeases)
    faults.push_back({"shards.count", "is missing; give it, such as count: 64, or shards.names"});
  checkListInterval(options, faults);
  // The longest name that any lease of the group gets: "/" and a shard's name or a member's slot.
  constexpr std::size_t longest = maxShardNameBytes + 1;
  if (!none && options.group.size() + longest > maxLeaseNameBytes)
    faults.push_back({"group", "must have at most " + std::to_string(maxLeaseNameBytes - longest) +
                                   " bytes in a group with shards, whose leases have longer names"});
}

/// A name that this store cannot keep, such as one that stands for leases without a sort key in a DynamoDB table.
void checkShardKeys(const GroupOptions& options, ExtendedStore& store, OptionFaults& faults) {
  if (!store.keepsGroupsTogether()) return;
  const ShardKeys keys{options.group, true};
  for (const std::string& name : options.shards.shardNames()) {
    for (const OptionFault& fault : store.faultsOfPayload(keys.keyOf(name), {}, {})) {
      faults.push_back({options.shards.count > 0 ? "shards.count" : "shards.names", fault.message});
    }
  }
}

}  // namespace

std::vector<std::string> ShardOptions::shardNames() const {
  if (count == 0) return names;
  std::vector<std::string> numbers;
  numbers.reserve(count);
  for (unsigned shard = 0; shard < count; ++shard) numbers.push_back(std::to_string(shard));
  return numbers;
}

CheckedGroup::CheckedGroup(GroupOptions given) : options{std::move(given)} {
  for (std::string& fault : faultsOf(LeaseKey{options.group})) faults.push_back({"group", std::move(fault)});
  checkCandidate(options.candidate, faults);
  checkReclaim(options, faults);
  if (const auto checked = LeaseTiming::from(options.lease)) {
    timing = *checked;
  } else {
    const OptionFaults ofTiming = checked.error();  // each call returns a copy: two calls give no range
    faults.insert(faults.end(), ofTiming.begin(), ofTiming.end());
  }
  checkShards(options, faults);
}

boost::system::result<Group, OptionFaults> CheckedGroup::with(std::shared_ptr<LeaseStore> store, Logger logger) && {
  if (!store) faults.push_back({"store", "is missing; give a store such as makeSqliteStore(...)"});
  if (faults.empty()) checkShardKeys(options, *extended(store), faults);
  if (!faults.empty()) return faults;
  if (options.candidate.id.empty()) options.candidate.id = hostNameAsCandidate();
  return Group{std::move(options), *timing, std::move(store), std::move(logger)};
}

OptionFaults faultsOf(const GroupOptions& options) { return CheckedGroup{options}.faults; }

boost::system::result<Group, OptionFaults> Group::make(GroupOptions options, std::shared_ptr<LeaseStore> store,
                                                       Logger logger) {
  return CheckedGroup{std::move(options)}.with(std::move(store), std::move(logger));
}

Group::Group(GroupOptions options, LeaseTiming timing, std::shared_ptr<LeaseStore> store, Logger logger)
    : options_{std::move(options)}, timing_{timing}, store_{std::move(store)}, logger_{std::move(logger)} {}

}  // namespace tenure
