// `tenure run` when something fails: supervisors are killed and frozen, guards are killed, the store is blocked. The
// judge is what the jobs wrote.
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "cli/group_fixture.hpp"
#include "cli/run/guard_channel.hpp"
#include "cli/text/exit_codes.hpp"

namespace tenure::test {
namespace {

constexpr long long leaseNanos = 2'000'000'000;

class RunFailuresTest : public GroupFixture {
 protected:
  /// Changes the database as somebody from outside the group would.
  void change(const std::string& sql) const {
    sqlite3* other = nullptr;
    ASSERT_EQ(sqlite3_open(database().c_str(), &other), SQLITE_OK);
    sqlite3_busy_timeout(other, 5000);
    EXPECT_EQ(sqlite3_exec(other, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(other);
    sqlite3_close(other);
  }

  /// A candidate whose first job is not looked at before its term has ended, because the store was blocked.
  [[nodiscard]] std::unique_ptr<Subprocess> endsBeforeItsJobBegins(const std::vector<std::string>& options) const {
    auto words = run(options, actingJob());
    words.front() = LATE_START;
    auto alice = std::make_unique<Subprocess>(words, as("alice"));
    EXPECT_TRUE(alice->saysOnStderr("elected with fencing token 1")) << alice->errors();
    sqlite3* blocker = nullptr;
    EXPECT_EQ(sqlite3_open(database().c_str(), &blocker), SQLITE_OK);
    sqlite3_busy_timeout(blocker, 5000);
    EXPECT_EQ(sqlite3_exec(blocker, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
    EXPECT_TRUE(alice->saysOnStderr("leadership ended before the job was started"));
    sqlite3_close(blocker);
    return alice;
  }
};

TEST_F(RunFailuresTest, KilledSupervisorsJobDiesAndAnotherCandidateTakesOver) {
  configure();
  Subprocess alice{run({}, actingJob("children")), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  Subprocess bob{run({}, actingJob()), as("bob")};
  ASSERT_TRUE(bob.saysOnStderr("the leader is alice ("));
  const Witness job{jobOf(1)};
  alice.signal(SIGKILL);
  EXPECT_TRUE(job.ended());
  ASSERT_TRUE(begins(2)) << bob.errors();
  const long long gap = firstAct(2) - lastAct(1);
  std::cout << "after SIGKILL, last act to first act: " << static_cast<double>(gap) / 1e6 << " ms\n";
  EXPECT_GT(gap, 0);
}

TEST_F(RunFailuresTest, JobThatClosesEverythingIsGoneBeforeTheNextOneActs) {
  configure();
  Subprocess alice{run({}, actingJob("ignore-term close-all")), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  Subprocess bob{run({}, actingJob()), as("bob")};
  ASSERT_TRUE(bob.saysOnStderr("the leader is alice ("));
  const Witness job{jobOf(1)};
  alice.signal(SIGKILL);
  ASSERT_TRUE(begins(2)) << bob.errors();
  EXPECT_TRUE(job.ended(milliseconds{0})) << "the successor's job began while the guard was still ending this one";
  const long long gap = firstAct(2) - lastAct(1);
  std::cout << "after SIGKILL, last act to first act: " << static_cast<double>(gap) / 1e6 << " ms\n";
  EXPECT_GT(gap, 0);
}

TEST_F(RunFailuresTest, FrozenSupervisorsJobIsGoneBeforeTheNextOneActs) {
  configure();
  Subprocess alice{run({}, actingJob("ignore-term")), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  Subprocess bob{run({}, actingJob()), as("bob")};
  ASSERT_TRUE(bob.saysOnStderr("the leader is alice ("));
  const Witness job{jobOf(1)};
  ASSERT_TRUE(freezeOutsideOfTransactions(alice));
  EXPECT_TRUE(job.ended()) << "the guard ends it";
  ASSERT_TRUE(begins(2)) << bob.errors();
  const long long gap = firstAct(2) - lastAct(1);
  std::cout << "after SIGSTOP, last act to first act: " << static_cast<double>(gap) / 1e6 << " ms\n";
  EXPECT_GT(gap, 0) << "both acted at the same time";
  alice.signal(SIGCONT);
  EXPECT_TRUE(alice.saysOnStderr("revoked (")) << alice.errors();
  EXPECT_TRUE(alice.saysOnStderr("the leader is bob (")) << "it competes again";
  EXPECT_TRUE(goesOn(2));
}

/// The memory that it shares with its guard.
cli::GuardChannel channelOf(pid_t supervisor) {
  for (const auto& open : std::filesystem::directory_iterator{"/proc/" + std::to_string(supervisor) + "/fd"}) {
    std::error_code closed;
    if (!std::filesystem::read_symlink(open, closed).string().starts_with("/memfd:tenure-guard")) continue;
    return cli::GuardChannel::open(UniqueFd{::open(open.path().c_str(), O_RDWR | O_CLOEXEC)});
  }
  throw std::runtime_error("it shares no memory with a guard");
}

/// A renewal may be confirmed in the last moment, and be published just after the guard has read that time is over. The
/// test plays that guard.
TEST_F(RunFailuresTest, TermWhoseJobTheGuardEndedInItsLastMomentIsGivenUp) {
  configure();
  Subprocess alice{run({}, actingJob()), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  ASSERT_TRUE(channelOf(alice.id()).claimTermination());
  ASSERT_EQ(kill(jobOf(1), SIGTERM), 0);
  EXPECT_TRUE(begins(2)) << "it leads for ever without a job: " << alice.errors();
  EXPECT_TRUE(alice.saysOnStderr("gives up leadership, because the guard ended the job")) << alice.errors();
}

TEST_F(RunFailuresTest, OnceTellsThatLeadershipWasLost) {
  configure();
  Subprocess alice{run({"--once"}, actingJob()), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  const Witness job{jobOf(1)};
  ASSERT_TRUE(freezeOutsideOfTransactions(alice));
  ASSERT_TRUE(job.ended());
  alice.signal(SIGCONT);
  EXPECT_EQ(alice.wait(), cli::exitLost) << alice.errors();
  EXPECT_NE(alice.errors().find("tenure: leadership ended while the job ran"), std::string::npos) << alice.errors();
}

TEST_F(RunFailuresTest, OnceTellsThatLeadershipEndedBeforeTheJobWasStarted) {
  configure();
  const auto alice = endsBeforeItsJobBegins({"--once"});
  EXPECT_EQ(alice->wait(), cli::exitLost) << alice->errors();
  EXPECT_EQ(alice->errors().find("cannot be started"), std::string::npos) << alice->errors();
  EXPECT_EQ(firstAct(1), 0) << "the job did not run";
}

TEST_F(RunFailuresTest, TermThatEndsBeforeItsJobWasStartedIsFollowedByTheNext) {
  configure();
  const auto alice = endsBeforeItsJobBegins({});
  EXPECT_TRUE(begins(2)) << alice->errors();
  EXPECT_EQ(firstAct(1), 0);
  EXPECT_EQ(alice->errors().find("gives up leadership"), std::string::npos) << alice->errors();
}

TEST_F(RunFailuresTest, BlockedStoreEndsTheJobBeforeTheLeaseAndLettingGoElectsAgain) {
  configure();
  Subprocess alice{run({}, actingJob("ignore-term")), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  const Witness job{jobOf(1)};
  sqlite3* blocker = nullptr;
  ASSERT_EQ(sqlite3_open(database().c_str(), &blocker), SQLITE_OK);
  sqlite3_busy_timeout(blocker, 5000);
  ASSERT_EQ(sqlite3_exec(blocker, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(blocker);
  const long long blocked = monotonicNow();  // every acknowledged renewal was sent before this
  EXPECT_TRUE(job.ended());
  EXPECT_TRUE(alice.saysOnStderr("revoked (storeUnreachable"));
  const long long early = blocked + leaseNanos - lastAct(1);
  std::cout << "last act " << static_cast<double>(early) / 1e6 << " ms before the latest end of the lease\n";
  EXPECT_GT(early, 0);
  ASSERT_EQ(sqlite3_exec(blocker, "ROLLBACK", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(blocker);
  EXPECT_TRUE(begins(2)) << "the candidacy went on: " << alice.errors();
}

TEST_F(RunFailuresTest, WaitIsABoundOverADatabaseThatHangs) {
  configure();
  ASSERT_EQ(runToEnd(run({"--once"}, {"true"}), as("first")).code, 0);
  directory_.write("group.yaml",
                   "group: test-group\ncandidate: { id: bob }\n"
                   "store: { type: sqlite, path: ./leases.db }\nlease: { duration: 40s }\n");
  sqlite3* blocker = nullptr;
  ASSERT_EQ(sqlite3_open(database().c_str(), &blocker), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(blocker, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  for (const auto& command :
       {run({"--wait", "1s"}, {"true"}),
        tenure({"lock", "hold", "k", "--wait", "1s", "--lease", "40s", "--path", database(), "--", "true"}),
        tenure({"lock", "acquire", "k", "--wait", "1s", "--lease", "40s", "--path", database()})}) {
    const double start = startOfProgram();
    const long long before = monotonicNow();
    const Finished done = runToEnd(command, as("bob"), milliseconds{60'000});
    const double took = static_cast<double>(monotonicNow() - before) / 1e6;
    std::cout << command[1] << ' ' << command[2] << ": a wait of 1 s took " << took << " ms, exit code " << done.code
              << '\n';
    EXPECT_LT(took, 2500 + 5 * start) << "starting the program takes " << start << " ms; " << done.errors;
    // If SQLite's answer comes in time, it can say that nothing was written; otherwise nobody knows. (What is certain:
    // unanswered_write_test.cpp)
    const bool told = done.errors.find("is not known") != std::string::npos;
    EXPECT_EQ(done.code, told ? cli::exitUnknown : cli::exitStore) << done.errors;
  }
  sqlite3_close(blocker);
}

TEST_F(RunFailuresTest, TerminateNeverLengthensTheLifeOfAJobWhoseLeaseWasTaken) {
  configure({}, "on_lost: terminate\n");
  Subprocess alice{run({}, actingJob("ignore-term children")), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  const Witness job{jobOf(1)};
  const double start = startOfProgram();
  change(
      "UPDATE tenure_lease SET holder = 'thief#00112233445566778899aabbccddeeff', token = token + 1, "
      "record_version = 'ffeeddccbbaa99887766554433221100'");
  const long long taken = monotonicNow();
  EXPECT_EQ(alice.wait(), cli::exitTerminated) << alice.errors();
  EXPECT_TRUE(job.ended(milliseconds{0})) << "the job outlived its supervisor";
  const double lived = static_cast<double>(lastAct(1) - taken) / 1e6;
  std::cout << "last act " << lived << " ms after the record was taken\n";
  EXPECT_LT(lived, 1000 + 5 * start) << "a heartbeat is 300 ms; starting the program takes " << start << " ms";
}

/// It was frozen, and sees the end of its job only when the term is over. But the job ended in time, by SIGTERM.
TEST_F(RunFailuresTest, TerminateIsForAJobThatHadToBeKilledWhateverTheSupervisorSaw) {
  for (const std::string stubborn : {"", "ignore-term"}) {
    std::filesystem::remove(database());
    configure({}, "on_lost: terminate\n");
    Subprocess alice{run({"--once"}, actingJob(stubborn)), as("alice")};
    ASSERT_TRUE(begins(1)) << alice.errors();
    const Witness job{jobOf(1)};
    ASSERT_TRUE(freezeOutsideOfTransactions(alice));
    ASSERT_TRUE(job.ended());
    const long long over = monotonicNow() + leaseNanos;
    ASSERT_TRUE(eventually([&] { return monotonicNow() > over; }));
    alice.signal(SIGCONT);
    EXPECT_EQ(alice.wait(), stubborn.empty() ? cli::exitLost : cli::exitTerminated) << alice.errors();
    EXPECT_EQ(alice.errors().find("had to be killed") == std::string::npos, stubborn.empty()) << alice.errors();
    std::filesystem::remove(actsOf(1));
    std::filesystem::remove(actsOf(1) + ".pid");
  }
}

/// The child of a supervisor that has this name; -1: none.
pid_t childOf(pid_t supervisor, const std::string& name) {
  const std::string id = std::to_string(supervisor);
  std::istringstream children{contentOf("/proc/" + id + "/task/" + id + "/children")};
  for (std::string child; children >> child;) {
    if (contentOf("/proc/" + child + "/comm") == name + "\n") return std::stoi(child);
  }
  return -1;
}

pid_t guardOf(pid_t supervisor) { return childOf(supervisor, "tenure-guard"); }

TEST_F(RunFailuresTest, KilledGuardIsReplacedAndTheJobGoesOn) {
  configure();
  Subprocess alice{run({}, actingJob()), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  const pid_t first = guardOf(alice.id());
  Witness{first}.signal(SIGKILL);
  ASSERT_TRUE(alice.saysOnStderr("the guard process ended and was replaced"));
  EXPECT_TRUE(eventually([&] { return guardOf(alice.id()) != -1 && guardOf(alice.id()) != first; }));
  EXPECT_TRUE(goesOn(1));
  const Witness job{jobOf(1)};
  ASSERT_TRUE(freezeOutsideOfTransactions(alice));
  EXPECT_TRUE(job.ended()) << "the new guard guards";
}

TEST_F(RunFailuresTest, GuardsThatKeepDyingEndTheProgramWhichSaysSoOnce) {
  configure();
  Subprocess alice{run({}, actingJob("ignore-term")), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  const std::string told = "tenure: stops, because its guard process ended";
  pid_t last = -1;
  ASSERT_TRUE(eventually([&] {
    const pid_t guard = guardOf(alice.id());
    if (guard != -1 && guard != last) kill(last = guard, SIGKILL);
    return alice.errors().find(told) != std::string::npos;
  })) << alice.errors();
  EXPECT_EQ(alice.wait(), cli::exitFailed) << "once its job is gone";
  std::size_t times = 0;
  for (auto at = alice.errors().find(told); at != std::string::npos; at = alice.errors().find(told, at + 1)) ++times;
  EXPECT_EQ(times, 1U);
}

TEST_F(RunFailuresTest, OrphanedJobCountsAsAliveUntilTheLeaseEnds) {
  configure();
  Subprocess alice{run({}, actingJob("ignore-term")), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  Subprocess bob{run({}, actingJob()), as("bob")};
  ASSERT_TRUE(bob.saysOnStderr("the leader is alice ("));
  const Witness job{jobOf(1)};
  const Witness guard{guardOf(alice.id())};
  const Witness reaper{childOf(alice.id(), "tenure-reaper")};
  ASSERT_TRUE(freezeOutsideOfTransactions(alice));  // so that it cannot replace the guard
  const long long frozen = monotonicNow();
  guard.signal(SIGKILL);
  reaper.signal(SIGKILL);
  alice.signal(SIGKILL);
  ASSERT_TRUE(begins(2)) << bob.errors();
  const double later = static_cast<double>(firstAct(2) - frozen) / 1e6;
  std::cout << "taken over " << later << " ms after all three were killed\n";
  EXPECT_GT(later, 1200) << "the liveness file that the job inherited must forbid a death notice";
  EXPECT_TRUE(job.lives()) << "else this proves nothing";
}

}  // namespace
}  // namespace tenure::test
