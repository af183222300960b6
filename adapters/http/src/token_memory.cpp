#include "token_memory.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>

#include "adapters/fence/src/fence_text.hpp"
#include "lockcore/runtime/thread.hpp"
#include "lockcore/sqlite/statement.hpp"

namespace tenure::http_fence {
namespace {

using sqlite::Statement;

// The trigger protects against people who repair the file by hand: not even then does a token fall by mistake.
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
CREATE TABLE IF NOT EXISTS tenure_fence_state(
  id    INTEGER NOT NULL PRIMARY KEY CHECK(id = 1),
  clean INTEGER NOT NULL  -- 1: whoever had the file last left no request under way
) STRICT;
)sql";

/// What is wrong with it shows at its first step.
Statement prepare(sqlite3* database, const char* sql) {
  sqlite3_stmt* raw = nullptr;
  sqlite3_prepare_v2(database, sql, -1, &raw, nullptr);  // null after an error
  return Statement{raw};
}

}  // namespace

StoreError TokenMemory::trouble(const std::string& doing) const {
  return {ErrorClass::misconfigured, "the fence's memory " + file_ + ": " + doing +
                                         " failed: " + (database_ ? sqlite3_errmsg(database_.get()) : "out of memory") +
                                         "; no request that needs a token passes until it can be written"};
}

bool TokenMemory::exec(const char* sql) const {
  return sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK;
}

StoreResult<std::unique_ptr<TokenMemory>> TokenMemory::open(const std::string& file) {
  std::unique_ptr<TokenMemory> memory{new TokenMemory{file}};  // lint-allow(raw-new): the constructor is private
  if (auto error = memory->lock()) return *std::move(error);
  if (auto error = memory->openDatabase()) return *std::move(error);
  if (auto error = memory->load()) return *std::move(error);
  return memory;
}

StoreResult<std::unique_ptr<TokenMemory>> TokenMemory::openToRecover(const std::string& file) {
  std::unique_ptr<TokenMemory> memory{new TokenMemory{file}};  // lint-allow(raw-new): the constructor is private
  if (auto error = memory->lock()) return *std::move(error);
  if (auto error = memory->openDatabase()) return *std::move(error);
  return memory;
}

StoreResult<std::string> TokenMemory::stored(const std::string& lease) const {
  Statement row = prepare(database_.get(), "SELECT token FROM tenure_fence_guard WHERE lease = ?1");
  const int code = row.bind(1, lease).step();
  if (code == SQLITE_DONE) return std::string{};
  if (code != SQLITE_ROW) return trouble("reading it");
  return row.bytes(0) == "0" ? std::string{} : row.bytes(0);
}

std::optional<StoreError> TokenMemory::replace(const TermStamp& memory) const {
  if (!exec("BEGIN IMMEDIATE")) return trouble("locking it");
  Statement row = prepare(database_.get(), "DELETE FROM tenure_fence_guard WHERE lease = ?1");
  if (row.bind(1, memory.lease).step() == SQLITE_DONE && write(memory) == Written::yes && exec("COMMIT"))
    return std::nullopt;
  StoreError error = trouble("setting a token");
  (void)exec("ROLLBACK");
  return error;
}

std::optional<StoreError> TokenMemory::lock() {
  lockFile_ = UniqueFd{::open(file_.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600)};
  const std::string name = "the fence's memory " + file_;
  const auto refused = [&](const std::string& why) { return StoreError{ErrorClass::misconfigured, name + why}; };
  if (!lockFile_ && errno == ELOOP) return refused(" is a symbolic link; give the path of the file itself");
  if (!lockFile_) return refused(" cannot be opened: " + std::error_code{errno, std::generic_category()}.message());
  if (flock(lockFile_.get(), LOCK_EX | LOCK_NB) != 0) {
    return refused(errno == EWOULDBLOCK
                       ? " is in use by another process; one service has one fence"
                       : " cannot be locked: " + std::error_code{errno, std::generic_category()}.message());
  }
  return identityTrouble();
}

std::optional<StoreError> TokenMemory::identityTrouble() const {
  struct stat locked {};
  struct stat named {};
  const std::string name = "the fence's memory " + file_;
  if (fstat(lockFile_.get(), &locked) != 0 || lstat(file_.c_str(), &named) != 0 || locked.st_dev != named.st_dev ||
      locked.st_ino != named.st_ino) {
    return StoreError{ErrorClass::misconfigured,
                      name + " was removed or replaced; put it back, and start the fence again"};
  }
  if (!S_ISREG(locked.st_mode)) return StoreError{ErrorClass::misconfigured, name + " is no regular file"};
  if (locked.st_nlink != 1) {
    return StoreError{ErrorClass::misconfigured,
                      name + " has " + std::to_string(locked.st_nlink) + " names (hard links); remove the others"};
  }
  return std::nullopt;
}

std::optional<StoreError> TokenMemory::openDatabase() {
  sqlite3* raw = nullptr;
  const int code =
      sqlite3_open_v2(file_.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, nullptr);
  database_.reset(raw);
  if (code != SQLITE_OK) return trouble("opening it");
  sqlite3_busy_timeout(raw, 5'000);  // for people who read the file
  // Tokens that were reported as stored are in the file itself, and not in a log beside it that somebody may remove.
  if (!exec("PRAGMA journal_mode = DELETE") || !exec("PRAGMA synchronous = EXTRA") || !exec(schema)) {
    return trouble("preparing it");
  }
  return std::nullopt;
}

std::optional<StoreError> TokenMemory::load() {
  Statement rows = prepare(database_.get(), "SELECT lease, token, holder FROM tenure_fence_guard WHERE token <> 0");
  int code = rows.step();
  for (; code == SQLITE_ROW; code = rows.step()) {
    const std::string lease = rows.bytes(0);
    const auto token = parseFencingToken(rows.bytes(1));
    if (!token) return damagedFence("the fence's memory " + file_, lease, rows.bytes(1)).trouble()->error;
    known_[lease] = {lease, *token, rows.bytes(2)};
  }
  if (code != SQLITE_DONE) return trouble("reading it");
  Statement state = prepare(database_.get(), "SELECT clean FROM tenure_fence_state");
  code = state.step();
  // A new file has no row: nothing can have been left under way.
  clean_ = code == SQLITE_DONE || (code == SQLITE_ROW && state.integer(0) == 1);
  if (code != SQLITE_DONE && code != SQLITE_ROW) return trouble("reading it");
  if (!exec("INSERT INTO tenure_fence_state VALUES(1, 0) ON CONFLICT DO UPDATE SET clean = 0")) {
    return trouble("marking it as in use");
  }
  return std::nullopt;
}

void TokenMemory::start(Stored stored, std::chrono::milliseconds after, std::function<void()> wake) {
  stored_ = std::move(stored);
  wake_ = std::move(wake);
  after_ = after;
  started_ = readClock();
  thread_ = detail::startThread("tenure-fence", [this] { run(); });
}

void TokenMemory::store(const TermStamp& stamp) {
  const std::lock_guard lock{mutex_};
  TermStamp& pending = pending_[stamp.lease];
  if (pending.token <= stamp.token) pending = stamp;
  changed_.notify_one();
}

void TokenMemory::run() {
  std::unique_lock lock{mutex_};
  for (;;) {
    const auto left = after_ - elapsedForChallenger(started_, readClock());
    if (wake_ && left.count() <= 0) {
      const auto wake = std::exchange(wake_, nullptr);
      lock.unlock();
      wake();
      lock.lock();
      continue;
    }
    if (!pending_.empty()) {
      const auto stamps = std::exchange(pending_, {});
      lock.unlock();
      writeAll(stamps);
      lock.lock();
      continue;
    }
    if (closing_) return;
    if (wake_) {
      changed_.wait_for(lock, left);
    } else {
      changed_.wait(lock);
    }
  }
}

TokenMemory::Written TokenMemory::write(const TermStamp& stamp) const {
  // Here too tokens only rise: whoever else may have written, the file never forgets.
  Statement row =
      prepare(database_.get(),
              "INSERT INTO tenure_fence_guard(lease, token, holder, since) VALUES(?1, ?2, ?3, ?4) "
              "ON CONFLICT(lease) DO UPDATE SET since = iif(excluded.token > token, excluded.since, since), "
              "token = excluded.token, holder = excluded.holder "
              "WHERE excluded.token > token OR (excluded.token = token AND holder = '')");
  const std::string since = wallClockTextForDisplay(wallClockMillisForDisplay());
  const auto token = static_cast<std::int64_t>(stamp.token.value());
  if (row.bind(1, stamp.lease).bind(2, token).bind(3, stamp.holder).bind(4, since).step() != SQLITE_DONE)
    return Written::no;
  // Somebody may have written a later token by hand: a term that the file knows to be over must not pass.
  Statement now = prepare(database_.get(), "SELECT token FROM tenure_fence_guard WHERE lease = ?1");
  if (now.bind(1, stamp.lease).step() != SQLITE_ROW) return Written::no;
  return now.integer(0) == token ? Written::yes : Written::later;
}

std::optional<FenceError> TokenMemory::faultAfter(Written written) const {
  const auto moved = identityTrouble();  // also explains why the file cannot be written
  if (moved) return fenceTrouble(*moved);
  if (written == Written::no) return fenceTrouble({ErrorClass::transient, trouble("writing a token").message});
  if (written == Written::later) {
    return fenceTrouble({ErrorClass::transient, "the fence's memory " + file_ +
                                                    " holds a later token, which another program wrote; start the "
                                                    "fence again, so that it knows of it"});
  }
  return std::nullopt;
}

void TokenMemory::writeAll(const std::map<std::string, TermStamp>& stamps) {
  Written written = exec("BEGIN IMMEDIATE") ? Written::yes : Written::no;
  for (auto stamp = stamps.begin(); written == Written::yes && stamp != stamps.end(); ++stamp) {
    written = write(stamp->second);
  }
  if (written == Written::yes && !exec("COMMIT")) written = Written::no;
  const std::optional<FenceError> error = faultAfter(written);
  if (sqlite3_get_autocommit(database_.get()) == 0) (void)exec("ROLLBACK");
  for (const auto& [lease, stamp] : stamps) stored_(stamp, error);
}

void TokenMemory::close(bool clean) {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock{mutex_};
      closing_ = true;
      changed_.notify_one();
    }
    thread_.join();
  }
  if (clean && database_) (void)exec("UPDATE tenure_fence_state SET clean = 1");
  database_.reset();
}

TokenMemory::~TokenMemory() { close(false); }

}  // namespace tenure::http_fence
