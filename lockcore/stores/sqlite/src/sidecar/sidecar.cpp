#include "sidecar.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "lockcore/runtime/directory.hpp"
#include "lockcore/runtime/system_error.hpp"
#include "lockcore/stores/sqlite/src/access.hpp"
#include "lockcore/stores/sqlite/src/filesystem_checks.hpp"
#include "lockcore/stores/sqlite/src/lock_holder.hpp"
#include "loss_watch.hpp"
#include "wake_files.hpp"

namespace tenure::sqlite_store {
namespace {

using std::chrono::milliseconds;

/// The path is checked again at each use.
liveness::LivenessFilePlace placeBeside(const std::string& store, const SqliteStoreOptions& options) {
  return {store,
          [store, path = options.path]() -> StoreResult<std::string> {
            StoreResult<CheckedFiles> checked = checkFiles(store, path, Access::reads);
            if (checked.has_error()) return checked.error();
            return std::move(checked->files.sidecar);
          },
          [options] { return rightsBeside(options.path, options); }};
}

/// The liveness files of living processes except this store's own, and the longest lease among them.
class OthersLivenessFiles {
 public:
  OthersLivenessFiles(const std::string& store, std::string directory, std::string ownId)
      : store_{store}, directory_{std::move(directory)}, ownId_{std::move(ownId)} {}

  [[nodiscard]] StoreResult<LongestLease> longest() {
    std::vector<std::string> names;
    // A file that cannot be checked may belong to a living holder.
    if (const int fault = namesIn(directory_, liveness::livenessFilePrefix, names); fault != 0 && fault != ENOENT) {
      return systemError(store_, "looking for liveness files in " + directory_, fault);
    }
    for (const std::string& name : names) {
      const std::string id = name.substr(liveness::livenessFilePrefix.size());
      if (!liveness::isLivenessFileId(id) || id == ownId_) continue;
      if (auto fault = look(directory_ + '/' + name)) return std::move(*fault);
    }
    return longest_;
  }

 private:
  std::optional<StoreError> look(const std::string& path) {
    const UniqueFd livenessFile = liveness::openLivenessFileToLook(path);
    const int fault = livenessFile ? 0 : errno;
    // Its store has ended in an orderly way, or the sweep removed it; or it is no liveness file but something else of
    // that name.
    if (fault == ENOENT || fault == ELOOP || fault == EINVAL) return std::nullopt;
    if (fault != 0) {
      return systemError(store_,
                         "checking whether the process of liveness file " + path + " of " + ownerText(path) +
                             " is alive (candidates of several users need store.group and store.mode 0660)",
                         fault);
    }
    if (liveness::probeLivenessFile(livenessFile) == liveness::LockState::free) return std::nullopt;
    int readFault = 0;
    const std::optional<milliseconds> lease = liveness::statedLease(livenessFile, readFault);
    const std::string process = describeFlockHolder(livenessFile);
    if (readFault != 0) return systemError(store_, "reading liveness file " + path + " of " + process, readFault);
    if (!lease) return unstated(path, process);
    if (*lease > longest_.lease) longest_ = {*lease, process};
    return std::nullopt;
  }

  [[nodiscard]] StoreError unstated(const std::string& path, const std::string& process) const {
    return {ErrorClass::transient,
            store_ + ": there is no database (or its tables were dropped), and no new one is made while " + process +
                " lives. Its liveness file " + path +
                " does not say how long a lease it may hold, because it runs an older release of tenure. End the "
                "processes of the older release that use this database; then a new one is made"};
  }

  const std::string& store_;
  const std::string directory_;
  const std::string ownId_;
  LongestLease longest_;
};

/// A liveness file that another process holds, or that cannot be checked; empty if there is none. A directory that
/// cannot be read is no proof that no process lives.
StoreResult<std::string> livingLivenessFileOfOthers(const std::string& store, const std::string& directory,
                                                    const std::string& ownId) {
  std::vector<std::string> names;
  const int fault = namesIn(directory, liveness::livenessFilePrefix, names);
  if (fault == ENOENT) return std::string{};
  for (const std::string& name : names) {
    if (name.substr(liveness::livenessFilePrefix.size()) == ownId) continue;
    const std::string path = directory + '/' + name;
    const UniqueFd livenessFile = liveness::openLivenessFileToLook(path);
    if (!livenessFile && errno == ENOENT) continue;
    if (!livenessFile || liveness::probeLivenessFile(livenessFile) == liveness::LockState::held) return path;
  }
  if (fault != 0) {
    return StoreError{ErrorClass::transient, store + ": looking into " + directory + ": " + errnoText(fault)};
  }
  return std::string{};
}

/// Whether a process lives whose liveness file states no lease.
bool olderReleaseLives(const std::string& directory) {
  for (const std::string& name : namesIn(directory, liveness::livenessFilePrefix)) {
    const UniqueFd livenessFile = liveness::openLivenessFileToLook(directory + '/' + name);
    int fault = 0;
    if (livenessFile && liveness::probeLivenessFile(livenessFile) == liveness::LockState::held &&
        !liveness::statedLease(livenessFile, fault))
      return true;
  }
  return false;
}

}  // namespace

std::string unreadableLivenessFile(const StoreFiles& files) {
  std::vector<std::string> names;
  const int fault = namesIn(files.sidecar, liveness::livenessFilePrefix, names);
  if (fault == EACCES) return files.sidecar;
  for (const std::string& name : names) {
    std::string path = files.sidecar + '/' + name;
    if (!liveness::openLivenessFileToLook(path) && errno == EACCES) return path;
  }
  return {};
}

std::string CreationLock::holder() const { return describeFlockHolder(fd_); }

int CreationLock::take(const StoreFiles& files, const FileRights& rights, BusyWait& wait) {
  path_ = files.sidecar + "/creation-lock";
  fd_ = fileWithRights(path_, O_RDWR | O_CLOEXEC, rights);
  if (!fd_) return errno;
  for (int round = 0; flock(fd_.get(), LOCK_EX | LOCK_NB) != 0; ++round) {
    const int fault = errno;
    if (fault != EWOULDBLOCK || !wait.step(round)) return fault;
  }
  return 0;
}

int CreationLock::readMark(std::string& mark) const {
  std::array<char, 64> text{};
  const ssize_t size = pread(fd_.get(), text.data(), text.size(), 0);
  if (size < 0) return errno;
  mark.assign(text.data(), static_cast<std::size_t>(size));
  return 0;
}

int CreationLock::writeMark(const std::string& mark) const {
  const ssize_t size = pwrite(fd_.get(), mark.data(), mark.size(), 0);
  if (size == static_cast<ssize_t>(mark.size())) return 0;
  return size < 0 ? errno : ENOSPC;
}

Sidecar::Sidecar(std::string store, const SqliteStoreOptions& options, Logger logger)
    : store_{std::move(store)},
      options_{options},
      losses_{std::make_shared<LossWatch>(store_, options.path)},
      logLosses_{std::make_shared<LossWatch>(store_, options.path + "-wal")},
      watches_{std::move(logger)},
      deaths_{placeBeside(store_, options), watches_} {}

Sidecar::~Sidecar() = default;

std::shared_ptr<void> Sidecar::watch(const LeaseKey& key, std::function<void()> hint) {
  return watches_.watch(std::make_shared<WakeWatch>(deaths_.place(), key, std::move(hint), writes_),
                        WatchThread::Without::inotifyUseless);
}

/// One watch of each file for all holders, so that adding a holder costs no system call. The log is watched too:
/// without its log the database is an older copy of itself.
///
/// The first holder is added before the files are watched, so that the hint of the arming reaches it: a file may have
/// been replaced between its write and this call. A later holder gets no such hint, because each would cost a renewal.
/// If its file was replaced in those milliseconds, it finds out at its next heartbeat, like a holder without a watch.
std::shared_ptr<void> Sidecar::watchLoss(const std::function<void()>& hint) {
  using Both = std::pair<std::shared_ptr<void>, std::shared_ptr<void>>;
  auto handles = std::make_shared<Both>(losses_->add(hint), logLosses_->add(hint));
  const std::lock_guard lock{lossMutex_};
  if (!lossWatching_) lossWatching_ = watches_.watch(losses_, WatchThread::Without::inotifyUseless);
  if (!logLossWatching_) logLossWatching_ = watches_.watch(logLosses_, WatchThread::Without::inotifyUseless);
  if (!lossWatching_ || !logLossWatching_) return nullptr;
  return handles;
}

void Sidecar::stop() { watches_.stop(); }

void Sidecar::notify(const StoreFiles& files, const LeaseKey& key) const noexcept {
  touchWakeFile(files.sidecar, key, [&] { return rightsBeside(files.database, options_); });
}

StoreResult<CreationLock> Sidecar::lockCreation(const StoreFiles& files, BusyWait& wait) const {
  const FileRights rights = rightsBeside(files.database, options_);
  if (auto made = makeDirectory(store_, files.sidecar, rights); made.has_error()) return made.error();
  CreationLock lock;
  const int fault = lock.take(files, rights, wait);
  if (fault == 0) return lock;
  if (fault != EWOULDBLOCK) {
    return systemError(store_, "taking the lock for making the database, " + lock.path(), fault);
  }
  return StoreError{ErrorClass::transient, store_ + ": the lock for making the database, " + lock.path() +
                                               ", was not granted in the call's time; it is held by " + lock.holder()};
}

StoreResult<LongestLease> Sidecar::longestLease(const StoreFiles& files, const TermName* asker) const {
  StoreResult<LongestLease> longest = OthersLivenessFiles{store_, files.sidecar, deaths_.own().id()}.longest();
  if (longest.has_error()) return longest;
  if (const auto own = deaths_.own().longestOpen(asker); own > longest->lease) {
    *longest = {own, "another candidate of this process"};
  }
  return longest;
}

StoreResult<std::string> Sidecar::livingOther(const StoreFiles& files) const {
  return livingLivenessFileOfOthers(store_, files.sidecar, deaths_.own().id());
}

void Sidecar::sweep(const StoreFiles& files,
                    const std::function<bool(const std::string& livenessFileId)>& isReferredTo) {
  // Older releases wrote each term into a file below this directory, and read these files as long as they run.
  const std::string claims = files.sidecar + "/claims";
  if (access(claims.c_str(), F_OK) == 0 && !olderReleaseLives(files.sidecar)) {
    std::error_code ignored;
    std::filesystem::remove_all(claims, ignored);
  }
  liveness::removeDeadLivenessFiles(files.sidecar, isReferredTo);
}

}  // namespace tenure::sqlite_store
