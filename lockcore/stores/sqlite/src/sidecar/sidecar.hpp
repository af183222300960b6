// The files that the store keeps beside its database: the only header of this folder that the rest of the store
// includes.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/store_error.hpp>
#include <tenure/lockcore/stores/sqlite_store.hpp>

#include "lockcore/liveness/liveness_file.hpp"
#include "lockcore/liveness/local_death_notice.hpp"
#include "lockcore/port/extended_store.hpp"
#include "lockcore/runtime/file_rights.hpp"
#include "lockcore/runtime/unique_fd.hpp"
#include "lockcore/runtime/watch_thread.hpp"
#include "lockcore/stores/sqlite/src/busy_wait.hpp"
#include "lockcore/stores/sqlite/src/file_identity.hpp"

namespace tenure::sqlite_store {

class LossWatch;
using liveness::TermName;

/// Held while a database is created or leftovers are removed, so that nobody takes a fresh log for a leftover. It is a
/// flock on a file in the directory, and ends with the object or the process. Belongs to one thread.
class CreationLock {
 public:
  /// Waits as a call waits for the database's lock. Returns 0 or an errno; EWOULDBLOCK: the call's time is over.
  /// `rights`: of the file, if it is made.
  [[nodiscard]] int take(const StoreFiles& files, const FileRights& rights, BusyWait& wait);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// "process 4711 (backup)", after EWOULDBLOCK.
  [[nodiscard]] std::string holder() const;

  // Only after take(). Return 0 or an errno.

  /// The mark of the last creation (NewDatabaseRule); empty if there was none.
  [[nodiscard]] int readMark(std::string& mark) const;
  [[nodiscard]] int writeMark(const std::string& mark) const;

 private:
  std::string path_;
  UniqueFd fd_;
};

/// The longest lease that somebody may hold, and who that is, for people; 0: nobody may hold one.
struct LongestLease {
  std::chrono::milliseconds lease{0};
  std::string of{};
};

/// One store's part in the directory beside the database (StoreFiles::sidecar), which all processes of the host share:
/// liveness files, notification files, the lock for creating a database. The directory is
/// hidden, so that `rm NAME*` does not remove it together with the database. It is made when it is first needed, and no
/// record is in it. A process whose liveness file was deleted is not proven dead any more, and nobody waits for it if
/// the database is deleted too.
///
/// It also watches the database's own files, because one thread ("tenure-watch") watches for all. The functions are
/// thread-safe; they are grouped by who asks. `files` are those of the caller's Session::files().
class Sidecar final {
 public:
  /// Does nothing yet. The options' path is absolute.
  Sidecar(std::string store, const SqliteStoreOptions& options, Logger logger);
  ~Sidecar();
  Sidecar(const Sidecar&) = delete;
  Sidecar& operator=(const Sidecar&) = delete;

  // Users and electors, on any thread. They leave their work to the watch thread, which calls the functions that they
  // were given.

  [[nodiscard]] DeathNotice& deathNotice() noexcept { return deaths_; }
  /// LeaseStore::watch().
  [[nodiscard]] std::shared_ptr<void> watch(const LeaseKey& key, std::function<void()> hint);
  /// LeaseStore::watchLoss(). The first call arms two watches, and a hint follows. A later call costs no system call,
  /// and is told of later losses only.
  [[nodiscard]] std::shared_ptr<void> watchLoss(const std::function<void()>& hint);
  /// The end of the watch thread; see WatchThread::stop(). To be called before the object is destroyed.
  void stop();

  /// Until this was called, the store was only asked to look, and makes no file.
  void willWrite() noexcept { writes_->store(true); }
  [[nodiscard]] bool writes() const noexcept { return writes_->load(); }

  // The writer, for each write.

  /// Step H1 of NewDatabaseRule, to be called before a write of this term with this lease is committed. A system call
  /// only if the liveness file states a shorter lease, or does not exist yet. True: the term was not open.
  [[nodiscard]] StoreResult<bool> openTerm(const TermName& term, std::chrono::milliseconds lease) {
    return deaths_.own().openTerm(term, lease);
  }
  /// The term is over or has never begun.
  void endTerm(const TermName& term) noexcept { deaths_.own().endTerm(term); }
  /// Tells all processes that a change of the lease was committed. Opens and closes one file. Never fails: whoever
  /// misses it polls.
  void notify(const StoreFiles& files, const LeaseKey& key) const noexcept;

  // The writer, where there is no database, or for an operator. These go through all liveness files: three or four
  // system calls for each.

  /// Makes the directory if it is missing, and waits for the lock as a call waits for the database's lock.
  [[nodiscard]] StoreResult<CreationLock> lockCreation(const StoreFiles& files, BusyWait& wait) const;
  /// Step N3 of NewDatabaseRule: of the other living processes, and of this store's terms except `asker` (null: of all
  /// of them). An error: it cannot be determined.
  [[nodiscard]] StoreResult<LongestLease> longestLease(const StoreFiles& files, const TermName* asker) const;
  /// The liveness file of another store that lives, or that cannot be checked; empty if there is none.
  [[nodiscard]] StoreResult<std::string> livingOther(const StoreFiles& files) const;

  // The reader, at most once in some seconds.

  /// Removes what dead processes left, except the liveness files to which a record refers.
  static void sweep(const StoreFiles& files,
                    const std::function<bool(const std::string& livenessFileId)>& isReferredTo);

 private:
  const std::string store_;
  const SqliteStoreOptions options_;
  const std::shared_ptr<std::atomic<bool>> writes_ = std::make_shared<std::atomic<bool>>(false);
  const std::shared_ptr<LossWatch> losses_;
  const std::shared_ptr<LossWatch> logLosses_;
  std::mutex lossMutex_;
  std::shared_ptr<void> lossWatching_;  ///< guarded by lossMutex_, as the next; set once a holder asks
  std::shared_ptr<void> logLossWatching_;
  WatchThread watches_;
  liveness::LocalDeathNotice deaths_;
};

/// A liveness file that exists and that this user may not read, or the directory if it may not even be listed; empty:
/// none.
[[nodiscard]] std::string unreadableLivenessFile(const StoreFiles& files);

}  // namespace tenure::sqlite_store
