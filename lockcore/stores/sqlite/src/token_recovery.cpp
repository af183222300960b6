#include <optional>
#include <string>

#include <sqlite3.h>

#include <tenure/lockcore/runtime.hpp>
#include <tenure/lockcore/store_checks.hpp>

#include "lockcore/port/random_draws.hpp"
#include "lockcore/port/saturating_time.hpp"
#include "lockcore/runtime/system_random.hpp"
#include "transaction.hpp"
#include "transactions.hpp"

namespace tenure::sqlite_store {
namespace {

using std::chrono::milliseconds;

// Read as texts, because a token may be too great to be one. In a file of an older release the counter's row has no
// open lease.
std::string selectSql(bool countersHaveLease) {
  return std::string{
             "SELECT CAST(f.token AS TEXT), CAST(l.token AS TEXT), l.record_version, l.holder, l.state, "
             "max(coalesce(l.lease_ms, 0), "} +
         (countersHaveLease ? "coalesce(f.lease_ms, 0)" : "0") +
         ") FROM (SELECT ?1 AS name, ?2 AS sort_key) AS k "
         "LEFT JOIN tenure_fence AS f ON f.name = k.name AND f.sort_key = k.sort_key "
         "LEFT JOIN tenure_lease AS l ON l.name = k.name AND l.sort_key = k.sort_key";
}

struct Change {
  const char* sql;
  int parameters;  // name, sort key, token, version
};

// A row that this step creates itself states no open term.
constexpr Change changes[] = {
    {"DELETE FROM tenure_fence WHERE name = ?1 AND sort_key = ?2", 2},
    {"INSERT INTO tenure_fence(name, sort_key, token) VALUES(?1, ?2, ?3)", 3},
    {"UPDATE tenure_lease SET token = ?3, state = 'released', record_version = ?4, step_down_token = NULL, "
     "beacon_id = NULL, beacon_device = NULL, beacon_inode = NULL, boot_id = NULL WHERE name = ?1 AND sort_key = ?2",
     4}};

StoreResult<StoredTokens> select(Session& session, const LeaseKey& key, const std::string& what) {
  std::optional<std::string> hasLease;
  int code = session.connection().queryText("SELECT 1 FROM pragma_table_info('tenure_fence') WHERE name = 'lease_ms'",
                                            hasLease);
  if (code != SQLITE_OK) return session.failed(what, code);
  Statement row;
  code = session.connection().prepare(selectSql(hasLease.has_value()).c_str(), row);
  if (code != SQLITE_OK) return session.failed(what, code);
  const StatementUse use{row};
  row.bind(1, key.name);
  row.bind(2, key.sortKey);
  if (code = row.step(); code != SQLITE_ROW) return session.failed(what, code);
  return StoredTokens{row.bytes(0),
                      row.bytes(1),
                      row.bytes(2),
                      row.bytes(3),
                      row.bytes(4) == "released",
                      saturating::leaseOf(row.integer(5))};
}

int set(Session& session, const LeaseKey& key, FencingToken token) {
  SystemRandom random;
  const std::string version = uuid4(random);
  for (const Change& change : changes) {
    Statement statement;
    if (const int code = session.connection().prepare(change.sql, statement); code != SQLITE_OK) return code;
    statement.bind(1, key.name);
    statement.bind(2, key.sortKey);
    if (change.parameters >= 3) statement.bind(3, static_cast<std::int64_t>(token.value()));
    if (change.parameters >= 4) statement.bind(4, version);
    if (const int code = statement.run(); code != SQLITE_OK) return code;
  }
  return SQLITE_OK;
}

}  // namespace

StoreResult<StoredTokens> readTokens(Session& session, const LeaseKey& key) {
  if (auto refused = refusalOf(key)) return std::move(*refused);
  const StoreResult<bool> ready = session.open(Session::Need::existing);
  if (ready.has_error()) return ready.error();
  if (!*ready && session.hasLostTables()) return session.lostTables();
  if (!*ready) return StoredTokens{};
  return select(session, key, "reading the tokens of lease " + toString(key));
}

WriteOutcome setTokens(Session& session, const LeaseKey& key, const StoredTokens& expected, FencingToken token,
                       const Deadline& deadline) {
  if (auto refused = refusalOfRecovery(key, token)) return Rejected{std::move(*refused)};
  const StoreResult<bool> ready = session.open(Session::Need::existing);
  if (ready.has_error()) return Rejected{ready.error()};
  if (!*ready) return Rejected{session.error(ErrorClass::misconfigured, "there are no tables, so no tokens")};

  Transaction transaction{session, "setting the tokens of lease " + toString(key)};
  if (auto late = transaction.begin(deadline)) return Rejected{std::move(*late)};
  const auto found = select(session, key, transaction.what());
  if (found.has_error()) return Rejected{found.error()};
  if (*found != expected) return Conflict{};
  const auto living = session.sidecar().livingOther(session.files());
  if (living.has_error()) return Rejected{living.error()};
  if (!living->empty()) {
    return Rejected{session.error(ErrorClass::misconfigured,
                                  *living + " is locked, so a process that has used this store is still alive; end "
                                            "every candidate first (lslocks names the process)")};
  }
  if (const int code = set(session, key, token); code != SQLITE_OK) return Rejected{transaction.failed(code)};
  if (auto trouble = transaction.commit()) return std::move(*trouble);
  if (!session.filesUnchanged()) return Conflict{};  // set in a file that nobody reads any more
  session.sidecar().notify(session.files(), key);
  return Applied{token};
}

}  // namespace tenure::sqlite_store
