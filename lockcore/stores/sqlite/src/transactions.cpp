#include "transactions.hpp"

#include <cstdint>
#include <limits>
#include <utility>

#include <sqlite3.h>

#include <tenure/lockcore/lease_store.hpp>

#include "lockcore/port/random_draws.hpp"
#include "lockcore/port/saturating_time.hpp"
#include "lockcore/port/store_checks.hpp"
#include "lockcore/port/stored_key.hpp"
#include "lockcore/runtime/system_random.hpp"
#include "record_codec.hpp"
#include "transaction.hpp"

namespace tenure::sqlite_store {

StoreStatus ensureSchema(Session& session) {
  const StoreResult<bool> ready = session.open(Session::Need::create);
  if (ready.has_error()) return ready.error();
  return {};
}

ReadOutcome readLease(Session& session, const LeaseKey& key) {
  if (auto refused = errorOf(key)) return std::move(*refused);
  const StoreResult<bool> ready = session.open(Session::Need::existing);
  if (ready.has_error()) return ready.error();
  if (!*ready) return std::optional<LeaseRecord>{};
  const auto found = selectLease(session, key, "reading lease " + toString(key));
  if (found.has_error()) return found.error();
  return found->answer();
}

namespace {

/// The leases with the prefix, from `first` on, at most `most` of them.
PageOutcome listFrom(Session& session, const std::string& prefix, const LeaseKey& first, std::size_t most) {
  const StoreResult<bool> ready = session.open(Session::Need::existing);
  if (ready.has_error()) return ready.error();
  ListPage page;
  if (!*ready && session.hasLostTables()) return session.lostTables();
  if (!*ready) return page;
  Statement& list = session.statements().listLeases;
  const StatementUse use{list};
  list.bind(1, first.name);
  list.bind(2, first.sortKey);
  int code = list.step();
  for (; code == SQLITE_ROW; code = list.step()) {
    LeaseKey key{list.bytes(0), list.bytes(1)};
    if (!key.name.starts_with(prefix)) return page;  // in the order of bytes, so no later one does
    if (page.leases.size() == most) {
      page.next = placeOf(key);
      return page;
    }
    const std::int64_t counter = list.integer(2);
    auto record = recordFrom(session.store(), key, list, 3);
    if (record.has_error()) {
      page.leases.push_back({std::move(key), record.error()});
    } else {
      const FencingToken token = record->record.token;
      const std::string stored = counter == 0 ? std::string{} : std::to_string(counter);
      std::string warning = disagreementIn({.counter = stored, .copy = toString(token)});
      page.leases.push_back({std::move(key), std::move(record->record), std::move(warning)});
    }
  }
  if (code != SQLITE_DONE) return session.failed("listing leases", code);
  return page;
}

}  // namespace

ListOutcome listLeases(Session& session, const std::string& prefix) {
  PageOutcome all = listFrom(session, prefix, {prefix, ""}, std::numeric_limits<std::size_t>::max());
  if (all.has_error()) return all.error();
  return std::move(all->leases);
}

PageOutcome listPage(Session& session, const std::string& prefix, const std::string& from) {
  if (from.empty()) return listFrom(session, prefix, {prefix, ""}, leasesOfAPage);
  const std::optional<LeaseKey> first = keyAt(from);
  if (!first) {
    return StoreError{ErrorClass::misconfigured,
                      session.store() + ": \"" + from + "\" is not a place in a listing; give the `next` of a page"};
  }
  return listFrom(session, prefix, *first, leasesOfAPage);
}

namespace {

/// What an operator asks for. Nothing is created for it.
WriteOutcome change(Session& session, const LeaseKey& key, const std::string& what, const Deadline& deadline,
                    const stored::Decide& decide) {
  const StoreResult<bool> ready = session.open(Session::Need::existing);
  if (ready.has_error()) return Rejected{ready.error()};
  if (!*ready && session.hasLostTables()) return Rejected{session.lostTables()};
  if (!*ready) return Conflict{std::optional<LeaseRecord>{}};
  Transaction transaction{session, what};
  if (auto late = transaction.begin(deadline)) return Rejected{std::move(*late)};
  WriteOutcome outcome = decideAndWrite(session, key, what, decide);
  if (!std::holds_alternative<Applied>(outcome)) return outcome;
  if (auto fault = transaction.commit()) return *std::move(fault);
  if (!session.filesUnchanged()) return Conflict{};  // done in a file that nobody reads any more
  session.sidecar().notify(session.files(), key);
  return outcome;
}

}  // namespace

WriteOutcome askStepDown(Session& session, const LeaseKey& key, const StepDownRequest& request,
                         const Deadline& deadline) {
  if (auto refused = errorOf(key, request)) return Rejected{std::move(*refused)};
  return change(session, key, "asking the holder of lease " + toString(key) + " to step down", deadline,
                [&request](const stored::StoredLease& lease) { return stored::decideStepDown(request, lease); });
}

WriteOutcome removeLease(Session& session, const LeaseKey& key, const RecordVersion& version,
                         const Deadline& deadline) {
  if (auto refused = errorOf(key)) return Rejected{std::move(*refused)};
  return change(session, key, "removing the record of lease " + toString(key), deadline,
                [&](const stored::StoredLease& lease) { return stored::decideRemoval(version, lease); });
}

namespace {

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

StoreResult<StoredTokens> selectTokens(Session& session, const LeaseKey& key, const std::string& what) {
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

/// `Rejected` while another process uses the store: it may be a holder.
stored::Decision refusedBy(Session& session, const std::string& livingFile) {
  return WriteOutcome{Rejected{session.error(
      ErrorClass::misconfigured, livingFile + " is locked, so a process that has used this store is still alive; end "
                                              "every candidate first (lslocks names the process)")}};
}

}  // namespace

StoreResult<StoredTokens> readTokens(Session& session, const LeaseKey& key) {
  if (auto refused = errorOf(key)) return std::move(*refused);
  const StoreResult<bool> ready = session.open(Session::Need::existing);
  if (ready.has_error()) return ready.error();
  if (!*ready && session.hasLostTables()) return session.lostTables();
  if (!*ready) return StoredTokens{};
  return selectTokens(session, key, "reading the tokens of lease " + toString(key));
}

WriteOutcome setTokens(Session& session, const LeaseKey& key, const StoredTokens& expected, FencingToken token,
                       const Deadline& deadline) {
  if (auto refused = errorOfRecovery(key, token)) return Rejected{std::move(*refused)};
  const std::string what = "setting the tokens of lease " + toString(key);
  return change(session, key, what, deadline, [&](const stored::StoredLease&) -> stored::Decision {
    SystemRandom random;
    auto decision = stored::decideTokens(selectTokens(session, key, what), expected, token, uuid4(random));
    if (!std::holds_alternative<stored::Change>(decision)) return decision;
    const auto living = session.sidecar().livingOther(session.files());
    if (living.has_error()) return WriteOutcome{Rejected{living.error()}};
    return living->empty() ? decision : refusedBy(session, *living);
  });
}

namespace {

/// Whether a record that is held names this liveness file. True also if it cannot be determined.
bool isReferredTo(Session& session, const std::string& livenessFileId) {
  Statement& count = session.statements().countLivenessFileUses;
  const StatementUse use{count};
  count.bind(1, livenessFileId);
  return count.step() != SQLITE_ROW || count.integer(0) != 0;
}

}  // namespace

void sweepSidecar(Session& session) {
  const StoreResult<bool> ready = session.open(Session::Need::existing);
  if (ready.has_error() || !*ready) return;
  Sidecar::sweep(session.files(),
                 [&](const std::string& livenessFileId) { return isReferredTo(session, livenessFileId); });
}

}  // namespace tenure::sqlite_store
