// Each call of the store with an error at each statement, system call and allocation of SQLite, one at a time. The
// answer must be true for the stored data, and the store must continue afterwards.
#include <filesystem>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "error_operations.hpp"
#include "faulty_allocations.hpp"
#include "faulty_vfs.hpp"
#include "support/temp_dir.hpp"

namespace tenure::sqlite_test {
namespace {

using Kind = Answer::Kind;
using Faults = std::vector<FaultPlan>;

/// Done before anything else in this program uses SQLite.
[[maybe_unused]] const bool allocationsAreCounted = [] {
  countAllocations();
  return true;
}();

Faults systemCalls() {
  return {
      {.call = "open"},
      {.call = "open", .code = SQLITE_CANTOPEN},
      {.call = "access"},
      {.call = "file size"},
      {.call = "read"},
      {.call = "read", .code = SQLITE_CORRUPT},
      {.call = "read", .code = SQLITE_NOMEM},
      {.call = "write"},
      {.call = "write", .kind = FaultKind::afterwards},
      {.call = "write", .kind = FaultKind::diskFull},
      {.call = "write", .code = SQLITE_READONLY},
      {.call = "sync"},
      {.call = "sync", .kind = FaultKind::afterwards},
      {.call = "truncate"},
      {.call = "delete"},
      {.call = "lock"},
      {.call = "lock", .code = SQLITE_BUSY},
      {.call = "unlock", .kind = FaultKind::afterwards},
      {.call = "look at lock"},
      {.call = "shm map"},
      {.call = "shm map", .code = SQLITE_NOMEM},
      {.call = "shm lock"},
      {.call = "shm lock", .code = SQLITE_BUSY},
  };
}

Faults statements() {
  return {
      {.call = "prepare", .code = SQLITE_NOMEM},
      {.call = "prepare", .code = SQLITE_CORRUPT},
      {.call = "exec", .code = SQLITE_BUSY},
      {.call = "exec", .kind = FaultKind::rollsBack, .code = SQLITE_FULL},
      {.call = "step"},
      {.call = "step", .sticky = true},
      {.call = "step", .kind = FaultKind::afterwards},
      {.call = "step", .kind = FaultKind::rollsBack},
      {.call = "step", .kind = FaultKind::rollsBack, .code = SQLITE_FULL},
      {.call = "step", .code = SQLITE_FULL},
      {.call = "step", .code = SQLITE_BUSY},
      {.call = "step", .code = SQLITE_NOMEM},
      {.call = "step", .code = SQLITE_READONLY},
      {.call = "step", .code = SQLITE_CORRUPT},
  };
}

std::string textOf(const FaultPlan& plan) {
  const char* const kinds[] = {"", ", half done", ", done all the same", ", rolled back"};
  return "error " + std::to_string(plan.code) + kinds[static_cast<int>(plan.kind)] + (plan.sticky ? ", for good" : "") +
         " at " + plan.call + " number " + std::to_string(plan.nth);
}

std::size_t openDescriptors() { return filesIn("/proc/self/fd").size(); }

/// Reads the database as other programs see it.
class Judge {
 public:
  explicit Judge(const std::string& path) {
    if (!std::filesystem::exists(path)) return;
    shell_.emplace(path);
    shell_->run("PRAGMA synchronous = OFF; PRAGMA busy_timeout = 5000");
    hasTables_ = shell_->value("SELECT count(*) FROM sqlite_schema WHERE name = 'tenure_lease'") == "1";
  }
  /// All rows of leases and counters; empty: there are none, or no tables.
  std::string rows() {
    std::string out;
    if (!hasTables_) return out;
    for (const char* table : {"lease", "fence"}) {
      for (const std::string& row : shell_->rows(std::string{"SELECT * FROM tenure_"} + table)) out += row + '\n';
    }
    return out;
  }
  std::string value(const std::string& sql) { return hasTables_ ? shell_->value(sql) : "(no tables)"; }
  std::uint64_t counter() {
    return hasTables_ ? std::stoull(value("SELECT coalesce(max(token), 0) FROM tenure_fence")) : 0;
  }
  /// Checks that nothing that a call left behind blocks other writers.
  void write() {
    if (shell_) shell_->run("BEGIN IMMEDIATE; ROLLBACK");
  }

 private:
  std::optional<Shell> shell_;
  bool hasTables_{false};
};

class SqliteErrors : public testing::TestWithParam<ErrorOperation> {
 protected:
  void SetUp() override {
    if (!operation().prepare) return;
    operation().prepare(original_);
    Judge judge{original_};
    rows_ = judge.rows();
    before_.version = RecordVersion{judge.value("SELECT record_version FROM tenure_lease")};
    if (operation().opens) return;
    Store store{original_};
    before_.tokens = store->tokens(errorKey());
  }

  [[nodiscard]] static const ErrorOperation& operation() { return GetParam(); }

  /// Returns how often an error was met; for each fault it continues until the call runs to its end without an error.
  int failEverywhere(const Faults& faults) {
    int points = 0;
    for (FaultPlan plan : faults) {
      plan.thread = operation().thread;
      int met = 0;
      for (plan.nth = 1; failAt(plan) && !HasFailure(); ++plan.nth) ++met;
      points += met;
      met_[plan.call] += met;
    }
    for (const auto& [call, count] : met_) RecordProperty(call, count);
    return points;
  }

  std::map<std::string, int> met_;

 private:
  /// False when the call ended before anything failed.
  bool failAt(const FaultPlan& plan) {
    SCOPED_TRACE(operation().name + ": " + textOf(plan));
    const test::TempDir directory;
    const std::string path = directory.file("leases.db");
    if (operation().prepare) std::filesystem::copy_file(original_, path);
    const std::size_t descriptors = openDescriptors();
    std::string failed;
    std::uint64_t token = 0;
    {
      Store store{path};
      if (!operation().opens) store->ensureSchema();
      vfs_.arm(plan);
      const Answer answer = operation().call(store, before_);
      failed = vfs_.disarm();
      const std::string unsynced = vfs_.unsynced();
      const bool isDone = answer.kind == Kind::applied || answer.kind == Kind::told;
      EXPECT_TRUE(!isDone || unsynced.empty()) << "answered " << answer.text << ", not on the disk: " << unsynced;
      EXPECT_TRUE(isDone || !failed.empty()) << "nothing failed, but the answer is " << answer.text;
      judge(answer, path, "as others see it");
      judge(answer, copyOf(path), "after a crash");
      token = goOn(store, path, answer);
    }
    EXPECT_EQ(openDescriptors(), descriptors) << "descriptors are left open";
    Judge after{path};
    EXPECT_EQ(after.counter(), token) << "the next acquisition is lost";
    EXPECT_EQ(after.value("PRAGMA integrity_check"), "ok");
    return !failed.empty();
  }

  /// The files as the end of the process would leave them at this moment.
  static std::string copyOf(const std::string& path) {
    const std::string copy = path + "-crash";
    for (const char* suffix : {"", "-wal", "-journal"}) {
      std::error_code none;
      std::filesystem::copy_file(path + suffix, copy + suffix, none);
    }
    return copy;
  }

  void judge(const Answer& answer, const std::string& path, const std::string& when) const {
    Judge database{path};
    database.write();
    const std::string what = when + ", answered " + answer.text;
    if (answer.kind == Kind::told) {
      EXPECT_EQ(answer.text, database.value(operation().told)) << what;
    }
    if (answer.storedIf.empty()) {
      if (operation().thread == "tenure-sqlite-r") {
        EXPECT_EQ(database.rows(), rows_) << what;
      }
      return;
    }
    const bool stored = database.value(answer.storedIf) == "1";
    EXPECT_TRUE(stored || database.rows() == rows_) << what << ": a part of it is stored: " << database.rows();
    EXPECT_TRUE(answer.kind != Kind::applied || stored) << what << ": not stored";
    EXPECT_TRUE(answer.kind != Kind::rejected || !stored) << what << ": stored";
    EXPECT_NE(answer.kind, Kind::conflict) << what << ": nobody else has written";
  }

  /// The same store, without a fault: its read shows the stored data, and its acquisition gets its own token.
  std::uint64_t goOn(Store& store, const std::string& path, const Answer& answer) const {
    const std::uint64_t counter = Judge{path}.counter();
    EXPECT_GE(counter, operation().prepare ? 1U : 0U) << "the counter went back";
    const ReadOutcome seen = store->startRead(errorKey())->get();
    if (seen.has_error()) {
      ADD_FAILURE() << "the next read: " << seen.error().message;
      return 0;
    }
    const auto& record = *seen;
    if (record && !record->vanished) {
      EXPECT_EQ(record->version.text(), Judge{path}.value("SELECT record_version FROM tenure_lease"));
    }
    const WriteRequest request =
        acquire(errorKey(), "a", record ? std::vector{record->version} : std::vector<RecordVersion>{});
    const WriteOutcome next = store->write(request);
    const auto* applied = std::get_if<Applied>(&next);
    if (applied == nullptr) {
      ADD_FAILURE() << "the next acquisition: " << describe(next);
      return 0;
    }
    EXPECT_GT(applied->token.value(), counter) << "a token for the second time";
    EXPECT_GT(applied->token.value(), answer.token) << "a token for the second time";
    store->apply(release(errorKey(), "a", {request.record.version}));  // else its liveness file stays open, on purpose
    return applied->token.value();
  }

  const test::TempDir directory_;
  FaultyVfs vfs_{FaultyVfs::Syncs::counted};
  const std::string original_ = directory_.file("original.db");
  std::string rows_;
  Before before_;
};

TEST_P(SqliteErrors, atEachSystemCallTheAnswerIsTrue) {
  const int points = failEverywhere(systemCalls());
  EXPECT_GE(points, operation().opens ? 30 : 8) << "the errors must have hit something";
  // A look at a database that nobody has open takes no lock.
  if (operation().opens && operation().thread == "tenure-sqlite-r") {
    EXPECT_EQ(met_["shm lock"], 0);
  } else {
    EXPECT_GT(met_["shm lock"], 0);
  }
  EXPECT_GT(met_["read"] + met_["write"], 0);
}

TEST_P(SqliteErrors, atEachStatementTheAnswerIsTrue) {
  const int points = failEverywhere(statements());
  EXPECT_GE(points, operation().opens ? 60 : 30) << "the errors must have hit something";
  EXPECT_GT(met_["step"], 0);
}

class SqliteAllocationErrors : public SqliteErrors {};

TEST_P(SqliteAllocationErrors, theAnswerIsTrue) {
  EXPECT_GE(failEverywhere({{.call = "allocation"}}), 10) << "the errors must have hit something";
}

/// Opening a database makes thousands of allocations, so calls that open one are not included.
std::vector<ErrorOperation> allocatingOperations() {
  std::vector<ErrorOperation> out;
  for (const ErrorOperation& operation : errorOperations()) {
    if (!operation.opens && operation.told.empty()) out.push_back(operation);
  }
  return out;
}

std::string nameOf(const testing::TestParamInfo<ErrorOperation>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Each, SqliteErrors, testing::ValuesIn(errorOperations()), nameOf);
INSTANTIATE_TEST_SUITE_P(Each, SqliteAllocationErrors, testing::ValuesIn(allocatingOperations()), nameOf);

}  // namespace
}  // namespace tenure::sqlite_test
