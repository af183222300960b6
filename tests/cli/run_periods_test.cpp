// `tenure run` with a periodic job: real processes with a real SQLite file. The periods are long where time must not
// matter, so that none ends while a test runs.
#include <csignal>
#include <ctime>
#include <filesystem>
#include <sstream>
#include <sys/resource.h>

#include <gtest/gtest.h>

#include "cli/group_fixture.hpp"
#include "cli/text/exit_codes.hpp"

namespace tenure::test {
namespace {

constexpr const char* aYear = "8760h";

class RunPeriodsTest : public GroupFixture {
 protected:
  RunPeriodsTest() { configure({}, "log: { level: debug }\n"); }  // also what finds nothing to do

  [[nodiscard]] std::vector<std::string> periodic(const std::vector<std::string>& options, const std::string& script,
                                                  const std::string& per = aYear) const {
    std::vector<std::string> all{"--per", per};
    all.insert(all.end(), options.begin(), options.end());
    return run(all, {"sh", "-c", script});
  }
  [[nodiscard]] Finished once(const std::string& script, std::vector<std::string> options = {},
                              const std::string& name = "alice") const {
    options.emplace_back("--once");
    return runToEnd(periodic(options, script), as(name));
  }
  /// A job that shows that it runs, and goes on.
  [[nodiscard]] std::string longJob() const { return "echo begun >> " + mark_ + "; exec sleep 1000"; }
  [[nodiscard]] bool hasBegun() const {
    return eventually([&] { return !contentOf(mark_).empty(); });
  }

  const std::string mark_{directory_.file("mark")};
};

bool says(const Finished& done, const std::string& text) { return done.errors.find(text) != std::string::npos; }

std::vector<std::string> linesIn(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in{text};
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST_F(RunPeriodsTest, TwoStartsInOnePeriodRunTheJobOnce) {
  const Finished first = once("echo worked");
  EXPECT_EQ(first.code, cli::exitOk) << first.errors;
  EXPECT_EQ(first.output, "worked\n");
  const Finished second = once("echo worked", {}, "bob");
  EXPECT_EQ(second.code, cli::exitOk) << second.errors;
  EXPECT_EQ(second.output, "");
  EXPECT_TRUE(says(second, "nothing is due for job job until ")) << second.errors;
  EXPECT_TRUE(says(second, ": the last run, of period ")) << second.errors;
  EXPECT_TRUE(says(second, " by alice (")) << second.errors;
  EXPECT_TRUE(says(second, "), succeeded after ")) << second.errors;
}

TEST_F(RunPeriodsTest, EachJobNameHasPeriodsOfItsOwn) {
  EXPECT_EQ(once("echo one", {"--job", "one"}).output, "one\n");
  EXPECT_EQ(once("echo two", {"--job", "two"}).output, "two\n");
  EXPECT_EQ(once("echo one", {"--job", "one"}).output, "");
}

TEST_F(RunPeriodsTest, JobFindsItsPeriodInTheEnvironment) {
  const Finished done = once(
      "test $(date -u +%Y-%m-%dT%H:%M:%SZ -d @$TENURE_PERIOD_EPOCH) = $TENURE_PERIOD && "
      "test $((TENURE_PERIOD_EPOCH % (8760 * 3600))) = 0 && echo $TENURE_JOB_NAME $TENURE_ATTEMPT",
      {"--job", "nightly"});
  EXPECT_EQ(done.output, "nightly 1\n") << done.errors;
}

TEST_F(RunPeriodsTest, AtMostOnceDoesNotRepeatAFailure) {
  EXPECT_EQ(once("exit 3").code, 3);
  const Finished second = once("exit 4", {}, "bob");
  EXPECT_EQ(second.code, cli::exitOk) << second.errors;
  EXPECT_TRUE(says(second, "failed with exit code 3 after ")) << second.errors;
}

TEST_F(RunPeriodsTest, AtLeastOnceRepeatsAFailureInTheSameTerm) {
  const Finished done =
      once("echo $TENURE_ATTEMPT $TENURE_FENCING_TOKEN; test $TENURE_ATTEMPT = 2", {"--guarantee", "at_least_once"});
  EXPECT_EQ(done.code, cli::exitOk) << done.errors;
  EXPECT_EQ(done.output, "1 1\n2 1\n") << done.errors;
  EXPECT_EQ(once("echo again", {"--guarantee", "at_least_once"}).output, "");
}

TEST_F(RunPeriodsTest, RunWhoseHolderCrashedIsRepeatedOnlyIfThePolicySaysSo) {
  for (const std::string guarantee : {"at_most_once", "at_least_once"}) {
    std::filesystem::remove(mark_);
    const std::vector<std::string> options{"--job", guarantee, "--guarantee", guarantee, "--once"};
    Subprocess alice{periodic(options, longJob()), as("alice")};
    ASSERT_TRUE(hasBegun()) << alice.errors();
    alice.signal(SIGKILL);
    const Finished next = runToEnd(periodic(options, "echo attempt $TENURE_ATTEMPT"), as("bob"));
    EXPECT_EQ(next.code, cli::exitOk) << next.errors;
    EXPECT_EQ(next.output, guarantee == "at_most_once" ? "" : "attempt 2\n") << next.errors;
    EXPECT_EQ(says(next, "was lost: it is not recorded how it ended"), guarantee == "at_most_once") << next.errors;
  }
}

TEST_F(RunPeriodsTest, LeadershipIsKeptBetweenRunsAndAfterAFailure) {
  Subprocess alice{periodic({}, "echo run $TENURE_FENCING_TOKEN $TENURE_PERIOD; exit 1", "1s"), as("alice")};
  ASSERT_TRUE(eventually([&] { return linesIn(alice.output()).size() >= 3; })) << alice.errors();
  const std::vector<std::string> runs = linesIn(alice.output());
  for (const std::string& line : runs) EXPECT_EQ(line.substr(0, 6), "run 1 ") << alice.errors();
  EXPECT_NE(runs[0], runs[1]) << "each is of another period";
  alice.signal(SIGTERM);
  EXPECT_EQ(alice.wait(), cli::exitOk) << alice.errors();
}

TEST_F(RunPeriodsTest, ACopyThatHasNothingToRunShowsProgressItself) {
  configure("  progress_timeout: 500ms\n");
  Subprocess alice{periodic({}, "echo run $TENURE_FENCING_TOKEN; echo . >/dev/fd/$TENURE_PROGRESS_FD", "3s"),
                   as("alice")};
  ASSERT_TRUE(eventually([&] { return linesIn(alice.output()).size() >= 2; })) << alice.errors();
  EXPECT_EQ(linesIn(alice.output())[1], "run 1") << alice.errors();
}

TEST_F(RunPeriodsTest, EndIsNotedAlthoughTheJobShowedNoProgress) {
  configure("  progress_timeout: 2s\n", "log: { level: debug }\n");
  const Finished done = once("sleep 3");
  EXPECT_EQ(done.code, cli::exitOk) << done.errors;
  EXPECT_TRUE(says(once("true"), ", succeeded after ")) << done.errors;
}

#if !defined(__SANITIZE_ADDRESS__)  // UBSan checks memory with a pipe, for which there is no descriptor here
TEST_F(RunPeriodsTest, CopyThatCannotStartTheJobLetsAnotherOneRunIt) {
  Subprocess alice{periodic({}, "echo begun >> " + mark_, "3s"), as("alice")};
  ASSERT_TRUE(hasBegun()) << alice.errors();
  ASSERT_TRUE(alice.saysOnStderr("nothing is due for job job until ")) << alice.errors();
  // Open descriptors stay open, and poll() may not use fewer. The job's process would need more.
  const rlimit full{10, 10};
  ASSERT_EQ(prlimit(alice.id(), RLIMIT_NOFILE, &full, nullptr), 0);
  Subprocess bob{periodic({}, "echo worked", "3s"), as("bob")};
  EXPECT_TRUE(eventually([&] { return !bob.output().empty(); })) << alice.errors();
  EXPECT_TRUE(alice.saysOnStderr("the job cannot be started: ")) << alice.errors();
  EXPECT_TRUE(alice.saysOnStderr(" failed with exit code 1 after ")) << alice.errors();
  EXPECT_TRUE(alice.saysOnStderr("gives up leadership, because the job did not start")) << alice.errors();
}
#endif

TEST_F(RunPeriodsTest, MissedPeriodsAreRunInOrderIfThePolicySaysSo) {
  const std::string script = "echo $TENURE_PERIOD_EPOCH";
  const auto runOnce = [&] {
    const Finished done = runToEnd(periodic({"--once", "--missed", "all"}, script, "1s"), as("alice"));
    EXPECT_EQ(done.code, cli::exitOk) << done.errors;
    std::vector<long> periods;
    for (const std::string& line : linesIn(done.output)) periods.push_back(std::stol(line));
    return periods;
  };
  const std::vector<long> first = runOnce();
  ASSERT_EQ(first.size(), 1U);
  ASSERT_TRUE(eventually([&] { return std::time(nullptr) >= first[0] + 3; }));
  const std::vector<long> missed = runOnce();
  ASSERT_GE(missed.size(), 3U);
  for (std::size_t i = 0; i < missed.size(); ++i) EXPECT_EQ(missed[i], first[0] + 1 + static_cast<long>(i));
}

/// cron mails whatever is printed.
TEST_F(RunPeriodsTest, AStartThatFindsNothingToDoSaysNothing) {
  configure();
  const Finished first = once("echo worked");
  EXPECT_TRUE(says(first, " competes on sqlite ")) << first.errors;
  EXPECT_LT(first.errors.find("elected with"), first.errors.find("the job starts as process")) << first.errors;
  EXPECT_TRUE(says(first, "stopped (")) << first.errors;
  const Finished done = once("echo worked", {"--wait", "0s", "--busy-ok"}, "bob");
  EXPECT_EQ(done.code, cli::exitOk);
  EXPECT_EQ(done.output + done.errors, "") << "its period is begun";
  Subprocess alice{periodic({"--job", "other"}, longJob()), as("alice")};
  ASSERT_TRUE(hasBegun()) << alice.errors();
  for (const std::vector<std::string>& command : {periodic({"--once", "--wait", "0s", "--busy-ok"}, "true"),
                                                  run({"--once", "--wait", "0s", "--busy-ok"}, {"true"})}) {
    const Finished busy = runToEnd(command, as("bob"));
    EXPECT_EQ(busy.code, cli::exitOk);
    EXPECT_EQ(busy.output + busy.errors, "") << "alice is at it";
  }
}

TEST_F(RunPeriodsTest, AStartThatFailsSaysAllOfIt) {
  configure();
  Subprocess alice{periodic({}, longJob()), as("alice")};
  ASSERT_TRUE(hasBegun()) << alice.errors();
  const Finished busy = once("true", {"--wait", "0s"}, "bob");
  EXPECT_EQ(busy.code, cli::exitBusy);
  EXPECT_TRUE(says(busy, "tenure: busy: ")) << busy.errors;
  EXPECT_TRUE(says(busy, "the leader is alice (")) << busy.errors;
  directory_.write("job", "");
  const Finished missing = runToEnd(run({"--once", "--per", "24h"}, {directory_.file("job")}), as("bob"));
  EXPECT_EQ(missing.code, cli::exitNotExecutable);
  EXPECT_NE(missing.errors, "");
}

TEST_F(RunPeriodsTest, StandbyThatFindsALeaderEndsWellIfThatIsFine) {
  Subprocess alice{periodic({"--once"}, longJob()), as("alice")};
  ASSERT_TRUE(hasBegun()) << alice.errors();
  EXPECT_EQ(once("echo worked", {"--wait", "0s"}, "bob").code, cli::exitBusy);
  const Finished fine = once("echo worked", {"--wait", "0s", "--busy-ok"}, "bob");
  EXPECT_EQ(fine.code, cli::exitOk) << fine.errors;
  EXPECT_EQ(fine.output, "");
  EXPECT_TRUE(says(fine, "has nothing to do, because alice (")) << fine.errors;
  const Finished unscheduled = runToEnd(run({"--once", "--wait", "10s", "--busy-ok"}, {"true"}), as("bob"));
  EXPECT_EQ(unscheduled.code, cli::exitOk) << unscheduled.errors;
}

/// As after a reboot, or on a store of many machines: the kernel proves no death, and the record is all that is left.
TEST_F(RunPeriodsTest, StandbyTakesOverFromALeaderThatRenewsNoMoreEvenIfItNeedNotWait) {
  const std::vector<std::string> options{"--once", "--guarantee", "at_least_once"};
  Subprocess alice{periodic(options, longJob()), as("alice")};
  ASSERT_TRUE(hasBegun()) << alice.errors();
  alice.signal(SIGKILL);
  alice.wait();
  sql("UPDATE tenure_lease SET boot_id = '00000000-0000-0000-0000-000000000001'");
  const Finished next = runToEnd(
      periodic({"--once", "--guarantee", "at_least_once", "--wait", "0s", "--busy-ok"}, "echo attempt $TENURE_ATTEMPT"),
      as("bob"));
  EXPECT_EQ(next.code, cli::exitOk) << next.errors;
  EXPECT_EQ(next.output, "attempt 2\n") << next.errors;
}

TEST_F(RunPeriodsTest, StandbyThatWaitedForTheRunOfAnotherDoesNotRepeatIt) {
  Subprocess alice{
      periodic({"--once"}, "echo begun >> " + mark_ + "; while test -f " + mark_ + "; do sleep 0.05; done"),
      as("alice")};
  ASSERT_TRUE(hasBegun()) << alice.errors();
  Subprocess bob{periodic({"--once"}, "echo worked"), as("bob")};
  ASSERT_TRUE(bob.saysOnStderr("the leader is alice ("));
  std::filesystem::remove(mark_);
  EXPECT_EQ(alice.wait(), cli::exitOk) << alice.errors();
  EXPECT_EQ(bob.wait(), cli::exitOk) << bob.errors();
  EXPECT_EQ(bob.output(), "");
  EXPECT_TRUE(bob.saysOnStderr("nothing is due for job job until ")) << bob.errors();
}

TEST_F(RunPeriodsTest, RunThatIsInterruptedIsNotedBeforeTheLeaseIsReleased) {
  Subprocess alice{periodic({"--once"}, longJob()), as("alice")};
  ASSERT_TRUE(hasBegun()) << alice.errors();
  alice.signal(SIGTERM);
  EXPECT_EQ(alice.wait(), 128 + SIGTERM) << alice.errors();
  EXPECT_TRUE(alice.saysOnStderr(" stopped with exit code 143 after ")) << alice.errors();
  EXPECT_TRUE(says(once("true", {}, "bob"), ", stopped with exit code 143 after "));
}

TEST_F(RunPeriodsTest, RecordOfSomebodyElseIsLeftAloneAndNothingIsRun) {
  ASSERT_EQ(once("true").code, cli::exitOk);
  sql("UPDATE tenure_lease SET data = CAST('my own notes' AS BLOB)");
  const Finished refused = once("echo worked");
  EXPECT_EQ(refused.code, cli::exitStore) << refused.errors;
  EXPECT_EQ(refused.output, "");
  EXPECT_TRUE(says(refused, "job job cannot be run under test-group: ")) << refused.errors;
  Subprocess alice{periodic({}, "echo worked"), as("alice")};
  EXPECT_TRUE(alice.saysOnStderr("gives up leadership, because no run may begin")) << alice.errors();
  EXPECT_EQ(alice.output(), "");
}

TEST_F(RunPeriodsTest, CommandThatCannotBeExecutedCountsAsAFailedRun) {
  const std::string script = directory_.file("script");
  directory_.write("script", "#!/\n");
  std::filesystem::permissions(script, std::filesystem::perms{0755});
  EXPECT_EQ(runToEnd(run({"--per", aYear}, {script}), as("alice")).code, cli::exitNotExecutable);
  EXPECT_TRUE(says(once("true"), ", failed with exit code 126 after "));
}

TEST_F(RunPeriodsTest, JobOfTheGroupsFileHasItsScheduleAndPolicyThere) {
  configure({},
            "jobs:\n  nightly: { per: 8760h, guarantee: at_least_once, backoff: 0s, most_attempts: 3 }\n"
            "  other: { per: 8760h, overlap: replace }\n");
  const Finished done =
      runToEnd(run({"--once", "--job", "nightly"}, {"sh", "-c", "echo $TENURE_ATTEMPT; exit 5"}), as("alice"));
  EXPECT_EQ(done.code, 5) << done.errors;
  EXPECT_EQ(done.output, "1\n2\n3\n") << done.errors;
}

TEST_F(RunPeriodsTest, OnceIsNoSuccessIfItIsInterruptedBeforeTheCommandRan) {
  Subprocess alice{run({}, actingJob()), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  Subprocess plain{run({"--once"}, {"true"}), as("bob")};
  Subprocess timed{periodic({"--once"}, "true"), as("carol")};
  Subprocess held{tenure({"lock", "hold", "test-group", "--path", database(), "--", "true"}), as("dave")};
  ASSERT_TRUE(plain.saysOnStderr("the leader is alice (")) << plain.errors();
  ASSERT_TRUE(timed.saysOnStderr("the leader is alice (")) << timed.errors();
  ASSERT_TRUE(held.saysOnStderr("waits for lock test-group: alice (")) << held.errors();
  plain.signal(SIGTERM);
  timed.signal(SIGHUP);
  held.signal(SIGINT);
  EXPECT_EQ(plain.wait(), 128 + SIGTERM) << plain.errors();
  EXPECT_EQ(timed.wait(), 128 + SIGHUP) << timed.errors();
  EXPECT_EQ(held.wait(), 128 + SIGINT) << held.errors();
  Subprocess service{run({}, {"true"}), as("bob")};
  ASSERT_TRUE(service.saysOnStderr("the leader is alice (")) << service.errors();
  service.signal(SIGTERM);
  EXPECT_EQ(service.wait(), cli::exitOk) << "that is how a service is stopped: " << service.errors();
}

TEST_F(RunPeriodsTest, PruneKeepsTheRecordThatSaysWhatWasRun) {
  ASSERT_EQ(once("true").code, cli::exitOk);
  const Finished pruned = finish({"lock", "prune", "--path", database(), "--yes"});
  EXPECT_EQ(pruned.output, "kept test-group (it says which periods of a group's jobs were run)\n") << pruned.errors;
  EXPECT_EQ(once("echo again").output, "");
}

}  // namespace
}  // namespace tenure::test
