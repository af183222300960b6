#include <utility>

#include <tenure/election/group.hpp>
#include <tenure/lockcore/candidate_id.hpp>
#include <tenure/lockcore/lease_machine.hpp>

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

}  // namespace

boost::system::result<Group, OptionFaults> Group::make(GroupOptions options, std::shared_ptr<LeaseStore> store,
                                                       Logger logger) {
  OptionFaults faults;
  for (std::string& fault : faultsOf(LeaseKey{options.group})) faults.push_back({"group", std::move(fault)});
  if (options.candidate.id.empty()) options.candidate.id = hostNameAsCandidate();
  checkCandidate(options.candidate, faults);
  auto timing = LeaseTiming::from(options.lease);
  if (!timing) {
    const OptionFaults ofTiming = timing.error();  // a copy at each call: two calls give no range
    faults.insert(faults.end(), ofTiming.begin(), ofTiming.end());
  }
  if (!store) faults.push_back({"store", "is missing; give a store such as makeSqliteStore(...)"});
  if (!faults.empty()) return faults;
  return Group{std::move(options), *timing, std::move(store), std::move(logger)};
}

Group::Group(GroupOptions options, LeaseTiming timing, std::shared_ptr<LeaseStore> store, Logger logger)
    : options_{std::move(options)}, timing_{timing}, store_{std::move(store)}, logger_{std::move(logger)} {}

}  // namespace tenure
