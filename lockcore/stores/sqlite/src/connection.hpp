// Thin owners of SQLite's handles.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace tenure::sqlite_store {

/// A prepared statement. Parameters and columns are numbered as SQLite numbers them: from 1 and from 0. Bound text
/// must live until the next reset().
class Statement {
 public:
  Statement() noexcept = default;
  explicit Statement(sqlite3_stmt* statement) noexcept : statement_{statement} {}

  void bind(int parameter, std::int64_t value);
  void bind(int parameter, std::string_view text);
  void bindBlob(int parameter, std::string_view bytes);
  void bindNull(int parameter);

  /// SQLITE_ROW, SQLITE_DONE or an extended error code.
  [[nodiscard]] int step();
  /// Steps to the end, then resets: SQLITE_OK or an extended error code. For statements without rows.
  [[nodiscard]] int run();
  /// Makes it ready for the next use; releases the read snapshot and the bound values.
  void reset() noexcept;

  [[nodiscard]] bool isNull(int column) const;
  [[nodiscard]] bool isInteger(int column) const;
  [[nodiscard]] bool isText(int column) const;
  [[nodiscard]] bool isBlob(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::string bytes(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept;
  };
  void note(int bindResult) noexcept;

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bindFailure_{0};  ///< the first one since the last reset; step() reports it
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

/// One connection, used by one thread. Functions return SQLITE_OK or an extended error code.
class Connection {
 public:
  Connection() noexcept = default;

  /// `mayCreate`: a missing file is created.
  [[nodiscard]] int open(const std::string& path, bool mayCreate);
  /// Creates nothing, and needs no right to write. `isAtRest`: nobody has the file open, so no log is looked for.
  [[nodiscard]] int openToRead(const std::string& path, bool isAtRest);
  [[nodiscard]] int run(const char* sql);
  [[nodiscard]] int prepare(const char* sql, Statement& out);
  /// The first column of the first row as text; nothing if there is no row.
  [[nodiscard]] int queryText(const char* sql, std::optional<std::string>& out);

  /// Whether a transaction is open.
  [[nodiscard]] bool inTransaction() const noexcept;
  [[nodiscard]] bool isReadOnly() const noexcept;
  /// Whether the path now names another file than the open one, compared by inode.
  [[nodiscard]] bool hasMoved() const noexcept;
  /// After this, closing neither writes the log back into the database nor deletes the log.
  void leaveFilesAloneOnClose() noexcept;

  [[nodiscard]] std::string lastMessage() const;
  /// errno of the last failed system call of SQLite; 0 if none.
  [[nodiscard]] int lastErrno() const noexcept;
  [[nodiscard]] sqlite3* raw() const noexcept { return connection_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* connection) const noexcept;
  };
  std::unique_ptr<sqlite3, Close> connection_;
};

}  // namespace tenure::sqlite_store
