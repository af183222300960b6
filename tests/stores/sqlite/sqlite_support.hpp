// What the tests of the SQLite store share.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sqlite3.h>

#include <tenure/lockcore/lease_store.hpp>
#include <tenure/lockcore/stores/sqlite_store.hpp>

#include "contract/store_calls.hpp"
#include "lockcore/port/extended_store.hpp"
#include "support/eventually.hpp"

namespace tenure::sqlite_test {

using contract::acquire;
using contract::describe;
using contract::isConflictWith;
using contract::newVersion;
using contract::patience;
using contract::recordOf;
using contract::release;
using contract::renew;
using contract::StoreCalls;

/// A store on `path` whose calls block and are counted.
class Store {
 public:
  explicit Store(const std::string& path, bool crashNotice = true, Logger logger = {});
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  StoreCalls* operator->() { return &*calls_; }
  [[nodiscard]] ExtendedStore& raw() { return calls_->raw(); }
  /// Ends the store; by then every call must have been answered once.
  void close();

 private:
  std::shared_ptr<contract::CallLedger> ledger_ = std::make_shared<contract::CallLedger>();
  std::optional<StoreCalls> calls_;
};

/// The view of the sqlite3 shell: a connection that does not know the store's code.
class Shell {
 public:
  explicit Shell(const std::string& path);
  /// Throws on errors.
  void run(const std::string& sql);
  /// Rows, columns joined by '|', as the shell prints them.
  [[nodiscard]] std::vector<std::string> rows(const std::string& sql);
  [[nodiscard]] std::string value(const std::string& sql);

 private:
  struct Close {
    void operator()(sqlite3* connection) const noexcept { sqlite3_close(connection); }
  };
  std::unique_ptr<sqlite3, Close> connection_;
};

inline constexpr test::Eventually eventually{contract::patience};

/// The error of an outcome that must be Rejected or Unknown; a test failure otherwise.
[[nodiscard]] StoreError errorOf(const WriteOutcome& outcome);

[[nodiscard]] bool contains(const std::string& text, const std::string& part);

/// The names in a directory, sorted.
[[nodiscard]] std::vector<std::string> filesIn(const std::string& directory);

/// Where the store keeps its liveness files.
[[nodiscard]] std::string sidecarOf(const std::string& database);

/// A one-shot signal between threads.
class Signal {
 public:
  void set();
  [[nodiscard]] bool wait(std::chrono::milliseconds atMost = contract::patience);
  [[nodiscard]] int count();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_{0};
};

}  // namespace tenure::sqlite_test
