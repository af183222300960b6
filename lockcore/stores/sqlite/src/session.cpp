#include "session.hpp"

#include <array>
#include <cerrno>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include <sqlite3.h>

#include "access.hpp"
#include "errors.hpp"
#include "filesystem_checks.hpp"
#include "new_database.hpp"
#include "record_codec.hpp"
#include "schema.hpp"

namespace tenure::sqlite_store {
namespace {

struct Prepared {
  Statement Statements::*statement;
  std::string sql;
};

/// A connection that looks has the -shm file open only to read, and SQLite gives all connections of a process the same
/// one. So none that writes may be opened meanwhile.
std::shared_mutex& gateOfLooks() {
  static detail::PerProcess<std::shared_mutex> gate;  // in a forked child nobody would open that of the parent
  return gate.get();
}

/// Where the column does not exist, no term was ever recorded as open.
std::array<Prepared, 3> readingStatements(bool hasOpenLease) {
  const std::string columns = recordColumns;
  return {{
      // Always one row, whatever exists, so that record and counter are read at one moment.
      {&Statements::selectLease, std::string{"SELECT fence.name IS NOT NULL, fence.token, "} +
                                     (hasOpenLease ? "fence.lease_ms" : "NULL") + ", lease.name IS NOT NULL, " +
                                     columns +
                                     " FROM (SELECT 1)"
                                     " LEFT JOIN tenure_fence AS fence ON fence.name = ?1 AND fence.sort_key = ?2"
                                     " LEFT JOIN tenure_lease AS lease ON lease.name = ?1 AND lease.sort_key = ?2"},
      {&Statements::listLeases, "SELECT lease.name, lease.sort_key, coalesce(fence.token, 0), " + columns +
                                    " FROM tenure_lease AS lease LEFT JOIN tenure_fence AS fence"
                                    " ON fence.name = lease.name AND fence.sort_key = lease.sort_key"
                                    " WHERE (lease.name, lease.sort_key) >= (?1, ?2)"
                                    " ORDER BY lease.name, lease.sort_key"},
      {&Statements::countLivenessFileUses, "SELECT count(*) FROM tenure_lease WHERE beacon_id = ?1 AND state = 'held'"},
  }};
}

std::array<Prepared, 8> writingStatements() {
  return {{
      {&Statements::begin, "BEGIN IMMEDIATE"},
      {&Statements::commit, "COMMIT"},
      {&Statements::rollback, "ROLLBACK"},
      {&Statements::insertLease,
       "INSERT INTO tenure_lease(name, sort_key, state, holder, token, lease_ms, record_version, acquired_at_ms,"
       " renewed_at_ms, beacon_id, beacon_device, beacon_inode, boot_id, data, attributes, step_down_token)"
       " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)"},
      {&Statements::updateLease,
       "UPDATE tenure_lease SET state = ?3, holder = ?4, token = ?5, lease_ms = ?6, record_version = ?7,"
       " acquired_at_ms = ?8, renewed_at_ms = ?9, beacon_id = ?10, beacon_device = ?11, beacon_inode = ?12,"
       " boot_id = ?13, data = coalesce(?14, data), attributes = coalesce(?15, attributes), step_down_token = ?16"
       " WHERE name = ?1 AND sort_key = ?2"},
      {&Statements::correctLease,
       "UPDATE tenure_lease SET token = ?3, state = 'released', record_version = ?4, step_down_token = NULL,"
       " beacon_id = NULL, beacon_device = NULL, beacon_inode = NULL, boot_id = NULL WHERE name = ?1 AND sort_key = "
       "?2"},
      {&Statements::removeLease, "DELETE FROM tenure_lease WHERE name = ?1 AND sort_key = ?2"},
      {&Statements::setFence,
       "INSERT INTO tenure_fence(name, sort_key, token, lease_ms) VALUES(?1, ?2, ?3, ?4)"
       " ON CONFLICT(name, sort_key) DO UPDATE SET token = ?3, lease_ms = ?4"},
  }};
}

}  // namespace

Session::Session(Options options, const std::atomic<bool>& cancelled, std::function<void()> onFilesChanged)
    : options_{std::move(options)},
      busyWait_{cancelled},
      onFilesChanged_{std::move(onFilesChanged)},
      newDatabase_{options_.store, options_.sidecar},
      looking_{gateOfLooks(), std::defer_lock} {
  busyWait_.atHalfTime([this](std::chrono::nanoseconds atMost) { lockHolder_.search(files_, atMost); });
}

StoreResult<bool> Session::open(Need need, const TermName* asker) {
  if (seen_) static_cast<void>(endCall());
  const bool replaced = opened_ && !filesUnchanged();
  if (opened_) {
    if (!replaced) return knowOpenLeases();
    const OpenedFiles before = *opened_;
    close();
    removeLogOfReplacedDatabase(files_, before, busyWait_);
    if (onFilesChanged_) onFilesChanged_();
  }
  for (int round = 0;; ++round) {
    StoreResult<bool> ready = openOnce(need, asker);
    if (ready.has_error() || !*ready) {
      close();
      // While the other session of this process still has the previous files open, the new ones read as nonsense.
      const bool passes = ready.has_error() && ready.error().errorClass == ErrorClass::transient;
      if (replaced && unreadable_ && passes && busyWait_.step(round)) continue;
      return ready;
    }
    if (seen_) return true;
    auto found = OpenedFiles::look(files_);
    // The file has not moved since the look, so the file that was looked at is the one that is open.
    if (found && !connection_.hasMoved()) {
      opened_ = found;
      shareLogWithGroup(files_);
      tellWideAccess();
      return true;
    }
    close();
    // Somebody is deleting or exchanging the files, or another session of this process still has the old ones open.
    if (onFilesChanged_) onFilesChanged_();
    if (!busyWait_.step(round)) break;
  }
  return error(ErrorClass::transient, "the file was replaced while it was being opened");
}

StoreResult<bool> Session::openOnce(Need need, const TermName* asker) {
  const Access access = options_.readsOnly ? Access::reads : Access::writes;
  StoreResult<CheckedFiles> checked = checkFiles(options_.store, options_.files.path, access);
  if (checked.has_error()) return checked.error();
  files_ = std::move(checked->files);
  unreadable_ = false;
  lostTables_ = false;
  const bool looks = options_.readsOnly && !(checked->mayWrite && options_.sidecar->writes());
  if (looks) return checked->exists ? openAsOnlooker() : false;
  if (checked->exists) {
    StoreResult<bool> found = openFile(Need::existing);
    unreadable_ = found.has_error();
    if (unreadable_ || *found) return found;
  }
  if (need == Need::existing) return false;
  close();
  return makeDatabase(asker);
}

/// No file, or none of our tables in it: other processes may find out the same now, and somebody may still lead in the
/// database that was there before.
StoreResult<bool> Session::makeDatabase(const TermName* asker) {
  StoreResult<CreationLock> lock = options_.sidecar->lockCreation(files_, busyWait_);
  if (lock.has_error()) return lock.error();
  if (identityOf(files_.database)) {
    StoreResult<bool> found = openFile(Need::existing);
    if (found.has_error() || *found) return found;
    close();
  }
  if (auto refused = newDatabase_.errorOf(files_, *lock, asker)) return std::move(*refused);
  removeLogOfMissingDatabase(files_);
  if (!identityOf(files_.database)) {
    if (auto fault = makeDatabaseFile(options_.store, files_, options_.files)) return std::move(*fault);
  }
  return openFile(Need::create);
}

StoreResult<bool> Session::openFile(Need need) {
  std::unique_lock opening{gateOfLooks(), std::defer_lock};
  for (int round = 0; !opening.try_lock(); ++round) {
    if (!busyWait_.step(round)) return error(ErrorClass::transient, "looks at the file took all of the call's time");
  }
  if (const int code = connection_.open(files_.database, need == Need::create); code != SQLITE_OK) {
    // It was there a moment ago; the next call sees what became of it.
    if (need == Need::existing && !identityOf(files_.database)) return false;
    return failed("opening " + files_.database, code);
  }
  busyWait_.installOn(connection_.raw());
  if (connection_.isReadOnly()) {
    return error(ErrorClass::misconfigured, files_.database + " can only be opened for reading; make it writable");
  }
  StoreResult<bool> ready = setUp(need);
  if (!ready.has_error() && *ready) newDatabase_.sawOne();
  return ready;
}

/// Nothing is created and nothing is changed. While others have the file open, their -shm file says what is in the log.
/// After a crash of all, SQLite reads the log that they left without changing either.
StoreResult<bool> Session::openAsOnlooker() {
  constexpr int indexRounds = 12;  // both files are there, except for a moment at the first opening and the last end
  for (int round = 0;; ++round) {
    if (looking_.try_lock()) {
      seen_ = SeenFiles::look(files_);
      if (!seen_) return false;
      if (!seen_->lacksIndex()) {
        StoreResult<bool> ready = prepareLook();
        if (!ready.has_error()) return ready;
        if (!std::exchange(mustLookAgain_, false) && seen_->sameAs(files_))
          return seen_->hasJournal() ? lookAtJournal(ready.error()) : ready.error();
      } else if (round >= indexRounds) {
        return error(ErrorClass::misconfigured,
                     files_.wal + " is there and " + files_.shm +
                         " is missing, without which the log cannot be read, and a read makes no file; the next "
                         "candidate makes it (tenure run)");
      }
      close();
    }
    if (!busyWait_.step(round)) return error(ErrorClass::transient, "the files were changed while they were read");
  }
}

/// The error of a look that found a journal and did not read the database.
StoreError Session::lookAtJournal(const StoreError& fault) const {
  if (fault.errorClass != ErrorClass::misconfigured) return fault;
  return error(
      ErrorClass::misconfigured,
      files_.database +
          "-journal holds a change that a crash left half done, and a read changes no file; the next candidate "
          "undoes it (tenure run)");
}

StoreResult<bool> Session::prepareLook() {
  if (const int code = connection_.openToRead(files_.database, seen_->isAtRest()); code != SQLITE_OK) {
    return failed("opening " + files_.database + " for reading", code);
  }
  busyWait_.installOn(connection_.raw());
  const StoreResult<Schema> schema = lookAtSchema(options_.store, connection_);
  if (schema.has_error()) {
    noteLookFault(connection_.lastCode());
    return schema.error();
  }
  lostTables_ = schema->partial;
  if (!schema->complete) return false;
  if (auto done = prepareStatements(schema->hasOpenLease); done.has_error()) return done.error();
  return true;
}

/// A writer that died can leave a -shm file that must be made anew. A look cannot, while other looks have it open, and
/// reads the log alone once they are gone. And a log may go and come while it is opened, with the same inode.
void Session::noteLookFault(int code) noexcept {
  const bool isGone = (code & 0xFF) == SQLITE_CANTOPEN && connection_.lastErrno() == ENOENT;
  const bool isUnready = (code & 0xFF) == SQLITE_READONLY && code != SQLITE_READONLY_ROLLBACK;
  mustLookAgain_ = seen_ && (isGone || isUnready);
}

bool Session::endCall() noexcept {
  if (!seen_) return true;
  const bool one = !std::exchange(mustLookAgain_, false) && seen_->sameAs(files_);
  close();
  seen_.reset();
  return one;
}

void Session::tellWideAccess() {
  if (options_.readsOnly || std::exchange(toldRights_, true)) return;
  const std::string wide = wideAccess(files_, options_.files);
  if (!wide.empty()) options_.logger.log(LogLevel::warn, options_.store + ": " + wide);
}

StoreResult<bool> Session::setUp(Need need) {
  if (const int code = connection_.run("PRAGMA synchronous = FULL"); code != SQLITE_OK) {
    return failed("opening " + files_.database, code);
  }
  StoreResult<Schema> schema = lookAtSchema(options_.store, connection_);
  if (schema.has_error()) return schema.error();
  lostTables_ = schema->partial;
  if (!schema->complete && need == Need::existing) return false;
  if (auto done = useWal(); done.has_error()) return done.error();
  const bool upgrade = !options_.readsOnly && !schema->hasOpenLease;
  if (!schema->complete || upgrade) {
    if (auto done = createSchema(options_.store, connection_); done.has_error()) return done.error();
    // Another process may have been quicker, and may have another version.
    if (schema = lookAtSchema(options_.store, connection_); schema.has_error()) return schema.error();
  }
  if (auto done = prepareStatements(schema->hasOpenLease); done.has_error()) return done.error();
  if (!options_.readsOnly) return true;
  if (const int code = connection_.run("PRAGMA query_only = ON"); code != SQLITE_OK) {
    return failed("opening " + files_.database, code);
  }
  return true;
}

/// A process that may write adds the column as soon as it opens a file of an older release, even while others read the
/// file.
StoreResult<bool> Session::knowOpenLeases() {
  if (knowsOpenLeases_) return true;
  StoreResult<Schema> schema = lookAtSchema(options_.store, connection_);
  if (schema.has_error()) {
    close();
    return schema.error();
  }
  if (!schema->complete || !schema->hasOpenLease) return schema->complete;
  if (auto done = prepareStatements(true); done.has_error()) return done.error();
  return true;
}

StoreResult<void> Session::useWal() {
  std::optional<std::string> mode;
  int code = SQLITE_BUSY;
  // SQLite does not call the busy handler when the change of the mode would need an exclusive lock.
  for (int round = 0; (code & 0xFF) == SQLITE_BUSY; ++round) {
    code = connection_.queryText("PRAGMA journal_mode = WAL", mode);
    if ((code & 0xFF) == SQLITE_BUSY && !busyWait_.step(round)) break;
  }
  // The first read creates the -wal and -shm files, whose identity is recorded next.
  std::optional<std::string> ignored;
  if (code == SQLITE_OK) code = connection_.queryText("SELECT count(*) FROM sqlite_schema", ignored);
  if (code != SQLITE_OK) return failed("opening " + files_.database, code);
  if (mode == "wal") return {};
  return error(ErrorClass::misconfigured,
               files_.database + " cannot be switched to write-ahead logging (journal mode " +
                   mode.value_or("unknown") + "); put the file on a local disk, or use a separate file for tenure");
}

StoreResult<void> Session::prepareStatements(bool hasOpenLease) {
  int code = SQLITE_OK;
  const auto prepare = [&](const auto& all) {
    for (const auto& [statement, sql] : all) {
      if (code == SQLITE_OK) code = connection_.prepare(sql.c_str(), statements_.*statement);
    }
  };
  prepare(readingStatements(hasOpenLease));
  if (!options_.readsOnly) prepare(writingStatements());
  if (code != SQLITE_OK) return failed("preparing statements", code);
  knowsOpenLeases_ = hasOpenLease;
  return {};
}

StoreError Session::failed(const std::string& what, int code) {
  StoreError out = sqliteError(options_.store, what, code, connection_);
  noteLookFault(code);
  if ((code & 0xFF) == SQLITE_BUSY || code == SQLITE_PROTOCOL) {
    const std::string holder = lockHolder_.text(files_);
    out.message = options_.store + ": " + what + ": the database stayed locked until the call timed out" +
                  (holder.empty() ? std::string{} : "; the lock is held by " + holder);
  }
  if (!connectionSurvives(code)) close();
  return out;
}

StoreError Session::error(ErrorClass errorClass, const std::string& text) const {
  return {errorClass, options_.store + ": " + text};
}

StoreError Session::lostTables() const {
  return error(
      ErrorClass::misconfigured,
      "one of tenure's tables (tenure_lease, tenure_fence or tenure_meta) was dropped. A candidate makes it again "
      "at its next acquisition, once no lease can still be held. Or put a backup back while no candidate runs");
}

void Session::dropIfFilesChanged() noexcept {
  if (opened_ && !filesUnchanged()) close();
}

void Session::close() noexcept {
  // The open database may not be the one that others see. Then writing it back, or deleting "its" -wal by name, would
  // damage the files that are there now.
  if (!filesUnchanged()) connection_.leaveFilesAloneOnClose();
  statements_ = {};
  connection_ = {};
  opened_.reset();
  if (looking_.owns_lock()) looking_.unlock();
}

}  // namespace tenure::sqlite_store
