// Status and history as JSON, as the listener serves them. Keys are stable; new ones may come.
#pragma once

#include <string>
#include <vector>

#include <tenure/lockcore/export.hpp>
#include <tenure/ops/snapshot.hpp>

namespace tenure::ops {

/// `{"group":..., "candidate":..., "leads":true, "fencing_token":41, "remaining_ms":6543}`, with a line break. While
/// this process does not lead, the token is null and the time 0.
[[nodiscard]] TENURE_API std::string leaderJson(const std::string& group, const std::string& candidate,
                                                const LeaderStanding& standing);

/// `{"electors":[{...}, ...]}`, with a line break.
[[nodiscard]] TENURE_API std::string statusJson(const std::vector<Snapshot>& electors);

struct TENURE_API GroupEvents {
  std::string group;
  std::vector<TermEvent> events;  ///< oldest first
};

/// `{"groups":[{"group":..., "events":[{"at":..., "at_ms":..., "event":"revoked", "fencing_token":41,
/// "reason":"expired", "detail":...}, ...]}]}`, with a line break.
[[nodiscard]] TENURE_API std::string historyJson(const std::vector<GroupEvents>& groups);

}  // namespace tenure::ops
