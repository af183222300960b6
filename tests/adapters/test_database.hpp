// A connection for tests: errors throw, and so fail the test.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>

#include <sqlite3.h>

namespace tenure::test {

class TestDatabase {
 public:
  explicit TestDatabase(const std::string& file) {
    sqlite3* raw = nullptr;
    const int code = sqlite3_open_v2(file.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    database_.reset(raw);
    if (code != SQLITE_OK) throw std::runtime_error{"opening " + file + ": " + sqlite3_errmsg(raw)};
  }

  [[nodiscard]] sqlite3* raw() const noexcept { return database_.get(); }

  void exec(const std::string& sql) const {
    if (tryExec(sql) != SQLITE_OK) throw std::runtime_error{sql + ": " + message()};
  }
  int tryExec(const std::string& sql) const {
    return sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  }
  [[nodiscard]] std::string message() const { return sqlite3_errmsg(database_.get()); }

  /// The first column of the first row; empty text for NULL, an exception if there is no row.
  [[nodiscard]] std::string text(const std::string& sql) const {
    std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> statement{nullptr, &sqlite3_finalize};
    sqlite3_stmt* raw = nullptr;
    if (sqlite3_prepare_v2(database_.get(), sql.c_str(), -1, &raw, nullptr) != SQLITE_OK) {
      throw std::runtime_error{sql + ": " + message()};
    }
    statement.reset(raw);
    if (sqlite3_step(raw) != SQLITE_ROW) throw std::runtime_error{sql + ": no row; " + message()};
    const unsigned char* bytes = sqlite3_column_text(raw, 0);
    return bytes == nullptr ? std::string{} : std::string{reinterpret_cast<const char*>(bytes)};
  }
  [[nodiscard]] std::int64_t number(const std::string& sql) const { return std::stoll(text(sql)); }

  /// Waits for locks as an ordinary program does. For readers and set-up; not for a fence.
  void waitForLocks(std::chrono::milliseconds limit) const {
    sqlite3_busy_timeout(database_.get(), static_cast<int>(limit.count()));
  }

 private:
  struct Close {
    // sqlite3_close refuses while statements are left: that is a leak, and a test must not hide it.
    void operator()(sqlite3* database) const noexcept {
      if (sqlite3_close(database) != SQLITE_OK) std::terminate();
    }
  };
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace tenure::test
