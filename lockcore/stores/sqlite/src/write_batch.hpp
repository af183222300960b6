// Waiting renewals, or releases, that are committed together.
#pragma once

#include <vector>

#include "busy_wait.hpp"
#include "lockcore/port/lease_store.hpp"
#include "session.hpp"

namespace tenure::sqlite_store {

struct BatchedWrite {
  WriteRequest request;
  Deadline deadline;
};

/// More than this become a second batch, because the first answer waits for the last statement of its batch.
inline constexpr std::size_t maxWritesTogether = 128;

/// One transaction for all of them costs one sync of the log instead of one sync each. Each write keeps its own
/// condition and its own outcome: one that conflicts, comes too late or fails affects no other. If an error of SQLite
/// ends the transaction before its commit, certainly nothing of it was written, and the remaining writes are done one
/// by one. `batch`: one or more of one purpose. Done in the order of the requests, on the writer's thread.
[[nodiscard]] std::vector<WriteOutcome> writeTogether(Session& session, const std::vector<BatchedWrite>& batch);

}  // namespace tenure::sqlite_store
