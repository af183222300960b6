#include "connection.hpp"

#include <string_view>

#include <sqlite3.h>

#include "lockcore/port/ascii_text.hpp"

namespace tenure::sqlite_store {
namespace {

constexpr const char* lookName = "tenure-look";

sqlite3_vfs* behindLook = nullptr;

/// SQLite makes a missing -wal file also for a connection that only reads, and files may vanish at any moment.
int openToLook(sqlite3_vfs* /*self*/, const char* name, sqlite3_file* file, int flags, int* outFlags) {
  constexpr int shared = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL;
  if ((flags & shared) != 0) {
    flags &= ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    flags |= SQLITE_OPEN_READONLY;
  }
  return behindLook->xOpen(behindLook, name, file, flags, outFlags);
}

int refuseToRemove(sqlite3_vfs* /*self*/, const char* /*name*/, int /*sync*/) { return SQLITE_IOERR_DELETE; }

/// The default file system of SQLite, but it makes and removes none of the database's files.
const char* vfsToLook() {
  static const bool registered = [] {
    static sqlite3_vfs look;
    behindLook = sqlite3_vfs_find(nullptr);
    if (behindLook == nullptr) return false;
    look = *behindLook;
    look.zName = lookName;
    look.pNext = nullptr;
    look.xOpen = openToLook;
    look.xDelete = refuseToRemove;
    return sqlite3_vfs_register(&look, 0) == SQLITE_OK;
  }();
  return registered ? lookName : nullptr;
}

}  // namespace

int Connection::open(const std::string& path, bool mayCreate) {
  // NOMUTEX: each connection is used by one thread. EXRESCODE: results are extended codes.
  const int flags =
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | (mayCreate ? SQLITE_OPEN_CREATE : 0);
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &opened, flags, nullptr);
  connection_.reset(opened);  // SQLite sets the handle also after most failures, for its message
  return code;
}

int Connection::openToRead(const std::string& path, bool isAtRest) {
  std::string uri = "file:";
  for (const char c : path) {
    const bool plain = isLetter(c) || isDigit(c) || c == '/' || c == '.' || c == '-' || c == '_';
    constexpr std::string_view hex = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    uri += plain ? std::string{c} : std::string{'%', hex[byte >> 4U], hex[byte & 15U]};
  }
  uri += isAtRest ? "?immutable=1" : "?readonly_shm=1";
  sqlite3* opened = nullptr;
  const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int code = sqlite3_open_v2(uri.c_str(), &opened, flags, vfsToLook());
  connection_.reset(opened);
  return code;
}

int Connection::run(const char* sql) { return sqlite3_exec(raw(), sql, nullptr, nullptr, nullptr); }

int Connection::prepare(const char* sql, Statement& out) {
  sqlite3_stmt* prepared = nullptr;
  const int code = sqlite3_prepare_v3(raw(), sql, -1, SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
  out = Statement{prepared};
  return code;
}

int Connection::queryText(const char* sql, std::optional<std::string>& out) {
  Statement statement;
  if (const int code = prepare(sql, statement); code != SQLITE_OK) return code;
  const int code = statement.step();
  out.reset();
  if (code == SQLITE_ROW) out = statement.bytes(0);
  return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

bool Connection::inTransaction() const noexcept { return sqlite3_get_autocommit(raw()) == 0; }

bool Connection::isReadOnly() const noexcept { return sqlite3_db_readonly(raw(), "main") == 1; }

bool Connection::hasMoved() const noexcept {
  int moved = 0;
  return sqlite3_file_control(raw(), "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved != 0;
}

void Connection::leaveFilesAloneOnClose() noexcept {
  if (raw() != nullptr) sqlite3_db_config(raw(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

int Connection::lastCode() const noexcept { return sqlite3_extended_errcode(raw()); }

std::string Connection::lastMessage() const { return raw() == nullptr ? "out of memory" : sqlite3_errmsg(raw()); }

int Connection::lastErrno() const noexcept {
  if (raw() == nullptr) return 0;
  // sqlite3_system_errno() gives errno as it was some steps later. SQLite's file objects remember the errno of their
  // own failure.
  sqlite3_file* log = nullptr;
  int found = 0;
  sqlite3_file_control(raw(), "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  if (log != nullptr && log->pMethods != nullptr) log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &found);
  if (found == 0) sqlite3_file_control(raw(), "main", SQLITE_FCNTL_LAST_ERRNO, &found);
  return found != 0 ? found : sqlite3_system_errno(raw());
}

void Connection::Close::operator()(sqlite3* connection) const noexcept { sqlite3_close_v2(connection); }

}  // namespace tenure::sqlite_store
