// `tenure run` as people use it: real processes with a real SQLite file.
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <sys/resource.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "cli/group_fixture.hpp"
#include "cli/text/exit_codes.hpp"
#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::test {
namespace {

constexpr long long nanosPerMilli = 1'000'000;
constexpr long long leaseNanos = 2'000'000'000;

using RunTest = GroupFixture;

TEST_F(RunTest, ElectsExactlyOneOfThreeAndTheNextWhenItStops) {
  configure();
  Subprocess alice{run({}, actingJob()), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  Subprocess bob{run({}, actingJob()), as("bob")};
  Subprocess carol{run({}, actingJob()), as("carol")};
  ASSERT_TRUE(bob.saysOnStderr("the leader is alice ("));
  ASSERT_TRUE(carol.saysOnStderr("the leader is alice ("));
  EXPECT_EQ(firstAct(2), 0);
  alice.signal(SIGTERM);
  EXPECT_EQ(alice.wait(), cli::exitOk) << alice.errors();
  ASSERT_TRUE(begins(2));
  const long long gap = firstAct(2) - lastAct(1);
  std::cout << "polite hand-over, last act to first act: " << static_cast<double>(gap) / 1e6 << " ms\n";
  EXPECT_GT(gap, 0) << "the successor acted before the predecessor's work had ended";
  EXPECT_EQ(firstAct(3), 0);
  EXPECT_NE(bob.errors().find("elected with") != std::string::npos,
            carol.errors().find("elected with") != std::string::npos)
      << "exactly one of the two";
}

TEST_F(RunTest, JobFindsItsTermInTheEnvironment) {
  configure("  drain_timeout: 1500ms\n");
  const Finished done = runToEnd(run({"--once"}, {"sh", "-c", "env | grep ^TENURE_ | sort"}), as("alice"));
  EXPECT_EQ(done.code, 0) << done.errors;
  EXPECT_NE(done.output.find("TENURE_FENCING_TOKEN=1\n"), std::string::npos) << done.output;
  EXPECT_NE(done.output.find("TENURE_GROUP=test-group\n"), std::string::npos) << done.output;
  EXPECT_NE(done.output.find("TENURE_LEASE=test-group\n"), std::string::npos) << done.output;
  EXPECT_NE(done.output.find("TENURE_CANDIDATE=alice#"), std::string::npos) << done.output;
  EXPECT_NE(done.output.find("TENURE_STORE=sqlite " + database() + "\n"), std::string::npos) << done.output;
  EXPECT_NE(done.output.find("TENURE_CONFIG=" + config() + "\n"), std::string::npos) << done.output;
  EXPECT_NE(done.output.find("TENURE_LEASE_DURATION=2s\n"), std::string::npos) << done.output;
  EXPECT_NE(done.output.find("TENURE_DRAIN_TIMEOUT=1500ms\n"), std::string::npos) << done.output;
  EXPECT_EQ(done.output.find("TENURE_PROGRESS_FD"), std::string::npos) << "only with lease.progress_timeout";
}

/// Whatever is written to stderr, also what the program tells of its own end.
TEST_F(RunTest, LogsForProgramsAreOneJsonObjectALine) {
  configure("", "log: { format: json }\n");
  const Finished done = runToEnd(run({"--once"}, {"sh", "-c", "exit 7"}), as("alice"));
  EXPECT_EQ(done.code, 7) << done.errors;
  std::istringstream lines{done.errors};
  std::string events;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find(",\"event\":\"");
    ASSERT_TRUE(line.starts_with("{\"time\":\"") && line.ends_with("\"}") && at != std::string::npos) << line;
    events += line.substr(at + 10, line.find('"', at + 10) - at - 10) + ' ';
    const bool isOfGroup = line.find(",\"group\":\"test-group\",") != std::string::npos;
    EXPECT_TRUE(isOfGroup || line.find("\"event\":\"message\"") != std::string::npos) << line;
  }
  // The reaper reports the end of the first process, and then that nothing is left. The supervisor may wake in between.
  if (const std::size_t at = events.find("job_stopping "); at != std::string::npos) events.erase(at, 13);
  EXPECT_EQ(events,
            "candidate_started leader_changed elected job_started job_ended revoked leader_changed candidate_stopped ")
      << done.errors;
  EXPECT_NE(done.errors.find(",\"exit_code\":7,"), std::string::npos) << done.errors;
}

TEST_F(RunTest, WhyTheProgramEndsIsALineOfTheLogForPrograms) {
  configure("", "log: { format: logfmt }\n");
  const Finished done = runToEnd(run({"--once"}, {directory_.file("missing")}), as("alice"));
  EXPECT_EQ(done.code, cli::exitNotFound) << done.errors;
  EXPECT_TRUE(done.errors.starts_with("time=")) << done.errors;
  EXPECT_NE(done.errors.find(" level=error event=message message=\"test-group: "), std::string::npos) << done.errors;
}

TEST_F(RunTest, OnceExitsWithTheJobsExitCodeAndReleases) {
  configure();
  EXPECT_EQ(runToEnd(run({"--once"}, {"true"}), as("a")).code, 0);
  EXPECT_EQ(runToEnd(run({"--once"}, {"sh", "-c", "exit 7"}), as("a")).code, 7);
  EXPECT_EQ(runToEnd(run({"--once"}, {"sh", "-c", "kill -SEGV $$"}), as("a")).code, 128 + SIGSEGV);
  const Finished status = finish({"status", "--config", config()});
  EXPECT_NE(status.output.find("released the lease"), std::string::npos) << status.output;
}

TEST_F(RunTest, CommandThatCannotRunEndsItBeforeItCompetes) {
  configure();
  const Finished missing = runToEnd(run({}, {"no-such-command-anywhere"}), as("a"));
  EXPECT_EQ(missing.code, cli::exitNotFound);
  EXPECT_EQ(missing.errors, "tenure: no-such-command-anywhere: there is no such command in PATH\n");
  EXPECT_EQ(runToEnd(run({}, {config()}), as("a")).code, cli::exitNotExecutable);
  EXPECT_FALSE(std::filesystem::exists(database()));
}

/// An error that no check of the file can find: here the interpreter of a script is a directory.
TEST_F(RunTest, CommandThatOnlyExecRefusesIsTheShellsExitCodeAndReleases) {
  configure();
  const std::string script = directory_.file("script");
  directory_.write("script", "#!/\n");
  std::filesystem::permissions(script, std::filesystem::perms{0755});
  const Finished refused = runToEnd(run({}, {script}), as("a"));
  EXPECT_EQ(refused.code, cli::exitNotExecutable);
  EXPECT_NE(refused.errors.find("Permission denied"), std::string::npos) << refused.errors;
  EXPECT_NE(finish({"status", "--config", config()}).output.find("released the lease"), std::string::npos);
}

/// Nobody can execute it for as long as it is open for writing. Some kernels (Linux 6.11) allow it.
class BusyCommandTest : public RunTest {
 protected:
  void SetUp() override {
    configure();
    directory_.write("script", "#!/bin/sh\ntouch ran\n");
    std::filesystem::permissions(script, std::filesystem::perms{0755});
    writer.reset(open(script.c_str(), O_WRONLY | O_CLOEXEC));
    const bool runs = runToEnd({"sh", "-c", script}, as("a")).code == 0;
    if (runs) GTEST_SKIP() << "this kernel executes it";  // lint-allow(skipped-test): says so
  }

  const std::string script = directory_.file("script");
  UniqueFd writer;
};

/// Another copy may be able to.
TEST_F(BusyCommandTest, GivesThePeriodicJobsTermUp) {
  Subprocess alice{run({"--per", "8784h", "--job", "nightly"}, {script}), as("alice")};
  EXPECT_TRUE(alice.saysOnStderr("Text file busy")) << alice.errors();
  EXPECT_TRUE(alice.saysOnStderr("gives up leadership, because the job did not start")) << alice.errors();
}

TEST_F(BusyCommandTest, IsTriedAgain) {
  EXPECT_EQ(runToEnd(run({"--once"}, {script}), as("a")).code, cli::exitFailed);
  Subprocess alice{run({}, {script}), as("alice")};
  EXPECT_TRUE(alice.saysOnStderr("Text file busy")) << alice.errors();
  EXPECT_TRUE(alice.saysOnStderr("competes again in 2s")) << alice.errors();
  writer.reset();
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(directory_.file("ran")); })) << alice.errors();
}

#if !defined(__SANITIZE_ADDRESS__)  // UBSan checks memory with a pipe, for which there is no descriptor here
TEST_F(RunTest, DescriptorsAreEnoughOrTheirLackEndsTheProgram) {
  configure();
  bool lacked = false;
  for (int limit = 8; limit <= 48; ++limit) {
    for (const auto& file : std::filesystem::directory_iterator{directory_.path()}) {
      if (file.path().string() != config()) std::filesystem::remove_all(file.path());
    }
    for (std::vector<std::string> command :
         {run({"--once"}, {"true"}), tenure({"lock", "hold", "k", "--path", database(), "--", "true"})}) {
      command.insert(command.begin(), {"prlimit", "--nofile=" + std::to_string(limit)});
      const Finished done = runToEnd(command, as("alice"));
      ASSERT_NE(done.code, -1) << "it hangs with " << limit << " descriptors: " << done.errors;
      if (done.code == cli::exitOk) continue;
      lacked = true;
      EXPECT_EQ(done.code, cli::exitFailed) << limit << ": " << done.errors;
      EXPECT_NE(done.errors.find("Too many open files"), std::string::npos) << limit << ": " << done.errors;
      EXPECT_LT(limit, 48) << done.errors;
    }
  }
  EXPECT_TRUE(lacked);
}

int timesOpen(pid_t process, const std::string& path) {
  int count = 0;
  for (const auto& open : std::filesystem::directory_iterator{"/proc/" + std::to_string(process) + "/fd"}) {
    std::error_code closed;
    count += std::filesystem::read_symlink(open, closed) == path ? 1 : 0;
  }
  return count;
}

TEST_F(RunTest, OnceEndsIfTheJobCannotBeStarted) {
  configure();
  Subprocess alice{run({}, actingJob()), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  Subprocess bob{run({"--once"}, {"true"}), as("bob")};
  ASSERT_TRUE(bob.saysOnStderr("the leader is alice (")) << bob.errors();
  const auto open = [&](const char* end) { return timesOpen(bob.id(), database() + end); };
  ASSERT_TRUE(eventually([&] { return open("-wal") == 2 && open("-shm") == 1; })) << "who reads, and who writes";
  // Open descriptors stay open, and poll() may not use fewer. The job's process would need more.
  const rlimit full{10, 10};
  ASSERT_EQ(prlimit(bob.id(), RLIMIT_NOFILE, &full, nullptr), 0);
  alice.signal(SIGTERM);
  EXPECT_EQ(bob.wait(), cli::exitFailed) << bob.errors();
  EXPECT_NE(bob.errors().find("the job cannot be started: "), std::string::npos) << bob.errors();
  EXPECT_NE(bob.errors().find("Too many open files"), std::string::npos) << bob.errors();
  EXPECT_EQ(bob.errors().find("competes again"), std::string::npos) << bob.errors();
}
#endif

TEST_F(RunTest, WaitOfZeroLeavesAtOnceAndNamesTheLeader) {
  configure();
  Subprocess alice{run({}, actingJob()), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  const double start = startOfProgram();
  const long long before = monotonicNow();
  const Finished busy = runToEnd(run({"--once", "--wait", "0s"}, {"true"}), as("bob"));
  const double took = static_cast<double>(monotonicNow() - before) / 1e6;
  EXPECT_EQ(busy.code, cli::exitBusy);
  EXPECT_NE(busy.errors.find(") leads test-group with fencing token 1\n"), std::string::npos) << busy.errors;
  std::cout << "busy after " << took << " ms\n";
  EXPECT_LT(took, 1000 + 5 * start) << "starting the program takes " << start << " ms";
  EXPECT_TRUE(goesOn(1));
}

TEST_F(RunTest, WaitOfZeroTakesAFreeLease) {
  configure();
  EXPECT_EQ(runToEnd(run({"--once", "--wait", "0s"}, {"sh", "-c", "exit 4"}), as("a")).code, 4) << "nobody ever led";
  EXPECT_EQ(runToEnd(run({"--once", "--wait", "0s"}, {"sh", "-c", "exit 5"}), as("b")).code, 5) << "it was released";
}

TEST_F(RunTest, WaitIsBoundedAndEndsWithLeadership) {
  configure();
  Subprocess alice{run({}, actingJob()), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  const long long before = monotonicNow();
  EXPECT_EQ(runToEnd(run({"--wait", "2s"}, {"true"}), as("bob")).code, cli::exitBusy);
  EXPECT_GE(monotonicNow() - before, 2'000 * nanosPerMilli);
  Subprocess carol{run({"--once", "--wait", "60s"}, {"sh", "-c", "exit 6"}), as("carol")};
  ASSERT_TRUE(carol.saysOnStderr("the leader is alice ("));
  alice.signal(SIGTERM);
  EXPECT_EQ(carol.wait(), 6) << carol.errors();
}

TEST_F(RunTest, StoreThatCannotBeUsedIsToldWhenTheWaitIsOver) {
  directory_.write("group.yaml",
                   "group: test-group\ncandidate: { id: a }\nstore: { type: sqlite, path: ./missing/leases.db }\n");
  const Finished refused = runToEnd(run({"--wait", "0s"}, {"true"}), as("a"));
  EXPECT_EQ(refused.code, cli::exitStore) << refused.errors;
  EXPECT_NE(refused.errors.find("tenure: not elected: "), std::string::npos) << refused.errors;
}

std::size_t linesWith(const std::string& what, const std::string& text) {
  std::istringstream lines{text};
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) count += line.find(what) != std::string::npos ? 1U : 0U;
  return count;
}

TEST_F(RunTest, AnUnusableStoreEndsTheProgramBeforeItCompetesWithOneLine) {
  configure();
  directory_.write("leases.db", std::string(4096, 'x'));
  const Finished noDatabase = runToEnd(run({}, {"true"}), as("a"));
  EXPECT_EQ(noDatabase.code, cli::exitStore) << noDatabase.errors;
  EXPECT_EQ(linesWith("file is not a database", noDatabase.errors), 1U) << noDatabase.errors;
  EXPECT_EQ(linesWith("tenure: cannot compete: ", noDatabase.errors), 1U) << noDatabase.errors;

  std::filesystem::remove(database());
  sqlite3* foreign = nullptr;
  ASSERT_EQ(sqlite3_open(database().c_str(), &foreign), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(foreign, "CREATE TABLE tenure_lease(id INTEGER)", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(foreign);
  const Finished others = runToEnd(run({}, {"true"}), as("a"));
  EXPECT_EQ(others.code, cli::exitStore) << others.errors;
  EXPECT_EQ(linesWith("no such column", others.errors), 1U) << others.errors;

  std::filesystem::remove(database());
  ASSERT_EQ(sqlite3_open(database().c_str(), &foreign), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(foreign, "CREATE VIEW tenure_lease AS SELECT 1", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(foreign);
  const Finished view = runToEnd(run({}, {"true"}), as("a"));
  EXPECT_EQ(view.code, cli::exitStore) << view.errors;
  EXPECT_EQ(linesWith("tenure_lease is a view", view.errors), 1U) << view.errors;
}

TEST_F(RunTest, WhoMayOnlyReadIsToldOnceWhyItCannotLead) {
  configure();
  Subprocess alice{run({}, actingJob()), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  std::filesystem::permissions(directory_.path(), std::filesystem::perms{0777});
  for (const char* end : {"", "-wal", "-shm"}) {
    std::filesystem::permissions(database() + end, std::filesystem::perms{0444});
  }
  std::vector<std::string> command = run({}, {"true"});
  if (geteuid() == 0) command.insert(command.begin(), {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"});
  Subprocess bob{command, as("bob")};
  EXPECT_TRUE(bob.saysOnStderr("the leader is alice (")) << bob.errors();
  EXPECT_TRUE(bob.saysOnStderr("has waited for its store")) << bob.errors();
  EXPECT_EQ(linesWith("is not readable and writable for this user (Permission denied)", bob.errors()), 1U)
      << bob.errors();
}

TEST_F(RunTest, WaitForANewDatabaseIsToldOnce) {
  configure();
  Subprocess alice{run({}, actingJob()), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  ASSERT_TRUE(freezeOutsideOfTransactions(alice));
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(database() + end);
  const Finished bob = runToEnd(run({"--once"}, {"sh", "-c", "exit 5"}), as("bob"));
  EXPECT_EQ(bob.code, 5) << bob.errors;
  EXPECT_EQ(linesWith("A new one is made in", bob.errors), 1U) << bob.errors;
}

TEST_F(RunTest, StoreThatIsNoFileEndsTheProgramToo) {
  configure();
  std::filesystem::create_directory(database());
  const Finished directory = runToEnd(run({}, {"true"}), as("a"));
  EXPECT_EQ(directory.code, cli::exitStore) << directory.errors;
  EXPECT_EQ(linesWith("is a directory", directory.errors), 1U) << directory.errors;
}

TEST_F(RunTest, StoreThatMayMendIsWaitedForWithOneLineOfTheCause) {
  directory_.write("group.yaml",
                   "group: test-group\ncandidate: { id: a }\n"
                   "store: { type: sqlite, path: ./later/leases.db }\nlease: { duration: 2s, heartbeat: 300ms }\n");
  Subprocess alice{run({"--once"}, {"sh", "-c", "exit 5"}), as("a")};
  ASSERT_TRUE(alice.saysOnStderr("has waited for its store")) << alice.errors();
  EXPECT_EQ(linesWith("does not exist", alice.errors()), 1U) << alice.errors();
  std::filesystem::create_directory(directory_.file("later"));
  EXPECT_EQ(alice.wait(), 5) << alice.errors();
}

TEST_F(RunTest, SigtermEndsTheJobPolitely) {
  configure();
  const std::string script = "trap 'echo ending; exit 9' TERM; echo begun; while :; do sleep 0.02; done";
  Subprocess alice{run({"--once"}, {"sh", "-c", script}), as("alice")};
  ASSERT_TRUE(alice.lineAfter("begun").has_value()) << alice.errors();
  alice.signal(SIGTERM);
  EXPECT_EQ(alice.wait(), 9) << "with --once the job's own code";
  EXPECT_NE(alice.output().find("ending\n"), std::string::npos);
  EXPECT_NE(alice.errors().find("stopped (released)"), std::string::npos) << alice.errors();
}

TEST_F(RunTest, AJobThatIgnoresSigtermIsKilledInTimeAndTheLeaseReleased) {
  configure("  drain_timeout: 3s\n");
  Subprocess alice{run({}, actingJob("ignore-term children stray")), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  const long long asked = monotonicNow();
  alice.signal(SIGTERM);
  EXPECT_EQ(alice.wait(), cli::exitOk) << alice.errors();
  const double took = static_cast<double>(lastAct(1) - asked) / 1e6;
  std::cout << "killed " << took << " ms after SIGTERM\n";
  EXPECT_GE(took, 2500);
  EXPECT_NE(alice.errors().find("stopped (released)"), std::string::npos) << alice.errors();
}

TEST_F(RunTest, SecondSignalHurries) {
  configure("  drain_timeout: 1m\n");
  Subprocess alice{run({}, actingJob("ignore-term")), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  alice.signal(SIGINT);
  ASSERT_TRUE(alice.saysOnStderr("is asked to stop"));
  const long long first = monotonicNow();
  ASSERT_TRUE(eventually([&] { return monotonicNow() - first > 600 * nanosPerMilli; }));
  ASSERT_TRUE(goesOn(1));
  alice.signal(SIGINT);
  EXPECT_EQ(alice.wait(), cli::exitOk) << alice.errors();
  EXPECT_NE(alice.errors().find("stopped (released)"), std::string::npos) << alice.errors();
}

TEST_F(RunTest, SignalThatIsRepeatedWithinMillisecondsIsOne) {
  configure();
  const std::string script = "trap 'sleep 0.3; echo cleaned up; exit 0' TERM; echo begun; while :; do sleep 0.02; done";
  bool quick = false;
  for (int attempt = 0; attempt < 10 && !quick; ++attempt) {  // on a busy machine the end may not count as quick
    Subprocess alice{run({"--once"}, {"sh", "-c", script}), as("alice")};
    ASSERT_TRUE(alice.lineAfter("begun").has_value()) << alice.errors();
    const long long first = monotonicNow();
    alice.signal(SIGTERM);
    ASSERT_TRUE(alice.saysOnStderr("is asked to stop")) << alice.errors();
    alice.signal(SIGTERM);
    quick = monotonicNow() - first < 250 * nanosPerMilli;
    const int code = alice.wait();
    if (!quick) continue;
    EXPECT_EQ(code, 0) << alice.errors();
    EXPECT_NE(alice.output().find("cleaned up"), std::string::npos) << alice.errors();
  }
  EXPECT_TRUE(quick);
}

TEST_F(RunTest, SignalOfTimeoutThatComesTwiceIsOneAndTheJobCleansUp) {
  configure();
  const std::string script = "trap 'sleep 0.3; echo cleaned up; exit 0' TERM; echo begun; while :; do sleep 0.02; done";
  std::vector<std::string> command = run({"--once"}, {"sh", "-c", script});
  command.insert(command.begin(), {"timeout", "60"});
  Subprocess alice{command, as("alice")};
  ASSERT_TRUE(alice.lineAfter("begun").has_value()) << alice.errors();
  alice.signal(SIGALRM);  // as its own timer does
  EXPECT_EQ(alice.wait(), 124) << "the code of timeout(1)";
  EXPECT_NE(alice.output().find("cleaned up"), std::string::npos) << alice.errors();
}

TEST_F(RunTest, PoliteDrainKeepsTheLeaseForAsLongAsItTakes) {
  configure("  drain_timeout: 30s\n");
  // Ends for twice the lease; nobody may lead meanwhile.
  const std::string script = "trap 'sleep 4; echo ended; exit 0' TERM; echo begun; while :; do sleep 0.02; done";
  Subprocess alice{run({}, {"sh", "-c", script}), as("alice")};
  ASSERT_TRUE(alice.lineAfter("begun").has_value()) << alice.errors();
  Subprocess bob{run({}, actingJob()), as("bob")};
  ASSERT_TRUE(bob.saysOnStderr("the leader is alice ("));
  alice.signal(SIGTERM);
  EXPECT_EQ(alice.wait(), cli::exitOk) << alice.errors();
  EXPECT_NE(alice.output().find("ended\n"), std::string::npos) << "it was not killed while the lease was renewed";
  EXPECT_NE(alice.errors().find("stopped (released)"), std::string::npos) << alice.errors();
  EXPECT_TRUE(begins(2));
}

TEST_F(RunTest, JobThatEndsByItselfReleasesAndIsRunAgainInALaterTerm) {
  configure();
  const std::string job = "read up idle </proc/uptime; echo term $TENURE_FENCING_TOKEN ${up%.*}${up#*.}; exit 1";
  Subprocess alice{run({}, {"sh", "-c", job}), as("alice")};
  const auto first = alice.lineAfter("term 1 ");
  ASSERT_TRUE(first.has_value()) << alice.errors();
  ASSERT_TRUE(alice.saysOnStderr("stopped (released)")) << alice.errors();
  const auto second = alice.lineAfter("term 2 ");
  ASSERT_TRUE(second.has_value()) << alice.errors();
  EXPECT_GE((std::stoll(*second) - std::stoll(*first)) * 10 * nanosPerMilli, leaseNanos * 9 / 10)
      << "it stays away for one lease, so that others get a turn";
  EXPECT_TRUE(alice.saysOnStderr("competes again in 4s")) << "longer after a second failure";
}

TEST_F(RunTest, SignalsForTheJobReachItOnly) {
  configure();
  const std::string script = "trap 'echo usr1' USR1; trap 'exit 0' TERM; echo begun; while :; do sleep 0.02; done";
  Subprocess alice{run({}, {"sh", "-c", script}), as("alice")};
  ASSERT_TRUE(alice.lineAfter("begun").has_value()) << alice.errors();
  alice.signal(SIGUSR1);
  EXPECT_TRUE(alice.lineAfter("usr1").has_value());
  EXPECT_TRUE(alice.running());
}

TEST_F(RunTest, ProgressIsReportedThroughTheJobsDescriptor) {
  configure("  progress_timeout: 600ms\n");
  // Shows that it is alive for two leases, and then is silent.
  const std::string script =
      "i=0; while [ $i -lt 20 ]; do echo . >/dev/fd/$TENURE_PROGRESS_FD; sleep 0.2; i=$((i+1)); done; echo silent; "
      "sleep 60";
  Subprocess alice{run({"--once"}, {"sh", "-c", script}), as("alice")};
  ASSERT_TRUE(alice.lineAfter("silent").has_value()) << "revoked too early: " << alice.errors();
  EXPECT_EQ(alice.wait(), cli::exitLost) << alice.errors();
  EXPECT_NE(alice.errors().find("no progress"), std::string::npos) << alice.errors();
}

}  // namespace
}  // namespace tenure::test
