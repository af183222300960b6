#include "token_file.hpp"

#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <utility>

#include <tenure/lockcore/clock.hpp>

#include "adapters/fence/src/fence_text.hpp"
#include "lockcore/runtime/open_file.hpp"
#include "lockcore/runtime/shared_file.hpp"
#include "lockcore/runtime/system_error.hpp"
#include "lockcore/sqlite/quiet_look.hpp"
#include "lockcore/sqlite/statement.hpp"

namespace tenure::http_fence {
namespace {

using sqlite::Statement;

// The trigger protects against people who repair the file by hand: not even then does a token fall by mistake. A row
// with token 0 counts as no row. The fence writes none; somebody may, to name a lease before its first token.
constexpr const char* schema = R"sql(
CREATE TABLE IF NOT EXISTS tenure_fence_guard(
  lease  TEXT NOT NULL PRIMARY KEY,
  token  INTEGER NOT NULL CHECK(token BETWEEN 0 AND 9007199254740991),  -- the highest seen; lower ones are refused
  holder TEXT NOT NULL,                       -- whose term it is; empty if it gave no name
  since  TEXT NOT NULL                        -- when the token was first seen; for people
) STRICT, WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS tenure_fence_guard_rises BEFORE UPDATE OF token ON tenure_fence_guard
WHEN NEW.token < OLD.token
BEGIN
  SELECT RAISE(ABORT, 'tenure: the token of a fence only rises');
END;
CREATE TABLE IF NOT EXISTS tenure_fence_passed(
  lease TEXT NOT NULL PRIMARY KEY,
  token INTEGER NOT NULL CHECK(token BETWEEN 0 AND 9007199254740991)  -- of this term only, requests may be under way;
                                                                      -- 0: of any term
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tenure_fence_state(
  id    INTEGER NOT NULL PRIMARY KEY CHECK(id = 1),
  clean INTEGER NOT NULL  -- 1: whoever had the file last left no request under way; 2: what may be is marked above;
                          -- 0: of an older release, which made no marks
) STRICT;
)sql";

constexpr SharedFileRisks risks{
    .switched = "each of the two files could be the memory of a fence",
    .mounted = "a fence there would not see a journal that is left here, and could forget a token",
    .linked = "SQLite keeps a separate journal for each",
    .remote = "neither SQLite nor file locks can be relied on between machines; put the file on a local disk",
};

std::string absolutePath(const std::string& path) {
  std::error_code lost;  // where the present directory was removed
  const auto absolute = std::filesystem::absolute(path, lost);
  return lost ? path : absolute.string();
}

/// What is wrong with it shows at its first step.
Statement prepare(sqlite3* database, const char* sql) {
  sqlite3_stmt* raw = nullptr;
  sqlite3_prepare_v2(database, sql, -1, &raw, nullptr);  // null after an error
  return Statement{raw};
}

}  // namespace

TokenFile::TokenFile(const std::string& path) : path_{absolutePath(path)}, name_{"the fence's memory " + path} {}

StoreResult<std::unique_ptr<TokenFile>> TokenFile::open(const std::string& path) {
  std::unique_ptr<TokenFile> file{new TokenFile{path}};  // lint-allow(raw-new): the constructor is private
  if (auto error = file->lock()) return *std::move(error);
  if (auto error = file->foreignError()) return *std::move(error);
  if (auto error = file->openDatabase()) return *std::move(error);
  return file;
}

std::optional<StoreError> TokenFile::lock() {
  const auto refused = [&](const std::string& why) { return StoreError{ErrorClass::misconfigured, name_ + why}; };
  if (const std::string fault = sharedFileFault(path_, risks); !fault.empty()) return refused(": " + fault);
  lockFile_ = UniqueFd{openToWrite(path_, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600)};
  if (!lockFile_) return refused(" cannot be opened: " + errnoText(errno));
  if (flock(lockFile_.get(), LOCK_EX | LOCK_NB) != 0) {
    return refused(errno == EWOULDBLOCK ? " is in use by another process; one service has one fence"
                                        : " cannot be locked: " + errnoText(errno));
  }
  return identityError();
}

std::optional<StoreError> TokenFile::replacedError() const {
  const auto named = identityOf(AT_FDCWD, path_);
  if (named && named == identityOf(lockFile_.get())) return std::nullopt;
  return StoreError{ErrorClass::misconfigured,
                    name_ + " was removed or replaced; put it back, and start the fence again"};
}

std::optional<StoreError> TokenFile::identityError() const {
  if (auto replaced = replacedError()) return replaced;
  const std::string fault = sharedFileFault(path_, risks);
  if (fault.empty()) return std::nullopt;
  return StoreError{ErrorClass::misconfigured, name_ + ": " + fault};
}

/// A database of another program must not get the fence's tables and lose its journal's mode: a proxy may have been
/// given the wrong file.
std::optional<StoreError> TokenFile::foreignError() const {
  const bool isFence = sqlite::holdsTable(path_, "tenure_fence_guard", {"ticket"});
  // The fence's own memory never has a log.
  std::error_code none;
  const auto log = std::filesystem::file_size(path_ + "-wal", none);
  if (!isFence && (none || log == 0) &&
      !sqlite::holdsMoreThan(
          path_, {"tenure_fence_guard", "tenure_fence_guard_rises", "tenure_fence_passed", "tenure_fence_state"})) {
    return std::nullopt;
  }
  return StoreError{ErrorClass::misconfigured, name_ + " is a database of another program" +
                                                   (isFence ? ", which has an SQLite fence" : "") +
                                                   "; nothing was changed; give a file that the proxy alone uses"};
}

std::optional<StoreError> TokenFile::openDatabase() {
  sqlite3* raw = nullptr;
  const int code =
      sqlite3_open_v2(path_.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, nullptr);
  database_.reset(raw);
  if (code != SQLITE_OK) return errorOf(ErrorClass::misconfigured, "opening it");
  sqlite3_busy_timeout(raw, 5'000);  // for people who read the file
  // Tokens that were reported as stored are in the file itself, and not in a log beside it that somebody may remove.
  if (!exec("PRAGMA journal_mode = DELETE") || !exec("PRAGMA synchronous = EXTRA") || !exec(schema)) {
    return errorOf(ErrorClass::misconfigured, "preparing it");
  }
  return std::nullopt;
}

StoreResult<TokenFile::Content> TokenFile::takeOver() const {
  auto content = takeOverAll();
  if (content.has_error()) (void)exec("ROLLBACK");  // only now: it replaces SQLite's message by its own
  return content;
}

StoreResult<TokenFile::Content> TokenFile::takeOverAll() const {
  const auto failed = [this] { return errorOf(ErrorClass::misconfigured, "marking it as in use"); };
  if (!exec("BEGIN IMMEDIATE")) return failed();
  auto tokens = readTokens();
  if (tokens.has_error()) return tokens.error();
  const StoreResult<Use> use = readUse();
  if (use.has_error()) return use.error();
  if (*use != Use::withMarks && !exec("DELETE FROM tenure_fence_passed")) return failed();
  // Stays until the wait is over and a term has passed, so that a kill during the wait changes nothing.
  const bool mayBeAny = *use == Use::withoutMarks;
  if (mayBeAny && !exec("INSERT INTO tenure_fence_passed SELECT lease, 0 FROM tenure_fence_guard WHERE token <> 0")) {
    return failed();
  }
  auto passed = readPassed();
  if (passed.has_error()) return passed.error();
  const bool isTaken =
      exec("INSERT INTO tenure_fence_state(id, clean) VALUES(1, 2) ON CONFLICT DO UPDATE SET clean = 2") &&
      exec("COMMIT");
  if (!isTaken) return failed();
  return Content{.highest = *std::move(tokens), .passed = *std::move(passed)};
}

StoreResult<TokenFile::Stamps> TokenFile::readTokens() const {
  Stamps highest;
  Statement rows = prepare(database_.get(), "SELECT lease, token, holder FROM tenure_fence_guard WHERE token <> 0");
  int code = rows.step();
  for (; code == SQLITE_ROW; code = rows.step()) {
    const std::string lease = rows.bytes(0);
    const auto token = parseFencingToken(rows.bytes(1));
    if (!token) return damagedFence(name_, lease, rows.bytes(1)).writeError()->error;
    highest[lease] = {lease, *token, rows.bytes(2)};
  }
  if (code != SQLITE_DONE) return errorOf(ErrorClass::misconfigured, "reading it");
  return highest;
}

/// A token that is none (damage, a repair by hand) proves nothing, so it is read as 0.
StoreResult<TokenFile::Passed> TokenFile::readPassed() const {
  Passed passed;
  Statement rows = prepare(database_.get(), "SELECT lease, token FROM tenure_fence_passed");
  int code = rows.step();
  for (; code == SQLITE_ROW; code = rows.step()) {
    passed[rows.bytes(0)] = parseFencingToken(rows.bytes(1)).value_or(FencingToken{});
  }
  if (code != SQLITE_DONE) return errorOf(ErrorClass::misconfigured, "reading it");
  return passed;
}

StoreResult<TokenFile::Use> TokenFile::readUse() const {
  Statement state = prepare(database_.get(), "SELECT clean FROM tenure_fence_state");
  const int code = state.step();
  if (code == SQLITE_DONE) return Use::withoutMarks;  // a new file, or one whose row somebody has removed
  if (code != SQLITE_ROW) return errorOf(ErrorClass::misconfigured, "reading it");
  const std::int64_t stored = state.integer(0);
  if (stored == static_cast<int>(Use::closed)) return Use::closed;
  return stored == static_cast<int>(Use::withMarks) ? Use::withMarks : Use::withoutMarks;
}

std::optional<StoreError> TokenFile::raise(const Marks& marks) const {
  const Outcome outcome = raiseAll(marks);
  // The file's identity comes first. If the file was moved, that is why a write failed; and a write that succeeded is
  // not in the file that the next fence will find.
  std::optional<StoreError> error = identityError();
  if (!error && outcome == Outcome::failed) error = errorOf(ErrorClass::transient, "writing a token");
  if (!error && outcome == Outcome::laterThere) {
    error = StoreError{ErrorClass::transient, name_ +
                                                  " holds a later token, which another program wrote; start the fence "
                                                  "again, so that it reads that token"};
  }
  // Only now: a ROLLBACK replaces SQLite's message about the failure by its own.
  if (sqlite3_get_autocommit(database_.get()) == 0) (void)exec("ROLLBACK");
  return error;
}

/// In one transaction, which stays open after anything but `done`.
TokenFile::Outcome TokenFile::raiseAll(const Marks& marks) const {
  if (!exec("BEGIN IMMEDIATE")) return Outcome::failed;
  for (const auto& [lease, one] : marks) {
    if (const Outcome outcome = raiseOne(one.seen); outcome != Outcome::done) return outcome;
    if (!markPassed(one)) return Outcome::failed;
  }
  return exec("COMMIT") ? Outcome::done : Outcome::failed;
}

bool TokenFile::markPassed(const TermMarks& marks) const {
  if (!marks.passed) return true;
  Statement row = prepare(database_.get(),
                          "INSERT INTO tenure_fence_passed(lease, token) VALUES(?1, ?2) "
                          "ON CONFLICT(lease) DO UPDATE SET token = excluded.token");
  row.bind(1, marks.seen.lease).bind(2, static_cast<std::int64_t>(marks.passed->value()));
  return row.step() == SQLITE_DONE;
}

TokenFile::Outcome TokenFile::raiseOne(const TermStamp& stamp) const {
  const auto token = static_cast<std::int64_t>(stamp.token.value());
  {
    // Here too tokens only rise: whoever else may have written, the file never forgets.
    Statement row =
        prepare(database_.get(),
                "INSERT INTO tenure_fence_guard(lease, token, holder, since) VALUES(?1, ?2, ?3, ?4) "
                "ON CONFLICT(lease) DO UPDATE SET since = iif(excluded.token > token, excluded.since, since), "
                "token = excluded.token, holder = excluded.holder "
                "WHERE excluded.token > token OR (excluded.token = token AND holder = '')");
    const std::string since = wallClockTextForDisplay(wallClockMillisForDisplay());
    row.bind(1, stamp.lease).bind(2, token).bind(3, stamp.holder).bind(4, since);
    if (row.step() != SQLITE_DONE) return Outcome::failed;
  }
  // Somebody may have written a later token by hand: a term that the file knows to be over must not pass.
  Statement now = prepare(database_.get(), "SELECT token FROM tenure_fence_guard WHERE lease = ?1");
  if (now.bind(1, stamp.lease).step() != SQLITE_ROW) return Outcome::failed;
  return now.integer(0) == token ? Outcome::done : Outcome::laterThere;
}

void TokenFile::close(bool clean) {
  if (clean && database_) (void)exec("UPDATE tenure_fence_state SET clean = 1");
  database_.reset();
}

StoreResult<std::string> TokenFile::tokenOf(const std::string& lease) const {
  Statement row = prepare(database_.get(), "SELECT token FROM tenure_fence_guard WHERE lease = ?1");
  const int code = row.bind(1, lease).step();
  if (code == SQLITE_DONE) return std::string{};
  if (code != SQLITE_ROW) return errorOf(ErrorClass::misconfigured, "reading it");
  return row.bytes(0) == "0" ? std::string{} : row.bytes(0);
}

std::optional<StoreError> TokenFile::replace(const TermStamp& memory) const {
  if (!exec("BEGIN IMMEDIATE")) return errorOf(ErrorClass::misconfigured, "locking it");
  // The trigger would not let the token of a row fall.
  Statement old = prepare(database_.get(), "DELETE FROM tenure_fence_guard WHERE lease = ?1");
  const bool isGone = old.bind(1, memory.lease).step() == SQLITE_DONE;
  if (isGone && raiseOne(memory) == Outcome::done && exec("COMMIT")) return std::nullopt;
  StoreError error = errorOf(ErrorClass::misconfigured, "setting a token");
  (void)exec("ROLLBACK");  // only now, as in raise()
  return error;
}

bool TokenFile::exec(const char* sql) const {
  return sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK;
}

StoreError TokenFile::errorOf(ErrorClass errorClass, const std::string& doing) const {
  const std::string cause = database_ ? sqlite3_errmsg(database_.get()) : "out of memory";
  return {errorClass, name_ + ": " + doing + " failed: " + cause +
                          "; no request that needs a token passes until it can be written"};
}

}  // namespace tenure::http_fence
