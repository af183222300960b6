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
#include "term_marks.hpp"

namespace tenure::http_fence {

/// One SQLite file, held by one process at a time (by a flock on the file itself, which the kernel drops with the
/// process; SQLite's own locks are of another kind). A link is refused, and so is a file with two names, because SQLite
/// keeps a journal for each name. For one thread at a time.
class TokenFile {
 public:
  using Stamps = std::map<std::string, TermStamp>;     ///< the key is the lease
  using Passed = std::map<std::string, FencingToken>;  ///< the same
  using Marks = std::map<std::string, TermMarks>;      ///< the same

  struct Content {
    Stamps highest{};
    Passed passed{};  ///< of these leases requests may be under way, of this term only; token 0: of any term
  };

  /// Locks the file, and opens or creates the database. The content is not looked at: it may be damaged.
  [[nodiscard]] static StoreResult<std::unique_ptr<TokenFile>> open(const std::string& path);

  /// For a fence, before its first raise(): reads all, and marks the file as in use until close(true). Refused if a
  /// stored token is none. What proves that no request of the process before is under way, so that nobody waits:
  ///
  /// - There is no token: nothing may be under way, since the first request comes after its token.
  /// - It was closed with close(true): nothing, since all requests had ended and none passed after that.
  /// - It is in use, and the lease has no mark: nothing of this lease, since a mark comes before the first pass.
  /// - It is in use, and the mark is the highest token: requests of this term, since all others had ended before the
  ///   mark.
  /// - It is in use, and the mark is lower: requests of the mark's term; the later term never passed.
  /// - It is in use by a release that knew no marks: requests of any term, since nothing proves anything.
  ///
  /// A release without marks writes "in use" in another way (0), so that it cannot leave marks that are not true: a
  /// file may go from one release to the other and back.
  [[nodiscard]] StoreResult<Content> takeOver() const;

  /// Writes these marks, whose tokens may not be lower than the stored ones, to the disk (synchronous = EXTRA). All or
  /// none: they are one transaction. So the error of one of them, such as a later token in the file, is the answer for
  /// all, and nothing is written.
  [[nodiscard]] std::optional<StoreError> raise(const Marks& marks) const;

  /// If the path does not name the locked file any more: another fence may have the one that it names. From any thread.
  [[nodiscard]] std::optional<StoreError> replacedError() const;

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

  /// How the file was left; the numbers are stored.
  enum class Use {
    withoutMarks = 0,  ///< in use by a release that writes no marks
    closed = 1,        ///< no request was under way
    withMarks = 2,     ///< in use
  };

  explicit TokenFile(const std::string& path);
  [[nodiscard]] std::optional<StoreError> lock();
  [[nodiscard]] std::optional<StoreError> foreignError() const;
  [[nodiscard]] std::optional<StoreError> identityError() const;
  [[nodiscard]] std::optional<StoreError> openDatabase();
  [[nodiscard]] StoreResult<Stamps> readTokens() const;
  [[nodiscard]] StoreResult<Passed> readPassed() const;
  [[nodiscard]] StoreResult<Use> readUse() const;
  [[nodiscard]] StoreResult<Content> takeOverAll() const;
  [[nodiscard]] Outcome raiseAll(const Marks& marks) const;
  [[nodiscard]] bool markPassed(const TermMarks& marks) const;
  [[nodiscard]] Outcome raiseOne(const TermStamp& stamp) const;
  [[nodiscard]] bool exec(const char* sql) const;
  /// What SQLite says about its last call, so it has to be asked for before the next call.
  [[nodiscard]] StoreError errorOf(ErrorClass errorClass, const std::string& doing) const;

  const std::string path_;  ///< absolute: the program may go to another directory
  const std::string name_;  ///< for messages
  UniqueFd lockFile_;       ///< open before the database and closed after it: closing it would drop SQLite's own locks
  std::unique_ptr<sqlite3, CloseDatabase> database_{};
};

}  // namespace tenure::http_fence
