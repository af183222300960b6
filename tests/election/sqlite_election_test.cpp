// The elector over the real SQLite store, when the file itself has a problem.
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <tenure/election/leader_elector.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>
#include <tenure/lockcore/stores/sqlite_store.hpp>

#include "support/lateness_probe.hpp"
#include "support/temp_dir.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

constexpr auto lease = 800ms;
constexpr auto patience = 20s;

/// An elector over a file, with a record of its callbacks.
class Recorded {
  template <class F>
  auto under(F&& f) {
    const std::lock_guard lock{mutex_};
    return f();
  }
  template <class F>
  void note(F&& f) {
    under(f);
    told_.notify_all();
  }

 public:
  explicit Recorded(const std::string& path, LeaseOptions timing = {.duration = lease})
      : Recorded{makeSqliteStore({path}), timing} {}
  explicit Recorded(std::shared_ptr<LeaseStore> store, LeaseOptions timing = {.duration = lease})
      : elector{Group::make({"recorded", {"candidate"}, timing}, std::move(store)).value(),
                {.onElected =
                     [this](const Leadership& term) {
                       note([&] { tokens_.push_back(term.fencingToken()), electedAt_ = readClock(); });
                     },
                 .onRevoked = [this](const TermEnd& why) { note([&] { reasons_.push_back(why.reason); }); }}} {
    elector.start();
  }

  [[nodiscard]] bool awaitTerms(std::size_t count) {
    std::unique_lock lock{mutex_};
    return told_.wait_for(lock, patience, [&] { return tokens_.size() >= count; });
  }
  [[nodiscard]] bool awaitRevocations(std::size_t count) {
    std::unique_lock lock{mutex_};
    return told_.wait_for(lock, patience, [&] { return reasons_.size() >= count; });
  }
  [[nodiscard]] std::vector<FencingToken> tokens() {
    return under([&] { return tokens_; });
  }
  [[nodiscard]] std::vector<RevokeReason> reasons() {
    return under([&] { return reasons_; });
  }
  [[nodiscard]] Instant electedAt() {
    return under([&] { return electedAt_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable told_;
  std::vector<FencingToken> tokens_;
  std::vector<RevokeReason> reasons_;
  Instant electedAt_{};

 public:
  LeaderElector elector;  // last: its callbacks use the members above
};

/// Another program that holds the write lock of the file.
class ForeignWriter {
 public:
  explicit ForeignWriter(const std::string& path) {
    EXPECT_EQ(sqlite3_open(path.c_str(), &db_), SQLITE_OK);
    sqlite3_busy_timeout(db_, 5000);
    EXPECT_EQ(sqlite3_exec(db_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  }
  ~ForeignWriter() { sqlite3_close(db_); }
  ForeignWriter(const ForeignWriter&) = delete;
  ForeignWriter& operator=(const ForeignWriter&) = delete;
  void letGo() { EXPECT_EQ(sqlite3_exec(db_, "COMMIT", nullptr, nullptr, nullptr), SQLITE_OK); }

 private:
  sqlite3* db_{nullptr};
};

TEST(SqliteElection, ALongForeignWriteLockEndsTheTermAndAnElectionFollowsInALease) {
  const TempDir dir;
  const std::string path = dir.path() / "leases.db";
  Recorded candidate{path};
  ASSERT_TRUE(candidate.awaitTerms(1));

  const LatenessProbe probe;
  ForeignWriter writer{path};
  const Instant locked = readClock();
  ASSERT_TRUE(candidate.awaitRevocations(1));
  EXPECT_FALSE(candidate.elector.isLeader());
  EXPECT_LT(elapsedForHolder(locked, readClock()), lease + 100ms + 2 * probe.worst())
      << "revoked by the deadline, not by the lock";
  while (elapsedForHolder(locked, readClock()) < lease * 3 / 2) {
    EXPECT_FALSE(candidate.elector.isLeader());
    std::this_thread::sleep_for(5ms);  // lint-allow(sleep): the time for which the lock is held
  }
  writer.letGo();
  const Instant free = readClock();
  ASSERT_TRUE(candidate.awaitTerms(2));
  EXPECT_LT(elapsedForHolder(free, candidate.electedAt()), lease + 2 * probe.worst());
  EXPECT_EQ(candidate.reasons(), std::vector{RevokeReason::storeUnreachable});
  EXPECT_GT(candidate.tokens()[1], candidate.tokens()[0]);
}

TEST(SqliteElection, ADeletedDatabaseRevokesAndTheNextTokenIsStillHigher) {
  const TempDir dir;
  const std::string path = dir.path() / "leases.db";
  Recorded candidate{path};
  ASSERT_TRUE(candidate.awaitTerms(1));
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);
  ASSERT_TRUE(candidate.awaitRevocations(1));
  EXPECT_EQ(candidate.reasons(), std::vector{RevokeReason::recordMissing});
  ASSERT_TRUE(candidate.awaitTerms(2));
  EXPECT_GT(candidate.tokens()[1], candidate.tokens()[0]) << "the counter went with the file, the candidate remembers";
}

#if !defined(__SANITIZE_THREAD__)  // ThreadSanitizer ends a child that starts threads if its parent had some
/// True if all other threads of this process sleep: then none of them is inside an allocator, whose locks a fork would
/// copy. The C library takes its own locks around a fork; AddressSanitizer's allocator does not.
bool othersSleep() {
  for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
    if (task.path().filename() == std::to_string(gettid())) continue;
    std::ifstream file{task.path() / "stat"};
    std::string stat;
    std::getline(file, stat);
    const std::size_t name = stat.rfind(')');
    if (name == std::string::npos || stat.compare(name, 3, ") S") != 0) return false;
  }
  return true;
}

/// daemon(3) and pre-forking servers: what the child creates for itself works, whatever its parent had. (The parent's
/// elector does not use SQLite here: a fork while another thread is inside SQLite leaves locked mutexes to the child.)
TEST(SqliteElection, AForkedChildThatMakesItsOwnElectorIsElected) {
  const TempDir dir;
  const std::string path = dir.path() / "leases.db";
  std::optional<Recorded> parents{std::in_place, makeMemoryStore()};
  ASSERT_TRUE(parents->awaitTerms(1));
  while (!othersSleep()) std::this_thread::yield();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    bool elected = false;
    {
      Recorded own{path};
      elected = own.awaitTerms(1) && own.elector.isLeader() && !parents->elector.isLeader();
      elected = elected && own.elector.stop() == ReleaseResult::released;
    }
    _exit(elected ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(parents->elector.isLeader()) << "the parent is not affected";
}
#endif

/// The next heartbeat is an hour away: only a notification of the kernel can tell.
class LostDatabase : public testing::TestWithParam<std::string> {};

TEST_P(LostDatabase, revokesALeaderAtOnce) {
  const TempDir directory;
  const std::string path = directory.file("leases.db");
  Recorded leader{path, {.duration = 3h, .heartbeat = 1h}};
  ASSERT_TRUE(leader.awaitTerms(1));
  std::this_thread::sleep_for(300ms);  // lint-allow(sleep): a change that comes before the watch is seen another way
  if (GetParam() == "withoutItsLog") {
    std::filesystem::remove(path + "-wal");
    std::filesystem::remove(path + "-shm");
  } else if (GetParam() == "removed") {
    std::filesystem::remove(path);
  } else if (GetParam() == "renamed") {
    std::filesystem::rename(path, directory.file("moved.db"));
  } else {
    std::filesystem::copy_file(path, directory.file("copy.db"));
    std::filesystem::rename(directory.file("copy.db"), path);
  }
  ASSERT_TRUE(leader.awaitRevocations(1));
  EXPECT_EQ(leader.reasons().front(), RevokeReason::recordMissing);
}

INSTANTIATE_TEST_SUITE_P(Ways, LostDatabase, testing::Values("removed", "renamed", "replaced", "withoutItsLog"),
                         [](const auto& way) { return way.param; });

}  // namespace
}  // namespace tenure::test
