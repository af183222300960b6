// Renewals that wait at the same time, committed together.
#pragma once

#include <vector>

#include <tenure/lockcore/lease_store.hpp>

#include "deadline.hpp"
#include "session.hpp"

namespace tenure::sqlite_store {

struct Renewal {
  WriteRequest request;
  Deadline deadline;
};

/// More of them are a second batch: the first answer waits for the last statement of its batch.
inline constexpr std::size_t maxRenewalsTogether = 128;

/// One transaction for all, which costs one sync of the log instead of one each. Each keeps its own condition and its
/// own outcome: one that conflicts, comes too late or fails takes no other with it. Should an error of SQLite end the
/// transaction before its commit, certainly nothing of it was written, and those that are left are done one by one. In
/// the order of the requests; on the writer's thread.
[[nodiscard]] std::vector<WriteOutcome> renewTogether(Session& session, const std::vector<Renewal>& renewals);

}  // namespace tenure::sqlite_store
