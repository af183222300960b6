#include <algorithm>
#include <array>
#include <unistd.h>
#include <utility>

#include <tenure/election/group.hpp>
#include <tenure/lockcore/lease_machine.hpp>

namespace tenure {
namespace {

constexpr std::size_t maxIdBytes = 200;

std::string hostName() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return name.data();
}

void checkCandidate(const CandidateOptions& candidate, OptionFaults& faults) {
  const auto forbidden = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F || c == '#'; };
  const bool bad = candidate.id.empty() || candidate.id.size() > maxIdBytes || !isUtf8(candidate.id) ||
                   std::any_of(candidate.id.begin(), candidate.id.end(), forbidden);
  if (bad) {
    faults.push_back({"candidate.id", "must be 1 to " + std::to_string(maxIdBytes) +
                                          " bytes of UTF-8 text without control characters and without '#'"});
  }
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
  if (options.candidate.id.empty()) options.candidate.id = hostName();
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
