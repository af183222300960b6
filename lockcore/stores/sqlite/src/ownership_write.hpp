// The conditional write of a lease: acquire, renew, release.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <tenure/lockcore/lease_store.hpp>

#include "claims.hpp"
#include "deadline.hpp"
#include "session.hpp"
#include "transaction.hpp"

namespace tenure::sqlite_store {

/// One LeaseStore::write, start to end, on the writer's thread. Used once.
class OwnershipWrite {
 public:
  OwnershipWrite(Session& session, ClaimBook& claims, const WriteRequest& request);

  [[nodiscard]] WriteOutcome perform(const Deadline& deadline);
  /// What nobody has to wait for: once the outcome was told.
  void afterAnswer();

  // In steps, as one of several renewals in a transaction of somebody else's.

  /// Nothing: it is written, and done once the transaction is committed.
  [[nodiscard]] std::optional<WriteOutcome> writeInOpenTransaction();
  /// It ended so.
  [[nodiscard]] WriteOutcome conclude(WriteOutcome outcome);
  /// `filesUnchanged`: after the commit the path still named the file that was written.
  [[nodiscard]] WriteOutcome concludeCommitted(bool filesUnchanged);

 private:
  [[nodiscard]] WriteOutcome attempt(const Deadline& deadline);

  using Trouble = std::optional<WriteOutcome>;  // empty: go on

  [[nodiscard]] Trouble inTransaction(const Deadline& deadline);
  [[nodiscard]] Trouble judgeAndChange();
  [[nodiscard]] Trouble judge();
  [[nodiscard]] Trouble judgeClaims();
  [[nodiscard]] Trouble change();
  [[nodiscard]] Trouble advanceFence();
  [[nodiscard]] Trouble writeRow();
  [[nodiscard]] Trouble removeRow();
  [[nodiscard]] Trouble stakeClaim();
  [[nodiscard]] Trouble lengthenClaim();
  void updateClaim(const WriteOutcome& outcome);
  [[nodiscard]] WriteOutcome stateOfNewFile();
  [[nodiscard]] WriteOutcome applied();

  [[nodiscard]] bool acquires() const noexcept { return request_.purpose == WriteRequest::Purpose::acquire; }
  [[nodiscard]] bool releases() const noexcept { return request_.purpose == WriteRequest::Purpose::release; }
  [[nodiscard]] bool expects(const RecordVersion& version) const;
  [[nodiscard]] Conflict conflict() const;

  Session& session_;
  ClaimBook& claims_;
  const WriteRequest& request_;
  std::string what_;
  std::optional<StoredRecord> current_{};
  FencingToken claimed_{};  ///< of the claim that the request waited for
  FencingToken token_{};
  bool staked_{false};
  bool applied_{false};
  std::string warning_{};
};

}  // namespace tenure::sqlite_store
