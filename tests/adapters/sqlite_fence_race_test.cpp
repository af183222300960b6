// The fence under load: threads and processes that race, and processes that are killed in the middle of a write.
#include <atomic>
#include <barrier>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/adapters/sqlite_fence.hpp>
#include <tenure/lockcore/clock.hpp>

#include "adapters/ledger.hpp"
#include "support/launched_process.hpp"
#include "support/seeded_random.hpp"
#include "support/temp_dir.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;
using test::TestDatabase;

class SqliteFenceRace : public testing::Test {
 protected:
  SqliteFenceRace() {
    reader_.exec("PRAGMA journal_mode = WAL");
    reader_.waitForLocks(30s);
    test::makeLedger(reader_);
    (void)SqliteFence::open(reader_.raw()).value();
  }
  [[nodiscard]] std::int64_t rows() const { return reader_.number("SELECT count(*) FROM ledger"); }

  const test::TempDir directory_;
  const std::string file_ = directory_.file("ledger.db");
  const TestDatabase reader_{file_};
};

TEST_F(SqliteFenceRace, theJudgeSeesACheckThatIsNotPartOfTheWrite) {
  const TestDatabase one{file_};
  const TestDatabase two{file_};
  const TermStamp former{"ledger", FencingToken{5}, "a"};
  const TermStamp latter{"ledger", FencingToken{6}, "b"};
  SqliteFence fenceOne = SqliteFence::open(one.raw()).value();
  SqliteFence fenceTwo = SqliteFence::open(two.raw()).value();
  EXPECT_EQ(test::faultsOfLedger(reader_), std::vector<std::string>{});
  const bool admitted = !termError(former, fenceOne.highestSeen("ledger").value());
  EXPECT_TRUE(fenceTwo.write(latter, [&](sqlite3* raw) { return test::writeLedger(raw, latter); }).has_value());
  ASSERT_TRUE(admitted);
  EXPECT_EQ(test::writeLedger(one.raw(), former), SQLITE_OK);
  EXPECT_EQ(test::faultsOfLedger(reader_),
            (std::vector<std::string>{"1 rows whose token is lower than the one before",
                                      "1 away is the guard's token from the ledger's last"}));
}

TEST_F(SqliteFenceRace, noStaleWriteIsAcceptedWhenTwoThreadsRace) {
  // More on demand: a million writes take about a minute.
  const char* wanted = std::getenv("TENURE_FENCE_RACE_WRITES");
  const int writes = wanted != nullptr ? std::atoi(wanted) / 2 : 10'000;
  std::atomic<std::uint64_t> lastToken{0};
  std::atomic<int> accepted{0};
  std::atomic<int> stale{0};
  std::atomic<int> errors{0};
  std::barrier start{3};
  const auto race = [&](const std::string& holder) {
    const TestDatabase database{file_};
    database.exec("PRAGMA synchronous = OFF");  // this test has no power failures
    SqliteFence fence = SqliteFence::open(database.raw(), {.busyTimeout = 60s}).value();
    TermStamp stamp{"ledger", {}, holder};
    start.arrive_and_wait();
    for (int write = 0; write < writes; ++write) {
      if (write % 20 == 0) stamp.token = FencingToken{++lastToken};
      const auto written = fence.write(stamp, [&](sqlite3* raw) { return test::writeLedger(raw, stamp); });
      if (written.has_value()) {
        ++accepted;
      } else if (written.error().stale() != nullptr) {
        ++stale;
      } else {
        ++errors;
      }
    }
  };
  std::thread one{race, "a"};
  std::thread two{race, "b"};
  start.arrive_and_wait();
  std::vector<std::string> seenMeanwhile;
  while (accepted + stale + errors < writes && seenMeanwhile.empty()) seenMeanwhile = test::faultsOfLedger(reader_);
  one.join();
  two.join();
  EXPECT_EQ(test::faultsOfLedger(reader_), std::vector<std::string>{});
  EXPECT_EQ(seenMeanwhile, std::vector<std::string>{});
  EXPECT_EQ(errors, 0);
  EXPECT_EQ(accepted + stale, 2 * writes);
  EXPECT_EQ(rows(), accepted);
  EXPECT_GT(stale, 0) << "the threads never met";
  RecordProperty("accepted", accepted);
  RecordProperty("stale", stale);
}

/// True if that ended it: it had no error of its own.
bool killed(test::LaunchedProcess& writer) {
  writer.signal(SIGKILL);
  return writer.wait() == 128 + SIGKILL;
}

class SqliteFenceCrash : public SqliteFenceRace {
 protected:
  SqliteFenceCrash() {
    tokens_.exec(
        "PRAGMA journal_mode = WAL; CREATE TABLE counter(token INTEGER NOT NULL); INSERT INTO counter VALUES(0)");
  }
  /// A process of the helper program.
  [[nodiscard]] std::unique_ptr<test::LaunchedProcess> start(const std::string& holder) const {
    const std::vector<std::string> command{TENURE_FENCE_WRITER, file_, directory_.file("tokens.db"), holder};
    return std::make_unique<test::LaunchedProcess>(command);
  }
  [[nodiscard]] bool waitForRows(std::int64_t more) const {
    const std::int64_t wanted = rows() + more;
    const Instant begin = readClock();
    while (rows() < wanted) {
      if (elapsedForChallenger(begin, readClock()) > 30s) return false;
    }
    return true;
  }

  const TestDatabase tokens_{directory_.file("tokens.db")};
};

TEST_F(SqliteFenceCrash, theLedgerStaysSoundWhenWritersAreKilledInTheMiddle) {
  test::SeededRandom random{20261121};
  std::unique_ptr<test::LaunchedProcess> writers[] = {start("a-0"), start("b-0")};
  for (int round = 1; round <= 40; ++round) {
    ASSERT_TRUE(waitForRows(static_cast<std::int64_t>(1 + random.below(30)))) << "round " << round;
    const std::size_t victim = random.below(2);
    ASSERT_TRUE(killed(*writers[victim])) << "round " << round << ": the writer ended by itself";
    ASSERT_EQ(test::faultsOfLedger(reader_), std::vector<std::string>{}) << "round " << round;
    writers[victim] = start((victim == 0 ? "a-" : "b-") + std::to_string(round));
  }
  for (auto& writer : writers) EXPECT_TRUE(killed(*writer));
  EXPECT_EQ(test::faultsOfLedger(reader_), std::vector<std::string>{});
  EXPECT_GT(reader_.number("SELECT count(DISTINCT holder) FROM ledger"), 10);
}

}  // namespace
}  // namespace tenure
