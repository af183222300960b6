#include "transactions.hpp"

#include <cstdint>
#include <limits>
#include <utility>

#include <sqlite3.h>

#include <tenure/lockcore/lease_store.hpp>
#include <tenure/lockcore/store_checks.hpp>

#include "lockcore/port/key_place.hpp"
#include "transaction.hpp"

namespace tenure::sqlite_store {

namespace {

/// The conflict where a record was expected and there is none.
WriteOutcome conflictWith(const StoredLease& found) {
  StoreResult<std::optional<LeaseRecord>> told = found.told();
  if (told.has_error()) return Rejected{told.error()};
  return Conflict{std::move(*told)};
}

}  // namespace

StoreStatus ensureSchema(Session& session) {
  const StoreResult<bool> ready = session.open(Session::Need::create);
  if (ready.has_error()) return ready.error();
  return {};
}

ReadOutcome readLease(Session& session, const LeaseKey& key) {
  if (auto refused = refusalOf(key)) return std::move(*refused);
  const StoreResult<bool> ready = session.open(Session::Need::existing);
  if (ready.has_error()) return ready.error();
  if (!*ready) return std::optional<LeaseRecord>{};
  const StoreResult<StoredLease> found = selectLease(session, key, "reading lease " + toString(key));
  if (found.has_error()) return found.error();
  return found->told();
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

WriteOutcome askStepDown(Session& session, const LeaseKey& key, FencingToken token, const Deadline& deadline) {
  if (auto refused = refusalOf(key)) return Rejected{std::move(*refused)};
  const StoreResult<bool> ready = session.open(Session::Need::existing);
  if (ready.has_error()) return Rejected{ready.error()};
  if (!*ready && session.hasLostTables()) return Rejected{session.lostTables()};
  if (!*ready) return Conflict{std::optional<LeaseRecord>{}};

  Transaction transaction{session, "asking the holder of lease " + toString(key) + " to step down"};
  if (auto late = transaction.begin(deadline)) return Rejected{std::move(*late)};
  auto found = selectLease(session, key, transaction.what());
  if (found.has_error()) return Rejected{found.error()};
  if (!found->record) return conflictWith(*found);
  LeaseRecord& current = found->record->record;
  if (current.released || current.token != token) return Conflict{std::optional{std::move(current)}};

  Statement& ask = session.statements().askStepDown;
  ask.bind(1, key.name);
  ask.bind(2, key.sortKey);
  ask.bind(3, static_cast<std::int64_t>(token.value()));
  if (const int code = ask.run(); code != SQLITE_OK) return Rejected{transaction.failed(code)};
  if (auto trouble = transaction.commit()) return std::move(*trouble);
  if (!session.filesUnchanged()) return Conflict{};  // requested in a file that nobody reads any more
  return Applied{token, true};
}

namespace {

/// The row is removed, and its token stays in the counter, where it should be already. If the holder was not seen to
/// end its term, its lease stays there too, unless the counter belongs to a later term.
int removeRow(Session& session, const LeaseKey& key, const LeaseRecord& record, const StoredCounter& before) {
  StoredCounter after = before;
  if (record.token >= before.token) {
    after.token = record.token;
    after.openLease = record.released ? std::chrono::milliseconds{0} : std::max(before.openLease, record.leaseDuration);
  }
  if (const int code = setCounter(session, key, after); code != SQLITE_OK) return code;
  Statement& remove = session.statements().removeLease;
  remove.bind(1, key.name);
  remove.bind(2, key.sortKey);
  return remove.run();
}

}  // namespace

WriteOutcome removeLease(Session& session, const LeaseKey& key, const RecordVersion& version,
                         const Deadline& deadline) {
  if (auto refused = refusalOf(key)) return Rejected{std::move(*refused)};
  const StoreResult<bool> ready = session.open(Session::Need::existing);
  if (ready.has_error()) return Rejected{ready.error()};
  if (!*ready) return Conflict{std::optional<LeaseRecord>{}};

  Transaction transaction{session, "removing the record of lease " + toString(key)};
  if (auto late = transaction.begin(deadline)) return Rejected{std::move(*late)};
  auto found = selectLease(session, key, transaction.what());
  if (found.has_error()) return Rejected{found.error()};
  if (!found->record) return conflictWith(*found);
  LeaseRecord& current = found->record->record;
  if (current.version != version) return Conflict{std::optional{std::move(current)}};
  if (found->counter.has_error()) return Rejected{found->counter.error()};
  if (const int code = removeRow(session, key, current, found->counter->value_or(StoredCounter{})); code != SQLITE_OK) {
    return Rejected{transaction.failed(code)};
  }
  if (auto trouble = transaction.commit()) return std::move(*trouble);
  if (!session.filesUnchanged()) return Conflict{};  // removed from a file that nobody reads any more
  session.sidecar().notify(session.files(), key);
  return Applied{current.token};
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
