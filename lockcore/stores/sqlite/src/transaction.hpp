// One write transaction of a session, and what is read and written in it.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "busy_wait.hpp"
#include "lockcore/port/lease_store.hpp"
#include "lockcore/stored/decisions.hpp"
#include "session.hpp"

namespace tenure::sqlite_store {

/// It is rolled back at its end unless it was committed.
class Transaction {
 public:
  /// `what` names the call in messages: "renewing lease billing".
  Transaction(Session& session, std::string what) : session_{session}, what_{std::move(what)} {}
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  /// Waits for the write lock. Refused if the call's time is over by then.
  [[nodiscard]] std::optional<StoreError> begin(const Deadline& deadline);
  /// Empty if the transaction is durable; else `Rejected` if it certainly is not, `Unknown` if that cannot be
  /// determined.
  [[nodiscard]] std::optional<WriteOutcome> commit();

 private:
  Session& session_;
  std::string what_;
};

/// Record and counter of one moment.
[[nodiscard]] StoreResult<stored::StoredLease> selectLease(Session& session, const LeaseKey& key,
                                                           const std::string& what);

/// Called before anything of a change can be committed; an outcome refuses it.
using BeforeChange = std::function<std::optional<WriteOutcome>()>;

/// In an open transaction, which makes it one step: reads the lease, decides, and writes what was decided. `Applied`
/// counts once the transaction is committed; after any other outcome nothing was written.
[[nodiscard]] WriteOutcome decideAndWrite(Session& session, const LeaseKey& key, const std::string& what,
                                          const stored::Decide& decide, const BeforeChange& before = {});

}  // namespace tenure::sqlite_store
