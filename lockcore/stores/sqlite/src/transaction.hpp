// One write transaction of a session, and what is read at its start.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <tenure/lockcore/lease_store.hpp>

#include "busy_wait.hpp"
#include "record_codec.hpp"
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

  [[nodiscard]] StoreError failed(int code) { return session_.failed(what_, code); }
  [[nodiscard]] const std::string& what() const noexcept { return what_; }

 private:
  Session& session_;
  std::string what_;
};

/// What the store knows about a lease at one moment.
struct StoredLease {
  std::optional<StoredRecord> record;
  /// An error if the row makes no sense. That matters where there is no record, and for an acquisition.
  StoreResult<std::optional<StoredCounter>> counter;

  /// The answer for reads and conflicts: the record, or vanishedRecord() if the counter says that a term is open, or
  /// nothing.
  [[nodiscard]] StoreResult<std::optional<LeaseRecord>> told() const;
};

[[nodiscard]] StoreResult<StoredLease> selectLease(Session& session, const LeaseKey& key, const std::string& what);

/// SQLITE_OK or an extended error code.
[[nodiscard]] int setCounter(Session& session, const LeaseKey& key, const StoredCounter& counter);

}  // namespace tenure::sqlite_store
