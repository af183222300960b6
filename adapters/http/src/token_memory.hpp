// Keeps the highest token of each lease on disk.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <sqlite3.h>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/fence.hpp>
#include <tenure/lockcore/store_error.hpp>

#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::http_fence {

/// One SQLite file, held by one process at a time (by a flock on the file itself, which the kernel drops with the
/// process; SQLite's own locks are of another kind). A link is refused, and so is a file with two names, because SQLite
/// keeps a journal for each name. A thread ("tenure-fence") writes. Stamps that come while one transaction is under way
/// go into the next one, and of each lease only the highest. A stamp is reported as stored when it is on the disk
/// (synchronous = EXTRA).
class TokenMemory {
 public:
  using Stored = std::function<void(const TermStamp& stamp, const std::optional<FenceError>& error)>;

  /// Opens or creates the file. `stored` is called on the thread, once for each stamp that was written or could not be
  /// written.
  [[nodiscard]] static StoreResult<std::unique_ptr<TokenMemory>> open(const std::string& file);
  /// For an operator: the content of the file may be damaged. Do not call start() and store() on this object.
  [[nodiscard]] static StoreResult<std::unique_ptr<TokenMemory>> openToRecover(const std::string& file);
  ~TokenMemory();
  TokenMemory(const TokenMemory&) = delete;
  TokenMemory& operator=(const TokenMemory&) = delete;

  /// What the file held when it was opened.
  [[nodiscard]] const std::map<std::string, TermStamp>& known() const noexcept { return known_; }
  /// Whether the last process that had the file closed it with close(true).
  [[nodiscard]] bool wasClosedCleanly() const noexcept { return clean_; }

  /// The token as it is in the file, even if it is malformed; empty if there is none.
  [[nodiscard]] StoreResult<std::string> stored(const std::string& lease) const;
  /// Makes the file remember this token, however high the present one is.
  [[nodiscard]] std::optional<StoreError> replace(const TermStamp& memory) const;

  /// Starts the thread. `wake` is called on it once, after the time `after`, measured as a challenger measures time.
  void start(Stored stored, std::chrono::milliseconds after, std::function<void()> wake);
  void store(const TermStamp& stamp);
  /// Ends the thread after everything given to store() is written. `clean`: no request is under way any more.
  void close(bool clean);

 private:
  struct CloseDatabase {
    void operator()(sqlite3* database) const noexcept { sqlite3_close_v2(database); }
  };

  explicit TokenMemory(std::string file) : file_{std::move(file)} {}
  [[nodiscard]] std::optional<StoreError> lock();
  /// Checks whether the path still names the locked file, and whether that is its only name.
  [[nodiscard]] std::optional<StoreError> identityTrouble() const;
  [[nodiscard]] std::optional<StoreError> openDatabase();
  [[nodiscard]] std::optional<StoreError> load();
  [[nodiscard]] StoreError trouble(const std::string& doing) const;
  [[nodiscard]] bool exec(const char* sql) const;
  enum class Written {
    yes,    ///< the file remembers this token from now on
    no,     ///< an error of SQLite
    later,  ///< it remembers a later one, which another program wrote
  };
  [[nodiscard]] Written write(const TermStamp& stamp) const;
  [[nodiscard]] std::optional<FenceError> faultAfter(Written written) const;
  void run();
  void writeAll(const std::map<std::string, TermStamp>& stamps);

  const std::string file_;
  UniqueFd lockFile_;  ///< open before the database and closed after it: closing it would drop SQLite's own locks
  std::unique_ptr<sqlite3, CloseDatabase> database_{};
  std::map<std::string, TermStamp> known_{};
  bool clean_{false};

  Stored stored_{};
  std::function<void()> wake_{};
  Instant started_{};
  std::chrono::milliseconds after_{0};

  std::mutex mutex_{};
  std::condition_variable changed_{};
  std::map<std::string, TermStamp> pending_{};
  bool closing_{false};
  std::thread thread_{};
};

}  // namespace tenure::http_fence
