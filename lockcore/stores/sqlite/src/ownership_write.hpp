// The conditional write of a lease: acquire, renew, release.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <tenure/lockcore/lease_store.hpp>

#include "busy_wait.hpp"
#include "session.hpp"
#include "transaction.hpp"

namespace tenure::sqlite_store {

/// One LeaseStore::write from start to end, on the writer's thread. Used once.
class OwnershipWrite {
 public:
  OwnershipWrite(Session& session, const WriteRequest& request);

  [[nodiscard]] WriteOutcome perform(const Deadline& deadline);
  /// The work for which nobody has to wait; called once the outcome was reported.
  void afterAnswer();

  // The same in steps, as one of several renewals in a shared transaction.

  /// Empty: the record is written, and the write is done once the transaction is committed.
  [[nodiscard]] std::optional<WriteOutcome> writeInOpenTransaction();
  /// The write ended with this outcome.
  [[nodiscard]] WriteOutcome conclude(WriteOutcome outcome);
  /// `filesUnchanged`: after the commit the path still named the file that was written.
  [[nodiscard]] WriteOutcome concludeCommitted(bool filesUnchanged);

 private:
  [[nodiscard]] WriteOutcome attempt(const Deadline& deadline);

  using Trouble = std::optional<WriteOutcome>;  // empty: go on

  [[nodiscard]] Trouble inTransaction(const Deadline& deadline);
  [[nodiscard]] Trouble judgeAndChange();
  [[nodiscard]] Trouble judge();
  [[nodiscard]] Trouble judgeAbsence();
  [[nodiscard]] Trouble change();
  [[nodiscard]] Trouble openTerm();
  [[nodiscard]] Trouble changeCounter();
  [[nodiscard]] Trouble advanceCounter();
  [[nodiscard]] Trouble writeRow();
  [[nodiscard]] Trouble removeRow();
  void noteEnd(const WriteOutcome& outcome);
  [[nodiscard]] WriteOutcome stateOfNewFile();
  [[nodiscard]] WriteOutcome applied();

  [[nodiscard]] bool acquires() const noexcept { return request_.purpose == WriteRequest::Purpose::acquire; }
  [[nodiscard]] bool releases() const noexcept { return request_.purpose == WriteRequest::Purpose::release; }
  [[nodiscard]] bool expects(const RecordVersion& version) const;
  [[nodiscard]] WriteOutcome conflict() const;

  Session& session_;
  const WriteRequest& request_;
  const TermName term_;
  std::string what_;
  StoredLease stored_{std::nullopt, std::optional<StoredCounter>{}};
  FencingToken token_{};
  bool opensTerm_{false};  ///< the term was not open before this write
  bool applied_{false};
  std::string warning_{};
};

}  // namespace tenure::sqlite_store
