#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include <tenure/election/group.hpp>
#include <tenure/lockcore/candidate_id.hpp>

#include "lockcore/lease/lease_machine.hpp"

namespace tenure {
namespace {

void checkCandidate(const CandidateOptions& candidate, OptionFaults& faults) {
  if (auto fault = faultOfCandidateName(candidate.id)) faults.push_back({"candidate.id", *std::move(fault)});
  if (candidate.priority > maxPriority) {
    faults.push_back({"candidate.priority", std::to_string(candidate.priority) +
                                                " is out of range; allowed is 0 (most preferred) to " +
                                                std::to_string(maxPriority)});
  }
}

constexpr unsigned maxShards = 10'000;
constexpr std::size_t maxIdBytes = 200;  // of a candidate and of a shard

bool isShardName(const std::string& name) {
  const auto forbidden = [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F || c == '#' || c == '/';
  };
  return !name.empty() && name.size() <= maxIdBytes && isUtf8(name) &&
         std::none_of(name.begin(), name.end(), forbidden);
}

void checkShardNames(const ShardOptions& shards, OptionFaults& faults) {
  std::set<std::string> seen;
  for (const std::string& name : shards.names) {
    if (!isShardName(name)) {
      faults.push_back({"shards.names", "each must be 1 to " + std::to_string(maxIdBytes) +
                                            " bytes of UTF-8 text without control characters, '/' and '#'"});
      return;
    }
    if (!seen.insert(name).second) faults.push_back({"shards.names", "has \"" + name + "\" twice"});
  }
}

void checkShards(const GroupOptions& options, OptionFaults& faults) {
  const ShardOptions& shards = options.shards;
  if (shards.count > maxShards || shards.names.size() > maxShards) {
    const bool byCount = shards.count > maxShards;
    faults.push_back(
        {byCount ? "shards.count" : "shards.names", "at most " + std::to_string(maxShards) + " shards are allowed"});
  }
  if (shards.count > 0 && !shards.names.empty())
    faults.push_back({"shards.names", "cannot be given together with shards.count; the names say how many there are"});
  checkShardNames(shards, faults);
  if (shards.maxLeases && *shards.maxLeases == 0)
    faults.push_back({"shards.max_leases", "must be at least 1; leave it out for no limit"});
  const bool none = shards.count == 0 && shards.names.empty();
  if (none && shards.maxLeases)
    faults.push_back({"shards.count", "is missing; give it, such as count: 64, or shards.names"});
  const std::chrono::milliseconds most = options.lease.duration / 2;
  if (shards.listInterval && (*shards.listInterval < std::chrono::milliseconds{10} || *shards.listInterval > most)) {
    faults.push_back({"shards.list_interval", std::to_string(shards.listInterval->count()) +
                                                  "ms is out of range; allowed is 10ms to half of lease.duration, " +
                                                  std::to_string(most.count()) + "ms"});
  }
  // The longest name that any lease of the group gets: "/" and a shard's name or a member's slot.
  constexpr std::size_t longest = maxIdBytes + 1;
  if (!none && options.group.size() + longest > maxLeaseNameBytes)
    faults.push_back({"group", "must have at most " + std::to_string(maxLeaseNameBytes - longest) +
                                   " bytes in a group with shards, whose leases have longer names"});
}

}  // namespace

std::vector<std::string> ShardOptions::shardNames() const {
  if (count == 0) return names;
  std::vector<std::string> numbers;
  numbers.reserve(count);
  for (unsigned shard = 0; shard < count; ++shard) numbers.push_back(std::to_string(shard));
  return numbers;
}

boost::system::result<Group, OptionFaults> Group::make(GroupOptions options, std::shared_ptr<LeaseStore> store,
                                                       Logger logger) {
  OptionFaults faults;
  for (std::string& fault : faultsOf(LeaseKey{options.group})) faults.push_back({"group", std::move(fault)});
  if (options.candidate.id.empty()) options.candidate.id = hostNameAsCandidate();
  checkCandidate(options.candidate, faults);
  auto timing = LeaseTiming::from(options.lease);
  if (!timing) {
    const OptionFaults ofTiming = timing.error();  // each call returns a copy: two calls give no range
    faults.insert(faults.end(), ofTiming.begin(), ofTiming.end());
  }
  checkShards(options, faults);
  if (!store) faults.push_back({"store", "is missing; give a store such as makeSqliteStore(...)"});
  if (!faults.empty()) return faults;
  return Group{std::move(options), *timing, std::move(store), std::move(logger)};
}

Group::Group(GroupOptions options, LeaseTiming timing, std::shared_ptr<LeaseStore> store, Logger logger)
    : options_{std::move(options)}, timing_{timing}, store_{std::move(store)}, logger_{std::move(logger)} {}

}  // namespace tenure
