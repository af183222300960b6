// The fence under load: threads and processes that race, and processes that are killed in the middle of a write.
#include <atomic>
#include <barrier>
#include <csignal>
#include <cstdlib>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include <tenure/adapters/sqlite_fence.hpp>
#include <tenure/lockcore/clock.hpp>

#include "adapters/ledger.hpp"
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
  const bool admitted = !fenceRefusal(former, fenceOne.highestSeen("ledger").value());
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
  std::atomic<int> troubles{0};
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
        ++troubles;
      }
    }
  };
  std::thread one{race, "a"};
  std::thread two{race, "b"};
  start.arrive_and_wait();
  std::vector<std::string> seenMeanwhile;
  while (accepted + stale + troubles < writes && seenMeanwhile.empty()) seenMeanwhile = test::faultsOfLedger(reader_);
  one.join();
  two.join();
  EXPECT_EQ(test::faultsOfLedger(reader_), std::vector<std::string>{});
  EXPECT_EQ(seenMeanwhile, std::vector<std::string>{});
  EXPECT_EQ(troubles, 0);
  EXPECT_EQ(accepted + stale, 2 * writes);
  EXPECT_EQ(rows(), accepted);
  EXPECT_GT(stale, 0) << "the threads never met";
  RecordProperty("accepted", accepted);
  RecordProperty("stale", stale);
}

/// A process of the helper program; it is killed when the object is destroyed.
class Writer {
 public:
  Writer(const std::string& file, const std::string& tokens, const std::string& holder) {
    std::string arguments[] = {TENURE_FENCE_WRITER, file, tokens, holder};
    char* argv[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(), arguments[3].data(), nullptr};
    if (posix_spawn(&pid_, argv[0], nullptr, nullptr, argv, environ) != 0) throw std::runtime_error{"posix_spawn"};
  }
  ~Writer() { kill(); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// SIGKILL. True if that ended it: it had no error of its own.
  bool kill() {
    if (pid_ < 0) return true;
    ::kill(pid_, SIGKILL);
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFSIGNALED(status);
  }

 private:
  pid_t pid_{-1};
};

class SqliteFenceCrash : public SqliteFenceRace {
 protected:
  SqliteFenceCrash() {
    tokens_.exec(
        "PRAGMA journal_mode = WAL; CREATE TABLE counter(token INTEGER NOT NULL); INSERT INTO counter VALUES(0)");
  }
  [[nodiscard]] std::unique_ptr<Writer> start(const std::string& holder) const {
    return std::make_unique<Writer>(file_, directory_.file("tokens.db"), holder);
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
  std::unique_ptr<Writer> writers[] = {start("a-0"), start("b-0")};
  for (int round = 1; round <= 40; ++round) {
    ASSERT_TRUE(waitForRows(static_cast<std::int64_t>(1 + random.below(30)))) << "round " << round;
    const std::size_t victim = random.below(2);
    ASSERT_TRUE(writers[victim]->kill()) << "round " << round << ": the writer ended by itself";
    ASSERT_EQ(test::faultsOfLedger(reader_), std::vector<std::string>{}) << "round " << round;
    writers[victim] = start((victim == 0 ? "a-" : "b-") + std::to_string(round));
  }
  for (auto& writer : writers) EXPECT_TRUE(writer->kill());
  EXPECT_EQ(test::faultsOfLedger(reader_), std::vector<std::string>{});
  EXPECT_GT(reader_.number("SELECT count(DISTINCT holder) FROM ledger"), 10);
}

}  // namespace
}  // namespace tenure
