#include "simulation/fault_kind.hpp"

#include <algorithm>

namespace tenure::test {
namespace {

constexpr std::array<std::string_view, faultKinds> faultNames{"loseRequest",
                                                              "loseReply",
                                                              "twiceRequest",
                                                              "twiceReply",
                                                              "lateRequest",
                                                              "lateReply",
                                                              "reject",
                                                              "throttle",
                                                              "credentials",
                                                              "misconfigured",
                                                              "corrupt",
                                                              "unknown",
                                                              "hideImage",
                                                              "staleRead",
                                                              "silentClient",
                                                              "outage",
                                                              "oneWay",
                                                              "erase",
                                                              "ttl",
                                                              "overwrite",
                                                              "foreign",
                                                              "loseCounter",
                                                              "operatorStepDown",
                                                              "slew",
                                                              "suspend",
                                                              "freeze",
                                                              "wildRate",
                                                              "pause",
                                                              "crash",
                                                              "politeStop",
                                                              "stepDown",
                                                              "workFails",
                                                              "slowWork",
                                                              "stuckWork",
                                                              "lateTimer",
                                                              "tokenTold",
                                                              "hints",
                                                              "deathNotices",
                                                              "mixedLeases",
                                                              "crowd",
                                                              "cutOff",
                                                              "pauseInStep",
                                                              "crashInStep",
                                                              "deferred",
                                                              "stopInStep",
                                                              "changedLease",
                                                              "manualHeartbeat",
                                                              "sighting",
                                                              "newcomer",
                                                              "nonsenseToken",
                                                              "lie",
                                                              "locks",
                                                              "refusedData",
                                                              "failover",
                                                              "fork",
                                                              "cancelledWait",
                                                              "staleWriters",
                                                              "streamLies",
                                                              "unready",
                                                              "namedSuccessor"};

bool apply(FaultSet& set, std::string_view word, bool on) {
  if (word == "all" || word == "none") {
    (word == "all") == on ? set.set() : set.reset();
    return true;
  }
  const auto kind = faultKindOf(word);
  if (kind) set.set(static_cast<std::size_t>(*kind), on);
  return kind.has_value();
}

}  // namespace

std::string_view toString(FaultKind kind) noexcept { return faultNames[static_cast<std::size_t>(kind)]; }

std::optional<FaultKind> faultKindOf(std::string_view name) noexcept {
  const auto* const found = std::find(faultNames.begin(), faultNames.end(), name);
  if (found == faultNames.end()) return std::nullopt;
  return static_cast<FaultKind>(found - faultNames.begin());
}

std::optional<FaultSet> faultsFrom(std::string_view list, std::string& unknown) {
  FaultSet set;
  bool on = true;
  while (!list.empty()) {
    const std::size_t end = list.find_first_of(",-");
    const std::string_view word = list.substr(0, end);
    if (!word.empty() && !apply(set, word, on)) {
      unknown = word;
      return std::nullopt;
    }
    if (end == std::string_view::npos) break;
    on = list[end] == ',';
    list.remove_prefix(end + 1);
  }
  return set;
}

std::string toString(const FaultSet& faults) {
  if (faults.all()) return "all";
  if (faults.none()) return "none";
  const bool most = faults.count() > faultKinds / 2;
  std::string out = most ? "all" : "";
  for (std::size_t i = 0; i < faultKinds; ++i) {
    if (faults.test(i) == most) continue;
    if (!out.empty()) out += most ? '-' : ',';
    out += faultNames[i];
  }
  return out;
}

}  // namespace tenure::test
