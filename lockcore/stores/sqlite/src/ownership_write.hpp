// The conditional write of a lease: acquire, renew, release.
#pragma once

#include <optional>
#include <string>

#include "busy_wait.hpp"
#include "lockcore/port/lease_store.hpp"
#include "session.hpp"

namespace tenure::sqlite_store {

/// One LeaseStore::write from start to end, on the writer's thread. Used once.
class OwnershipWrite {
 public:
  OwnershipWrite(Session& session, const WriteRequest& request);

  [[nodiscard]] WriteOutcome perform(const Deadline& deadline);
  /// The work for which nobody has to wait; called once the outcome was reported.
  void afterAnswer();

  // The same in steps, as one of several renewals in a shared transaction.

  /// `Applied`: the record is written, and the write is done once the transaction is committed.
  [[nodiscard]] WriteOutcome writeInOpenTransaction();
  /// The write ended with this outcome.
  [[nodiscard]] WriteOutcome conclude(WriteOutcome outcome);
  /// The same for one that was written and committed. `filesUnchanged`: after the commit the path still named the file
  /// that was written.
  [[nodiscard]] WriteOutcome concludeCommitted(WriteOutcome applied, bool filesUnchanged);

 private:
  [[nodiscard]] WriteOutcome attempt(const Deadline& deadline);
  [[nodiscard]] WriteOutcome inTransaction(const Deadline& deadline);
  [[nodiscard]] std::optional<WriteOutcome> openTerm();
  [[nodiscard]] WriteOutcome stateOfNewFile();

  [[nodiscard]] bool acquires() const noexcept { return request_.purpose == WriteRequest::Purpose::acquire; }
  [[nodiscard]] bool releases() const noexcept { return request_.purpose == WriteRequest::Purpose::release; }

  Session& session_;
  const WriteRequest& request_;
  const TermName term_;
  std::string what_;
  bool opensTerm_{false};  ///< the term was not open before this write
  bool applied_{false};
};

}  // namespace tenure::sqlite_store
