#include "transaction.hpp"

#include <cstdint>

#include <sqlite3.h>

namespace tenure::sqlite_store {

Transaction::~Transaction() {
  if (session_.connection().raw() == nullptr || !session_.connection().inTransaction()) return;
  // A connection that cannot even roll back is dropped, which ends its transaction.
  if (session_.statements().rollback.run() != SQLITE_OK) session_.close();
}

std::optional<StoreError> Transaction::begin(const Deadline& deadline) {
  if (const int code = session_.statements().begin.run(); code != SQLITE_OK) return failed(code);
  if (!deadline.passed()) return std::nullopt;
  return session_.error(ErrorClass::transient,
                        what_ + ": the write lock was granted only after the call's time was over");
}

std::optional<WriteOutcome> Transaction::commit() {
  const int code = session_.statements().commit.run();
  if (code == SQLITE_OK) return std::nullopt;
  StoreError error = failed(code);
  if ((code & 0xFF) == SQLITE_BUSY) return Rejected{std::move(error)};
  return Unknown{std::move(error)};
}

StoreResult<std::optional<LeaseRecord>> StoredLease::told() const {
  if (record) return std::optional{record->record};
  if (counter.has_error()) return counter.error();
  if (!*counter || !(*counter)->isOpen()) return std::optional<LeaseRecord>{};
  return std::optional{vanishedRecord((*counter)->token, (*counter)->openLease)};
}

StoreResult<StoredLease> selectLease(Session& session, const LeaseKey& key, const std::string& what) {
  Statement& select = session.statements().selectLease;
  const StatementUse use{select};
  select.bind(1, key.name);
  select.bind(2, key.sortKey);
  const int code = select.step();
  if (code != SQLITE_ROW) return session.failed(what, code);  // there is always one row, whatever exists
  StoredLease found{std::nullopt, counterFrom(session.store(), key, select, 0)};
  if (select.integer(counterColumnCount) == 0) return found;
  StoreResult<StoredRecord> record = recordFrom(session.store(), key, select, counterColumnCount + 1);
  if (record.has_error()) return record.error();
  found.record = std::move(*record);
  return found;
}

int setCounter(Session& session, const LeaseKey& key, const StoredCounter& counter) {
  Statement& set = session.statements().setFence;
  set.bind(1, key.name);
  set.bind(2, key.sortKey);
  set.bind(3, static_cast<std::int64_t>(counter.token.value()));
  if (counter.isOpen()) set.bind(4, std::int64_t{counter.openLease.count()});
  return set.run();
}

}  // namespace tenure::sqlite_store
