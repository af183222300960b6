// The knowledge of an elector at one moment, as plain data: for metrics, for status pages, for bridges to other
// exporters; and as JSON, as the listener serves it. Keys are stable; new ones may come.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tenure/election/elector_view.hpp>
#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/outcomes.hpp>

namespace tenure::ops {

struct Snapshot {
  std::string group;
  std::string candidate;  ///< unique text, as in the record
  std::string store;
  std::chrono::milliseconds leaseDuration{0};
  bool observes{false};
  LeaderStanding standing{};  ///< by the clock, when the snapshot was taken
  /// As last read; the part that needs no proof by the clock: state, leader, doubts, lags.
  LeaseStatus lease{};
  /// Age of `lease`: zero, unless it could not be read just now. Negative: it was never read.
  std::chrono::nanoseconds leaseAge{0};
  std::int64_t electedAtMillis{0};  ///< of the present term, by the wall clock; 0: this process does not lead
  std::chrono::nanoseconds overdue{0};
  LeaseCounts counts{};
  std::int64_t takenAtMillis{0};  ///< by the wall clock, for people
};

/// Takes a snapshot. Waits for no lock: if the status is being changed at this moment, it is tried again for some
/// microseconds; then that of `last` is taken, which may be null.
[[nodiscard]] TENURE_API Snapshot snapshotOf(const ElectorView& elector, const Snapshot* last = nullptr);

/// `{"group":..., "candidate":..., "leads":true, "fencing_token":41, "remaining_ms":6543}`, with a line break. While
/// this process does not lead, the token is null and the time 0.
[[nodiscard]] TENURE_API std::string leaderJson(const std::string& group, const std::string& candidate,
                                                const LeaderStanding& standing);

/// `{"electors":[{...}, ...]}`, with a line break.
[[nodiscard]] TENURE_API std::string statusJson(const std::vector<Snapshot>& electors);

struct GroupEvents {
  std::string group;
  std::vector<TermEvent> events;  ///< oldest first
};

/// `{"groups":[{"group":..., "events":[{"at":..., "at_ms":..., "event":"revoked", "fencing_token":41,
/// "reason":"expired", "detail":...}, ...]}]}`, with a line break.
[[nodiscard]] TENURE_API std::string historyJson(const std::vector<GroupEvents>& groups);

}  // namespace tenure::ops
