// One thread's connection to the store's database: opened when needed, checked before use, dropped after an error.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>

#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/store_error.hpp>
#include <tenure/lockcore/stores/sqlite_store.hpp>

#include "busy_wait.hpp"
#include "connection.hpp"
#include "file_identity.hpp"
#include "lock_holder.hpp"
#include "new_database.hpp"
#include "sidecar/sidecar.hpp"

namespace tenure::sqlite_store {

/// Statements that are prepared once and used at every call. Their parameters are described in session.cpp.
struct Statements {
  Statement begin, commit, rollback;
  Statement selectLease, listLeases, countLivenessFileUses;  // a reader has only these
  Statement insertLease, updateLease, correctLease, removeLease, setFence;
};

class Session {
 public:
  struct Options {
    std::string store;         ///< LeaseStore::describe(), the start of every message
    SqliteStoreOptions files;  ///< the path is absolute
    bool readsOnly{false};
    std::shared_ptr<Sidecar> sidecar{};  ///< not null
    Logger logger{};
  };

  /// `cancelled` ends waits for locks; it must outlive the object. `onFilesChanged` is called when the open files are
  /// not those that the path names any more, so that other sessions of the process check theirs too (see
  /// dropIfFilesChanged).
  Session(Options options, const std::atomic<bool>& cancelled, std::function<void()> onFilesChanged = {});
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  enum class Need {
    existing,  ///< never creates a file or tables
    create,    ///< creates what is missing
  };

  /// True: ready for statements. False: there is no database, or none with our tables (only with Need::existing). If
  /// the path names other files than the open ones, the open ones are closed and the new ones are opened. `asker` is
  /// the term for which a database would be created: a process does not wait for a term of its own.
  [[nodiscard]] StoreResult<bool> open(Need need, const TermName* asker = nullptr);

  /// Whether the open files are still those that the path names.
  [[nodiscard]] bool filesUnchanged() const noexcept { return opened_ && opened_->sameAs(files_); }

  /// To be called after each call. Where files were opened only for a look, it closes them. False: they changed
  /// meanwhile, so what was read may be of two moments.
  [[nodiscard]] bool endCall() noexcept;

  /// Connections of one process to one file share its -shm file. Without this, a session that has nothing to do would
  /// keep a deleted one in use.
  void dropIfFilesChanged() noexcept;

  /// The error for a failed step; drops the connection unless the fault leaves it usable.
  [[nodiscard]] StoreError failed(const std::string& what, int code);
  /// An error of our own making, with the store's name.
  [[nodiscard]] StoreError error(ErrorClass errorClass, const std::string& text) const;

  /// After open() returned false: some of our tables exist, but not all.
  [[nodiscard]] bool hasLostTables() const noexcept { return lostTables_; }
  /// The error for that state, with how it is repaired, for callers that act for an operator. A candidate's read
  /// reports no record instead.
  [[nodiscard]] StoreError lostTables() const;

  /// Closes the database. If the files are still the right ones and this was the last user, SQLite tidies up.
  void close() noexcept;

  /// Sets how long waits for locks may take; see BusyWait::Guard.
  [[nodiscard]] BusyWait& busyWait() noexcept { return busyWait_; }
  [[nodiscard]] Connection& connection() noexcept { return connection_; }
  [[nodiscard]] Statements& statements() noexcept { return statements_; }
  [[nodiscard]] const std::string& store() const noexcept { return options_.store; }
  [[nodiscard]] Sidecar& sidecar() noexcept { return *options_.sidecar; }
  /// Valid after open() returned a value.
  [[nodiscard]] const StoreFiles& files() const noexcept { return files_; }

 private:
  [[nodiscard]] StoreResult<bool> openOnce(Need need, const TermName* asker);
  [[nodiscard]] StoreResult<bool> makeDatabase(const TermName* asker);
  [[nodiscard]] StoreResult<bool> openFile(Need need);
  [[nodiscard]] StoreResult<bool> openAsOnlooker();
  [[nodiscard]] StoreResult<bool> prepareLook();
  [[nodiscard]] StoreError lookAtJournal(const StoreError& fault) const;
  void noteLookFault(int code) noexcept;
  void tellWideAccess();
  [[nodiscard]] StoreResult<bool> setUp(Need need);
  [[nodiscard]] StoreResult<void> useWal();
  [[nodiscard]] StoreResult<void> prepareStatements(bool hasOpenLease);
  [[nodiscard]] StoreResult<bool> knowOpenLeases();

  Options options_;
  BusyWait busyWait_;
  WriteLockHolder lockHolder_;
  std::function<void()> onFilesChanged_;
  NewDatabase newDatabase_;
  StoreFiles files_;
  std::optional<OpenedFiles> opened_;
  std::optional<SeenFiles> seen_;  ///< opened only for a look, until the end of the call
  std::shared_lock<std::shared_mutex> looking_;
  bool mustLookAgain_{false};
  bool toldRights_{false};
  bool lostTables_{false};
  bool unreadable_{false};       ///< there was a file at the last look, and SQLite could not read it
  bool knowsOpenLeases_{false};  ///< of the database that is open
  Connection connection_;        // before the statements, so that they are destroyed first
  Statements statements_;
};

}  // namespace tenure::sqlite_store
