#include "connection.hpp"

#include <cctype>
#include <string_view>

#include <sqlite3.h>

namespace tenure::sqlite_store {

// A parameter that could not be bound (too big, out of memory) would silently be NULL, so the statement must not run.
void Statement::note(int bindResult) noexcept {
  if (bindFailure_ == SQLITE_OK) bindFailure_ = bindResult;
}

void Statement::bind(int parameter, std::int64_t value) {
  note(sqlite3_bind_int64(statement_.get(), parameter, value));
}

void Statement::bind(int parameter, std::string_view text) {
  // A null pointer would bind NULL.
  const char* data = text.data() == nullptr ? "" : text.data();
  note(sqlite3_bind_text64(statement_.get(), parameter, data, text.size(), SQLITE_STATIC, SQLITE_UTF8));
}

void Statement::bindBlob(int parameter, std::string_view bytes) {
  const char* data = bytes.data() == nullptr ? "" : bytes.data();
  note(sqlite3_bind_blob64(statement_.get(), parameter, data, bytes.size(), SQLITE_STATIC));
}

void Statement::bindNull(int parameter) { note(sqlite3_bind_null(statement_.get(), parameter)); }

int Statement::step() { return bindFailure_ != SQLITE_OK ? bindFailure_ : sqlite3_step(statement_.get()); }

int Statement::run() {
  int code = SQLITE_ROW;
  while (code == SQLITE_ROW) code = step();
  reset();
  return code == SQLITE_DONE ? SQLITE_OK : code;
}

void Statement::reset() noexcept {
  if (!statement_) return;  // its connection was dropped after an error
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
  bindFailure_ = SQLITE_OK;
}

bool Statement::isNull(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }
bool Statement::isInteger(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_INTEGER; }
bool Statement::isText(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_TEXT; }
bool Statement::isBlob(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_BLOB; }
std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }

std::string Statement::bytes(int column) const {
  // Requested as text, it comes in UTF-8 whatever the database's encoding is.
  const void* data = isText(column) ? static_cast<const void*>(sqlite3_column_text(statement_.get(), column))
                                    : sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return data == nullptr ? std::string{} : std::string(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }

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
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '/' || c == '.' || c == '-' || c == '_';
    constexpr std::string_view hex = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    uri += plain ? std::string{c} : std::string{'%', hex[byte >> 4U], hex[byte & 15U]};
  }
  if (isAtRest) uri += "?immutable=1";
  sqlite3* opened = nullptr;
  const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int code = sqlite3_open_v2(uri.c_str(), &opened, flags, nullptr);
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
