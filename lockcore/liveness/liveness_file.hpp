// Liveness files. A process keeps its own locked for as long as it lives, and states in it the
// longest lease that it may hold. The kernel drops the lock with the process, so whoever gets it has proof of the end.
#pragma once

#include <atomic>
#include <chrono>
#include <compare>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/store_error.hpp>

#include "lockcore/runtime/file_rights.hpp"
#include "lockcore/runtime/process_mark.hpp"
#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::liveness {

/// Where the liveness files of a store are. All processes that use the store must reach the same directory, on a local
/// file system.
struct LivenessFilePlace {
  std::string store;  ///< LeaseStore::describe(), the start of every message
  /// The directory, which may be missing while its parent exists; or why there can be none. Called on any thread.
  std::function<StoreResult<std::string>()> directory;
  /// Of the directory and the files in it, if they are made; an empty function: the umask decides. On any thread.
  std::function<FileRights()> rights{};

  [[nodiscard]] std::optional<FileRights> rightsOfNew() const {
    return rights ? std::optional{rights()} : std::nullopt;
  }
};

/// /proc/sys/kernel/random/boot_id; empty if it cannot be read. Cached.
[[nodiscard]] const std::string& bootId();

inline constexpr std::string_view livenessFilePrefix = "beacon-";

/// 32 lower-case hex digits: no other text may become part of a path.
[[nodiscard]] TENURE_API bool isLivenessFileId(std::string_view text) noexcept;

[[nodiscard]] TENURE_API std::string livenessFilePath(const std::string& directory, std::string_view id);

/// Opens a liveness file of another process for reading. It is never opened for writing, so that closing it wakes
/// nobody that waits for its end; never through a link; and never in a way that blocks on a pipe. Empty, with errno
/// set, unless it is a regular file: ELOOP is a link, EINVAL something else.
[[nodiscard]] TENURE_API UniqueFd openLivenessFileToLook(const std::string& path) noexcept;

/// The state of the lock, which shows whether a process still holds a liveness file. The test takes a shared lock, so
/// that several processes that test at once do not take each other for the holder, and releases it at once.
enum class LockState { held, free };
[[nodiscard]] TENURE_API LockState probeLivenessFile(const UniqueFd& livenessFile) noexcept;

/// What the file says about its process: the longest lease that the process may hold; 0: it never held one. Empty if
/// the file does not say it: an older release wrote no such line. `systemErrno` is set if the file cannot be read.
[[nodiscard]] TENURE_API std::optional<std::chrono::milliseconds> statedLease(const UniqueFd& livenessFile,
                                                                              int& systemErrno) noexcept;

/// Removes unlocked liveness files to which no record refers, and what is left of unfinished ones. (If the record of
/// another lease refers to the same dead process, its candidates still need the file as proof.) Never touches what a
/// living process locks. A file that cannot be checked is left for the next time.
TENURE_API void removeDeadLivenessFiles(const std::string& directory,
                                        const std::function<bool(const std::string& id)>& isReferredTo);

/// The candidate and the lease of one term.
struct TermName {
  LeaseKey key;
  std::string holder;

  friend auto operator<=>(const TermName&, const TermName&) = default;
};

/// The one liveness file of a store, created when it is first needed. Thread-safe.
class TENURE_API OwnLivenessFile {
 public:
  explicit OwnLivenessFile(LivenessFilePlace place);
  /// Removes the file and unlocks it, unless there are open terms: their work may still be running, so the lock stays
  /// until the process ends.
  ~OwnLivenessFile();
  OwnLivenessFile(const OwnLivenessFile&) = delete;
  OwnLivenessFile& operator=(const OwnLivenessFile&) = delete;

  [[nodiscard]] StoreResult<LivenessFile> get();
  /// -1 until get() has given one.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_.load(); }
  /// Empty until get() has given one.
  [[nodiscard]] std::string id() const;

  /// To be called before a write of this term with this lease is committed. Writes to the file only if the file states
  /// a shorter lease. True: the term was not open. A term of which nothing is written for two leases has ended by
  /// itself: whoever released it may have been another process.
  [[nodiscard]] StoreResult<bool> openTerm(const TermName& term, std::chrono::milliseconds lease);
  /// The term is over or has never begun.
  void endTerm(const TermName& term) noexcept;
  /// The longest lease of the open terms except this one (null: of all open terms); 0: there is none.
  [[nodiscard]] std::chrono::milliseconds longestOpen(const TermName* except) const;

 private:
  struct OpenTerm {
    std::chrono::milliseconds lease{0};
    Instant writtenAt{};
  };
  [[nodiscard]] static bool isOver(const OpenTerm& term, const Instant& now) noexcept;
  // With mutex_ held.
  [[nodiscard]] StoreResult<LivenessFile> make();
  [[nodiscard]] std::optional<StoreError> state(std::chrono::milliseconds lease);

  const ProcessMark mark_{};
  const LivenessFilePlace place_;
  mutable std::mutex mutex_;
  std::optional<LivenessFile> livenessFile_;  // guarded by mutex_, as the next five
  std::string file_;
  UniqueFd fd_;
  std::chrono::milliseconds stated_{0};
  std::map<TermName, OpenTerm> openTerms_;
  std::size_t mostOpen_{64};  ///< with so many, those that have ended are removed
  std::atomic<int> descriptor_{-1};
};

}  // namespace tenure::liveness
