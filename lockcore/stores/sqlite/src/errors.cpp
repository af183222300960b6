#include "errors.hpp"

#include <utility>

#include <sqlite3.h>

#include "connection.hpp"
#include "lockcore/runtime/system_error.hpp"

namespace tenure::sqlite_store {
namespace {

int primary(int code) noexcept { return code & 0xFF; }

/// The file or the tables belong to another program. No candidate can repair that (but a candidate does create a
/// missing table).
bool isAnothers(int code, const std::string& message) {
  if (primary(code) == SQLITE_NOTADB) return true;
  return primary(code) == SQLITE_ERROR && (message.find("no such column") != std::string::npos ||
                                           message.find("has no column named") != std::string::npos);
}

/// What an operator can do; empty if the code itself says enough.
std::string adviceFor(int code, int systemErrno) {
  if (primary(code) == SQLITE_FULL || meansFull(systemErrno)) {
    return adviceOnFullDisk;
  }
  switch (primary(code)) {
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return "make the file, its -wal and -shm files and the directory writable for this user";
    case SQLITE_CANTOPEN:
      return "check that the path exists and this user may read and write it and its directory";
    case SQLITE_NOTADB:
      return "the file is not an SQLite database; give another path, or move the file away";
    case SQLITE_CORRUPT:
      return "the database is damaged; check it with: sqlite3 FILE 'PRAGMA integrity_check', restore it or remove it";
    case SQLITE_ERROR:
    case SQLITE_MISMATCH:
    case SQLITE_CONSTRAINT:
      return "the tenure_* tables are not as this version made them; restore them, or use a separate file for tenure";
    default:
      return {};
  }
}

}  // namespace

ErrorClass classOf(int code, int systemErrno) noexcept {
  switch (primary(code)) {
    case SQLITE_CORRUPT:
      return ErrorClass::corrupt;
    case SQLITE_CANTOPEN:
      return meansNoResources(systemErrno) ? ErrorClass::transient : ErrorClass::misconfigured;
    case SQLITE_READONLY:  // moved: the open file was replaced; the next call opens the new one
      return code == SQLITE_READONLY_DBMOVED ? ErrorClass::transient : ErrorClass::misconfigured;
    case SQLITE_NOTADB:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_ERROR:
    case SQLITE_MISMATCH:
    case SQLITE_CONSTRAINT:
    case SQLITE_TOOBIG:
      return ErrorClass::misconfigured;
    default:
      return ErrorClass::transient;
  }
}

bool connectionSurvives(int code) noexcept {
  switch (primary(code)) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_FULL:
    case SQLITE_TOOBIG:
    case SQLITE_CONSTRAINT:
      return true;
    default:
      return false;
  }
}

StoreError sqliteError(const std::string& store, const std::string& what, int code, const Connection& connection) {
  const int systemErrno = primary(code) == SQLITE_BUSY ? 0 : connection.lastErrno();
  std::string message = store + ": " + what + ": " + connection.lastMessage() + " (" + sqlite3_errstr(code) +
                        ", code " + std::to_string(code) + ")";
  if (systemErrno != 0) message += ", " + errnoText(systemErrno);
  if (const std::string advice = adviceFor(code, systemErrno); !advice.empty()) message += "; " + advice;
  return {classOf(code, systemErrno), std::move(message), isAnothers(code, connection.lastMessage())};
}

}  // namespace tenure::sqlite_store
