// The fence for SQLite with an error at each statement, system call and allocation of SQLite, one at a time.
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/adapters/sqlite_fence.hpp>

#include "stores/sqlite/faulty_allocations.hpp"
#include "stores/sqlite/faulty_vfs.hpp"
#include "stores/sqlite/sqlite_support.hpp"
#include "support/temp_dir.hpp"

namespace tenure::sqlite_test {
namespace {

using namespace std::chrono_literals;

/// Done before anything else in this program uses SQLite.
[[maybe_unused]] const bool allocationsAreCounted = [] {
  countAllocations();
  return true;
}();

TermStamp stamp(std::uint64_t token, std::string holder) { return {"billing", FencingToken{token}, std::move(holder)}; }

using Faults = std::vector<FaultPlan>;

Faults allFaults() {
  return {
      {.call = "read"},
      {.call = "read", .code = SQLITE_CORRUPT},
      {.call = "write"},
      {.call = "write", .kind = FaultKind::diskFull},
      {.call = "write", .kind = FaultKind::afterwards},
      {.call = "sync"},
      {.call = "sync", .kind = FaultKind::afterwards},
      {.call = "truncate"},
      {.call = "delete"},
      {.call = "lock"},
      {.call = "lock", .code = SQLITE_BUSY},
      {.call = "unlock", .kind = FaultKind::afterwards},
      {.call = "open", .code = SQLITE_CANTOPEN},
      {.call = "file size"},
      {.call = "access"},
      {.call = "shm map"},
      {.call = "shm lock"},
      {.call = "shm lock", .code = SQLITE_BUSY},
      {.call = "prepare", .code = SQLITE_NOMEM},
      {.call = "exec"},
      {.call = "exec", .kind = FaultKind::rollsBack, .code = SQLITE_FULL},
      {.call = "step"},
      {.call = "step", .kind = FaultKind::rollsBack},
      {.call = "step", .kind = FaultKind::rollsBack, .code = SQLITE_FULL},
      {.call = "step", .kind = FaultKind::afterwards},
      {.call = "step", .code = SQLITE_BUSY},
      {.call = "allocation"},
  };
}

struct Close {
  void operator()(sqlite3* database) const noexcept { sqlite3_close_v2(database); }
};

class SqliteFenceErrors : public testing::TestWithParam<const char*> {
 protected:
  using Call = std::function<std::optional<FenceError>(SqliteFence&)>;

  /// Checks the database as it is after an error at each point of `call`; `judge` gets the answer.
  int failEverywhere(const Call& call, const std::function<void(const std::optional<FenceError>&, Shell&)>& judge) {
    int points = 0;
    for (FaultPlan plan : allFaults()) {
      for (plan.nth = 1; !HasFailure(); ++plan.nth) {
        SCOPED_TRACE(plan.call + " number " + std::to_string(plan.nth) + ", code " + std::to_string(plan.code) +
                     ", kind " + std::to_string(static_cast<int>(plan.kind)));
        if (!failAt(plan, call, judge)) break;
        ++points;
      }
    }
    RecordProperty("points", points);
    return points;
  }

  static Call writes(TermStamp term) {
    return [term](SqliteFence& fence) -> std::optional<FenceError> {
      const auto written = fence.write(term, [](sqlite3* database) {
        return sqlite3_exec(database, "INSERT INTO ledger(entry) VALUES('new')", nullptr, nullptr, nullptr);
      });
      return written ? std::nullopt : std::optional{written.error()};
    };
  }

  FaultyVfs vfs_{FaultyVfs::Syncs::counted};

 private:
  bool failAt(const FaultPlan& plan, const Call& call,
              const std::function<void(const std::optional<FenceError>&, Shell&)>& judge) {
    const test::TempDir directory;
    const std::string path = directory.file("user.db");
    sqlite3* raw = nullptr;
    EXPECT_EQ(sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr), SQLITE_OK);
    const std::unique_ptr<sqlite3, Close> database{raw};
    const std::string setUp = std::string{"PRAGMA journal_mode = "} + GetParam() +
                              "; PRAGMA synchronous = FULL; CREATE TABLE ledger(entry TEXT)";
    EXPECT_EQ(sqlite3_exec(raw, setUp.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    SqliteFence fence = SqliteFence::open(raw, {.busyTimeout = 20ms}).value();
    EXPECT_EQ(writes(stamp(5, "a#1"))(fence), std::nullopt);
    vfs_.arm(plan);
    const std::optional<FenceError> error = call(fence);
    const bool failed = !vfs_.disarm().empty();
    EXPECT_TRUE(failed || !error || error->writeError() == nullptr) << error->message;
    EXPECT_TRUE(error || vfs_.unsynced().empty()) << "done, but not on the disk: " << vfs_.unsynced();
    EXPECT_NE(sqlite3_get_autocommit(raw), 0) << "a transaction was left open";
    {
      Shell shell{path};
      shell.run("PRAGMA synchronous = OFF; PRAGMA busy_timeout = 2000; BEGIN IMMEDIATE; ROLLBACK");
      EXPECT_EQ(shell.value("SELECT count(*) FROM tenure_fence_guard WHERE ticket <> 0"), "0");
      judge(error, shell);
    }
    const auto next = writes(stamp(9, "z#1"))(fence);
    EXPECT_EQ(next, std::nullopt) << "the next write: " << next->message;
    EXPECT_EQ(fence.highestSeen("billing").value(), stamp(9, "z#1"));
    return failed;
  }
};

INSTANTIATE_TEST_SUITE_P(Journal, SqliteFenceErrors, testing::Values("WAL", "DELETE"),
                         [](const auto& journal) { return std::string{journal.param}; });

TEST_P(SqliteFenceErrors, aWriteIsStoredWithItsTokenOrNotAtAll) {
  const int points = failEverywhere(writes(stamp(6, "b#2")), [](const auto& error, Shell& shell) {
    const std::string found =
        shell.value("SELECT (SELECT count(*) FROM ledger) || ' ' || token || ' ' || holder FROM tenure_fence_guard");
    if (!error) {
      EXPECT_EQ(found, "2 6 b#2");
    } else {
      EXPECT_NE(error->writeError(), nullptr) << error->message;
      if (error->writeError() != nullptr && !error->writeError()->mayBeWritten) {
        EXPECT_EQ(found, "1 5 a#1") << error->message;
      }
      EXPECT_TRUE(found == "1 5 a#1" || found == "2 6 b#2") << found;
    }
  });
  EXPECT_GE(points, 60) << "the errors must have hit something";
}

TEST_P(SqliteFenceErrors, noFormerTermIsLetIn) {
  for (const TermStamp& former : {stamp(4, "b#2"), stamp(5, "b#2")}) {
    const int points = failEverywhere(writes(former), [](const auto& error, Shell& shell) {
      EXPECT_TRUE(error) << "a former leader has written";
      EXPECT_EQ(shell.value("SELECT count(*) FROM ledger"), "1");
      EXPECT_EQ(shell.value("SELECT token || holder FROM tenure_fence_guard"), "5a#1");
    });
    EXPECT_GE(points, 10) << "the errors must have hit something";
  }
}

TEST_P(SqliteFenceErrors, theHighestTermIsToldOrAnError) {
  const Call look = [](SqliteFence& fence) -> std::optional<FenceError> {
    const auto seen = fence.highestSeen("billing");
    if (seen.has_error()) return seen.error();
    EXPECT_EQ(*seen, stamp(5, "a#1"));
    return std::nullopt;
  };
  const int points = failEverywhere(look, [](const auto&, Shell& shell) {
    EXPECT_EQ(shell.value("SELECT token || holder FROM tenure_fence_guard"), "5a#1");
  });
  EXPECT_GE(points, 6) << "the errors must have hit something";
}

}  // namespace
}  // namespace tenure::sqlite_test
