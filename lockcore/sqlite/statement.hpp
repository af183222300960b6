// A prepared statement of SQLite, for the store and the fences. In a header, so that neither links the other's library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <sqlite3.h>

namespace tenure::sqlite {

/// Parameters and columns are numbered as SQLite numbers them: from 1 and from 0. Bound text must live until the next
/// reset(). Belongs to one thread, and ends before its connection.
class Statement {
 public:
  Statement() noexcept = default;
  /// Null: every step is an error.
  explicit Statement(sqlite3_stmt* statement) noexcept : statement_{statement} {}

  Statement& bind(int parameter, std::int64_t value) noexcept {
    return note(sqlite3_bind_int64(statement_.get(), parameter, value));
  }
  Statement& bind(int parameter, std::string_view text) noexcept {
    return note(
        sqlite3_bind_text64(statement_.get(), parameter, dataOf(text), text.size(), SQLITE_STATIC, SQLITE_UTF8));
  }
  Statement& bindBlob(int parameter, std::string_view bytes) noexcept {
    return note(sqlite3_bind_blob64(statement_.get(), parameter, dataOf(bytes), bytes.size(), SQLITE_STATIC));
  }

  /// SQLITE_ROW, SQLITE_DONE or an error code.
  [[nodiscard]] int step() { return bindFailure_ != SQLITE_OK ? bindFailure_ : sqlite3_step(statement_.get()); }
  /// Steps to the end, then resets: SQLITE_OK or an error code. For statements without rows.
  [[nodiscard]] int run() {
    int code = SQLITE_ROW;
    while (code == SQLITE_ROW) code = step();
    reset();
    return code == SQLITE_DONE ? SQLITE_OK : code;
  }
  /// Makes it ready for the next use; releases the read snapshot and the bound values.
  void reset() noexcept {
    if (!statement_) return;  // its connection was dropped after an error
    sqlite3_reset(statement_.get());
    sqlite3_clear_bindings(statement_.get());
    bindFailure_ = SQLITE_OK;
  }

  [[nodiscard]] bool isNull(int column) const noexcept { return typeOf(column) == SQLITE_NULL; }
  [[nodiscard]] bool isInteger(int column) const noexcept { return typeOf(column) == SQLITE_INTEGER; }
  [[nodiscard]] bool isText(int column) const noexcept { return typeOf(column) == SQLITE_TEXT; }
  [[nodiscard]] bool isBlob(int column) const noexcept { return typeOf(column) == SQLITE_BLOB; }
  [[nodiscard]] std::int64_t integer(int column) const noexcept {
    return sqlite3_column_int64(statement_.get(), column);
  }
  /// Text comes in UTF-8 whatever the database's encoding is, numbers as text; empty also if there was no memory.
  [[nodiscard]] std::string bytes(int column) const {
    const void* data = isText(column) ? static_cast<const void*>(sqlite3_column_text(statement_.get(), column))
                                      : sqlite3_column_blob(statement_.get(), column);
    const int size = sqlite3_column_bytes(statement_.get(), column);
    if (data == nullptr) return {};
    return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
  }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
  };
  /// SQLite would bind NULL for a null pointer.
  [[nodiscard]] static const char* dataOf(std::string_view text) noexcept {
    return text.data() == nullptr ? "" : text.data();
  }
  /// A parameter that could not be bound (too big, out of memory) would silently be NULL, so the statement must not
  /// run.
  Statement& note(int bindResult) noexcept {
    if (bindFailure_ == SQLITE_OK) bindFailure_ = bindResult;
    return *this;
  }
  [[nodiscard]] int typeOf(int column) const noexcept { return sqlite3_column_type(statement_.get(), column); }

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bindFailure_{SQLITE_OK};  ///< the first one since the last reset; step() reports it
};

/// Resets a statement when a use of it ends, however it ends.
class StatementUse {
 public:
  explicit StatementUse(Statement& statement) noexcept : statement_{statement} {}
  ~StatementUse() { statement_.reset(); }
  StatementUse(const StatementUse&) = delete;
  StatementUse& operator=(const StatementUse&) = delete;

 private:
  Statement& statement_;
};

}  // namespace tenure::sqlite
