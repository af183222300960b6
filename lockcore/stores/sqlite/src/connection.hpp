// A thin owner of a connection.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lockcore/sqlite/statement.hpp"

namespace tenure::sqlite_store {

using sqlite::Statement;
using sqlite::StatementUse;

/// One connection, used by one thread. Functions return SQLITE_OK or an extended error code.
class Connection {
 public:
  Connection() noexcept = default;

  /// `mayCreate`: a missing file is created.
  [[nodiscard]] int open(const std::string& path, bool mayCreate);
  /// Creates nothing, not even for a moment, and needs no right to write. `isAtRest`: no log is looked for. Otherwise
  /// the -shm file is only read, by all connections that this process opens to the file meanwhile.
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

  [[nodiscard]] int lastCode() const noexcept;  ///< extended
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
