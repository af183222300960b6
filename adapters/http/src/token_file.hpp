// The file in which a fence in front of a service keeps the highest token of each lease.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include <sqlite3.h>

#include <tenure/lockcore/fence.hpp>
#include <tenure/lockcore/store_error.hpp>

#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::http_fence {

/// One SQLite file, held by one process at a time (by a flock on the file itself, which the kernel drops with the
/// process; SQLite's own locks are of another kind). A link is refused, and so is a file with two names, because SQLite
/// keeps a journal for each name. For one thread at a time.
class TokenFile {
 public:
  using Stamps = std::map<std::string, TermStamp>;  ///< the key is the lease

  struct Content {
    Stamps highest{};
    bool wasClosedCleanly{false};  ///< the last process that used the file ended with close(true)
  };

  /// Locks the file, and opens or creates the database. The content is not looked at: it may be damaged.
  [[nodiscard]] static StoreResult<std::unique_ptr<TokenFile>> open(const std::string& path);

  /// For a fence, before its first raise(): reads all, and marks the file as in use until close(true). Refused if a
  /// stored token is none.
  [[nodiscard]] StoreResult<Content> takeOver() const;

  /// Writes these tokens, none of which may be lower than the stored one, to the disk (synchronous = EXTRA). All or
  /// none: they are one transaction. So the error of one of them, such as a later token in the file, is the answer for
  /// all, and nothing is written.
  [[nodiscard]] std::optional<StoreError> raise(const Stamps& stamps) const;

  /// Closes the database; the file stays locked. `clean`: no request is under way any more.
  void close(bool clean);

  /// For an operator: the token as it is in the file, even if it is malformed; empty if there is none.
  [[nodiscard]] StoreResult<std::string> tokenOf(const std::string& lease) const;
  /// For an operator: makes the file remember this token, however high the present one is.
  [[nodiscard]] std::optional<StoreError> replace(const TermStamp& memory) const;

 private:
  struct CloseDatabase {
    void operator()(sqlite3* database) const noexcept { sqlite3_close_v2(database); }
  };
  enum class Outcome {
    done,        ///< the file remembers this token from now on
    failed,      ///< SQLite has an error, and its message
    laterThere,  ///< the file remembers a later token, which another program wrote; the whole transaction is given up
  };

  explicit TokenFile(const std::string& path) : path_{path}, name_{"the fence's memory " + path} {}
  [[nodiscard]] std::optional<StoreError> lock();
  /// Checks whether the path still names the locked file, and whether that is its only name.
  [[nodiscard]] std::optional<StoreError> identityTrouble() const;
  [[nodiscard]] std::optional<StoreError> openDatabase();
  [[nodiscard]] StoreResult<Stamps> readTokens() const;
  [[nodiscard]] StoreResult<bool> readMark() const;
  [[nodiscard]] Outcome raiseAll(const Stamps& stamps) const;
  [[nodiscard]] Outcome raiseOne(const TermStamp& stamp) const;
  [[nodiscard]] bool exec(const char* sql) const;
  /// What SQLite says about its last call, so it has to be asked for before the next call.
  [[nodiscard]] StoreError trouble(ErrorClass errorClass, const std::string& doing) const;

  const std::string path_;
  const std::string name_;  ///< for messages
  UniqueFd lockFile_;       ///< open before the database and closed after it: closing it would drop SQLite's own locks
  std::unique_ptr<sqlite3, CloseDatabase> database_{};
};

}  // namespace tenure::http_fence
