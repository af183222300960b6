#include "transaction.hpp"

#include <bit>
#include <cstdint>

#include <sqlite3.h>

#include "lockcore/port/json_text.hpp"
#include "lockcore/port/successor_text.hpp"
#include "record_codec.hpp"

namespace tenure::sqlite_store {
namespace {

std::int64_t signedToken(FencingToken token) { return static_cast<std::int64_t>(token.value()); }

int run(Statement& statement, const LeaseKey& key) {
  statement.bind(1, key.name);
  statement.bind(2, key.sortKey);
  return statement.run();
}

void bindLivenessFile(Statement& statement, int first, const std::optional<LivenessFile>& livenessFile) {
  if (!livenessFile) return;  // unbound parameters are NULL
  statement.bind(first, livenessFile->id);
  statement.bind(first + 1, std::bit_cast<std::int64_t>(livenessFile->device));
  statement.bind(first + 2, std::bit_cast<std::int64_t>(livenessFile->inode));
  statement.bind(first + 3, livenessFile->bootId);
}

/// Data and attributes that are as they were stay as somebody may have written them.
int writeRecord(Session& session, const LeaseKey& key, const std::optional<stored::StoredRecord>& before,
                const stored::StoredRecord& now) {
  const LeaseRecord& record = now.record;
  const LeaseRecord nothing;
  const LeaseRecord& old = before ? before->record : nothing;
  const auto attributes = attributesWithSuccessor(record);
  const std::string text = *attributesToJson(attributes);  // errorOf() has made sure that it is possible
  Statement& write = before ? session.statements().updateLease : session.statements().insertLease;
  write.bind(3, record.released ? "released" : "held");
  write.bind(4, record.holder);
  write.bind(5, signedToken(record.token));
  write.bind(6, std::int64_t{record.leaseDuration.count()});
  write.bind(7, record.version.text());
  write.bind(8, record.acquiredAtMillis);
  write.bind(9, record.renewedAtMillis);
  bindLivenessFile(write, 10, record.livenessFile);
  if (record.data != old.data) write.bindBlob(14, record.data);
  if (attributes != attributesWithSuccessor(old)) write.bind(15, text);
  if (!now.stepDown.isNone()) write.bind(16, signedToken(now.stepDown));
  return run(write, key);
}

int correctRecord(Session& session, const LeaseKey& key, const stored::Correction& by) {
  Statement& correct = session.statements().correctLease;
  correct.bind(3, signedToken(by.token));
  correct.bind(4, by.version);
  return run(correct, key);
}

int writeCounter(Session& session, const LeaseKey& key, const stored::Counter& counter) {
  Statement& set = session.statements().setFence;
  set.bind(3, signedToken(counter.token));
  if (counter.openLease.count() > 0) set.bind(4, std::int64_t{counter.openLease.count()});
  return run(set, key);
}

/// SQLITE_OK or an extended error code.
int writeChange(Session& session, const LeaseKey& key, const stored::StoredLease& seen, const stored::Change& change) {
  int code = change.counter ? writeCounter(session, key, *change.counter) : SQLITE_OK;
  if (code != SQLITE_OK) return code;
  if (change.record) return writeRecord(session, key, *seen.record, *change.record);
  if (change.correction) return correctRecord(session, key, *change.correction);
  return change.erasesRecord() ? run(session.statements().removeLease, key) : SQLITE_OK;
}

}  // namespace

Transaction::~Transaction() {
  if (session_.connection().raw() == nullptr || !session_.connection().inTransaction()) return;
  // A connection that cannot even roll back is dropped, which ends its transaction.
  if (session_.statements().rollback.run() != SQLITE_OK) session_.close();
}

std::optional<StoreError> Transaction::begin(const Deadline& deadline) {
  if (const int code = session_.statements().begin.run(); code != SQLITE_OK) return session_.failed(what_, code);
  if (!deadline.passed()) return std::nullopt;
  return session_.error(ErrorClass::transient,
                        what_ + ": the write lock was granted only after the call had timed out");
}

std::optional<WriteOutcome> Transaction::commit() {
  const int code = session_.statements().commit.run();
  if (code == SQLITE_OK) return std::nullopt;
  StoreError error = session_.failed(what_, code);
  if ((code & 0xFF) == SQLITE_BUSY) return Rejected{std::move(error)};
  return Unknown{std::move(error)};
}

StoreResult<stored::StoredLease> selectLease(Session& session, const LeaseKey& key, const std::string& what) {
  Statement& select = session.statements().selectLease;
  const StatementUse use{select};
  select.bind(1, key.name);
  select.bind(2, key.sortKey);
  const int code = select.step();
  if (code != SQLITE_ROW) return session.failed(what, code);  // there is always one row, whatever exists
  stored::StoredLease found;
  found.counter = counterFrom(session.store(), key, select, 0);
  if (select.integer(counterColumnCount) == 0) return found;
  auto record = recordFrom(session.store(), key, select, counterColumnCount + 1);
  if (record.has_error()) {
    found.record = record.error();
  } else {
    found.record = std::optional{std::move(*record)};
  }
  return found;
}

WriteOutcome decideAndWrite(Session& session, const LeaseKey& key, const std::string& what,
                            const stored::Decide& decide, const BeforeChange& before) {
  const auto found = selectLease(session, key, what);
  if (found.has_error()) return Rejected{found.error()};
  stored::Decision decision = decide(*found);
  auto* change = std::get_if<stored::Change>(&decision);
  if (change == nullptr) return std::get<WriteOutcome>(std::move(decision));
  if (before) {
    if (auto refused = before()) return *std::move(refused);
  }
  const int code = writeChange(session, key, *found, *change);
  if (code != SQLITE_OK) return Rejected{session.failed(what, code)};
  return std::move(change->applied);
}

}  // namespace tenure::sqlite_store
