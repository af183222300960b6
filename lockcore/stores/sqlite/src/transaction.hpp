// One write transaction: begun with the write lock, rolled back unless committed.
#pragma once

#include <optional>
#include <string>

#include <tenure/lockcore/lease_store.hpp>

#include "deadline.hpp"
#include "record_codec.hpp"
#include "session.hpp"

namespace tenure::sqlite_store {

class Transaction {
 public:
  /// `what` names the call in messages: "renewing lease billing".
  Transaction(Session& session, std::string what) : session_{session}, what_{std::move(what)} {}
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  /// BEGIN IMMEDIATE: waits for the write lock until the call's deadline. An answer that comes too late is not used:
  /// the caller may count on nothing being applied after its time.
  [[nodiscard]] std::optional<StoreError> begin(const Deadline& deadline);

  /// Nothing if it is durable. Rejected if certainly nothing of it was written, Unknown if that is open: once the
  /// commit record may be in the log, SQLite may find it there when it recovers, also if the sync after it failed.
  [[nodiscard]] std::optional<WriteOutcome> commit();

  [[nodiscard]] StoreError failed(int code) { return session_.failed(what_, code); }
  [[nodiscard]] const std::string& what() const noexcept { return what_; }

 private:
  Session& session_;
  std::string what_;
};

/// The stored row; nothing if there is none.
[[nodiscard]] StoreResult<std::optional<StoredRecord>> selectLease(Session& session, const LeaseKey& key,
                                                                   const std::string& what);

}  // namespace tenure::sqlite_store
