// `tenure jobs` and what makes a leader's record forget a period, with real candidates.
#include <csignal>

#include <gtest/gtest.h>

#include "cli/group_fixture.hpp"
#include "cli/text/exit_codes.hpp"
#include "cli/text/period_text.hpp"

namespace tenure::test {
namespace {

using std::chrono::milliseconds;

/// Real processes. A period of 8784 h does not end while a test runs (but every three years at midnight).
class JobsTest : public GroupFixture {
 protected:
  [[nodiscard]] std::vector<std::string> periodic(const std::vector<std::string>& options, const std::string& script,
                                                  const std::string& job = "nightly") const {
    std::vector<std::string> all{"--per", "8784h", "--job", job};
    all.insert(all.end(), options.begin(), options.end());
    return run(all, {"sh", "-c", script});
  }
  [[nodiscard]] Finished once(const std::string& script, const std::string& job = "nightly") const {
    return runToEnd(periodic({"--once"}, script, job), as("once"));
  }
  [[nodiscard]] std::string json() const { return finish({"jobs", "--config", config(), "--json"}).output; }
  [[nodiscard]] bool shows(const std::string& text, milliseconds bound = patience) const {
    return Eventually{bound}([&] { return json().find(text) != std::string::npos; });
  }
  /// The period of the latest run.
  [[nodiscard]] std::string period() const {
    const std::string key = R"("runs":[{"period":")";
    const std::string text = json();
    const std::size_t at = text.find(key);
    return at == std::string::npos ? "" : text.substr(at + key.size(), 20);
  }
  [[nodiscard]] static std::string later(const std::string& period, std::chrono::seconds by) {
    return cli::periodText(*cli::periodFrom(period) + by);
  }
  /// In the record of one job with one run.
  void extendBegun(const std::string& period, std::chrono::seconds by) const {
    const auto from = cli::periodFrom(period)->time_since_epoch();
    const auto span = [&](std::chrono::seconds to) {
      return "'[[" + std::to_string(from.count()) + ',' + std::to_string(to.count()) + "]]'";
    };
    sql("UPDATE tenure_lease SET data = CAST(replace(data, " + span(from) + ", " + span(from + by) + ") AS BLOB)");
    ASSERT_TRUE(shows(R"("to":")" + later(period, by), milliseconds{0})) << json();
  }
  [[nodiscard]] Finished forget(std::vector<std::string> options = {"--yes"}, const std::string& which = {}) const {
    options.insert(options.begin(), {"jobs", "forget", which.empty() ? period() : which, "--config", config()});
    return finish(options);
  }
};

TEST_F(JobsTest, NothingIsListedWhereNothingWasRun) {
  configure();
  const Finished none = finish({"jobs", config()});
  EXPECT_EQ(none.code, cli::exitOk);
  EXPECT_EQ(none.output, "");
  EXPECT_EQ(none.errors, "tenure: lease test-group knows no run of any job\n");
}

TEST_F(JobsTest, ARunIsListedWhileItGoesOnAndAfterwardsThoughNobodyLeads) {
  configure("", "jobs:\n  nightly: { per: 8784h }\n");
  Subprocess alice{run({"--once", "--job", "nightly"}, {"sh", "-c", "while [ ! -e end ]; do sleep 0.05; done; exit 3"}),
                   as("alice")};
  ASSERT_TRUE(shows(R"("state":"running","exit_code":null,"duration_ms":null,"attempt":1)")) << alice.errors();
  directory_.write("end", "");
  EXPECT_EQ(alice.wait(), 3) << alice.errors();
  const Finished table = finish({"jobs", "--config", config()});
  EXPECT_EQ(table.code, cli::exitOk) << table.errors;
  EXPECT_EQ(table.output.find("job nightly: every 8784h, next "), 0U) << table.output;
  EXPECT_NE(table.output.find("  failed  3     "), std::string::npos) << table.output;
  EXPECT_NE(table.output.find("  alice ("), std::string::npos) << table.output;
  EXPECT_EQ(table.output.find('\033'), std::string::npos) << "no colours where there is no terminal";
  EXPECT_TRUE(shows(R"("state":"failed","exit_code":3,)", milliseconds{0})) << json();
}

TEST_F(JobsTest, DataOfSomebodyElseAreNamedAndNothingIsListed) {
  configure();
  const Finished taken = finish({"lock", "acquire", "test-group", "--config", config(), "--data", "theirs"});
  ASSERT_EQ(taken.code, cli::exitOk) << taken.errors;
  const Finished table = finish({"jobs", "--config", config()});
  EXPECT_EQ(table.code, cli::exitStore);
  EXPECT_EQ(table.output, "");
  EXPECT_NE(table.errors.find("data that are not this release's: \"theirs\""), std::string::npos) << table.errors;
  EXPECT_EQ(forget({"--yes"}, "2026-11-21T00:00:00Z").code, cli::exitStore);
}

TEST_F(JobsTest, AForgottenPeriodRunsAgain) {
  configure("  progress_timeout: 30s\n");
  EXPECT_EQ(once("echo ran").output, "ran\n");
  EXPECT_EQ(once("echo again").output, "") << "its period was begun";
  const Finished forgotten = forget();
  EXPECT_EQ(forgotten.code, cli::exitOk) << forgotten.errors;
  EXPECT_EQ(forgotten.output, "period " + period() + " of job \"nightly\" is forgotten\n");
  EXPECT_EQ(once("echo again").output, "again\n");
  EXPECT_TRUE(shows(R"("fencing_token":1})", milliseconds{0})) << "the first run stays in the list: " << json();
}

TEST_F(JobsTest, TheGroupsFileMayBeGivenBeforeForget) {
  configure();
  const std::string one = config();
  const std::vector<std::vector<std::string>> places{
      {"--config", one}, {"--config=" + one}, {"-c", one}, {"-c=" + one}, {one}, {"-c" + one}};
  for (const std::vector<std::string>& place : places) {
    EXPECT_EQ(once("echo ran").output, "ran\n");
    std::vector<std::string> words{"jobs"};
    words.insert(words.end(), place.begin(), place.end());
    words.insert(words.end(), {"forget", "all", "--yes"});
    const Finished forgotten = finish(words);
    EXPECT_EQ(forgotten.code, cli::exitOk) << place.front() << ": " << forgotten.errors;
  }
  for (const std::vector<std::string>& words : {std::vector<std::string>{"jobs", one, "forget", "all", "-c", one},
                                                {"jobs", "-c", one, "forget", "all", "-c", one},
                                                {"jobs", one, "-c", one, "forget", "all"}}) {
    const Finished twice = finish(words);
    EXPECT_EQ(twice.code, cli::exitUsage);
    EXPECT_EQ(twice.errors.find("tenure: give the group's file once"), 0U) << twice.errors;
  }
}

TEST_F(JobsTest, TheVariableNamesTheFileOfACommandBelow) {
  configure();
  EXPECT_EQ(once("echo ran").output, "ran\n");
  SubprocessOptions options = as("tester");
  options.environment["TENURE_CONFIG"] = config();
  EXPECT_EQ(runToEnd(tenure({"jobs", "forget", "all", "--yes"}), options).code, cli::exitOk);
}

TEST_F(JobsTest, AJobThatIsForgottenAsAWholeIsAsIfItHadNeverRun) {
  configure();
  EXPECT_EQ(once("echo ran").output, "ran\n");
  const Finished forgotten = forget({"--yes"}, "all");
  EXPECT_EQ(forgotten.code, cli::exitOk) << forgotten.errors;
  EXPECT_EQ(forgotten.output, "the whole ledger of job \"nightly\" is forgotten\n");
  EXPECT_EQ(forget({"--yes"}, "all").code, cli::exitFailed) << "it is gone";
  EXPECT_EQ(once("echo again").output, "again\n");
  EXPECT_FALSE(shows(R"("fencing_token":1})", milliseconds{0})) << json();
}

TEST_F(JobsTest, LeadersAreAskedToStepDownAndThenOneRunsThePeriodAgain) {
  configure();
  Subprocess alice{periodic({}, "echo alice"), as("alice")};
  ASSERT_TRUE(alice.lineAfter("alice").has_value()) << alice.errors();
  ASSERT_TRUE(shows(R"("state":"succeeded")"));
  Subprocess bob{periodic({}, "echo bob"), as("bob")};
  ASSERT_TRUE(bob.saysOnStderr("the leader is alice ("));
  const Finished forgotten = forget();
  EXPECT_EQ(forgotten.code, cli::exitOk) << forgotten.errors;
  EXPECT_NE(forgotten.errors.find(") leads and will be asked to step down, so all its work ends"), std::string::npos)
      << forgotten.errors;
  EXPECT_TRUE(eventually([&] { return alice.output() + bob.output() != "alice\n"; }))
      << alice.errors() << bob.errors() << json();
  EXPECT_TRUE(alice.running() && bob.running()) << "they are candidates still";
}

TEST_F(JobsTest, APeriodThatWasNotBegunIsNotForgotten) {
  configure();
  EXPECT_EQ(once("true").code, 0);
  const Finished unknown = forget({"--yes"}, "2001-01-01T00:00:00Z");
  EXPECT_EQ(unknown.code, cli::exitFailed);
  EXPECT_NE(unknown.errors.find("was not started, so there is nothing to forget"), std::string::npos) << unknown.errors;
}

TEST_F(JobsTest, AnInstantThatIsNoPeriodIsRefusedWithItsNeighbours) {
  configure("", "jobs:\n  nightly: { per: 10s }\n");
  EXPECT_EQ(runToEnd(run({"--once", "--job", "nightly"}, {"true"}), as("once")).code, 0);
  const std::string begun = period(), next = later(begun, std::chrono::seconds{10});
  extendBegun(begun, std::chrono::seconds{10});
  const std::string before = json(), beside = later(begun, std::chrono::seconds{5});
  const Finished refused = forget({"--yes"}, beside);
  EXPECT_EQ(refused.code, cli::exitFailed);
  EXPECT_EQ(refused.errors, "tenure: " + beside + " is not a period of job \"nightly\"; the one before it is " + begun +
                                ", and the one after it is " + next + ". Nothing was done\n");
  EXPECT_EQ(json().substr(json().find("begun")), before.substr(before.find("begun")));
  EXPECT_EQ(forget({"--yes"}, next).code, cli::exitOk) << "a period that is not listed, but is one";
}

TEST_F(JobsTest, OfAJobThatIsNotInTheFileOnlyAListedPeriodIsForgotten) {
  configure();
  EXPECT_EQ(once("true", "tick").code, 0);
  const std::string begun = period(), other = later(begun, std::chrono::hours{1});
  extendBegun(begun, std::chrono::hours{1});
  const Finished refused = forget({"--yes"}, other);
  EXPECT_EQ(refused.code, cli::exitFailed);
  EXPECT_EQ(refused.errors, "tenure: " + other + " cannot be forgotten: " + config() +
                                " does not have job \"tick\", so only the periods that tenure jobs lists can: " +
                                begun + ". Nothing was done\n");
  EXPECT_EQ(forget().code, cli::exitOk);
}

TEST_F(JobsTest, ARunThatGoesOnIsNotForgotten) {
  configure();
  Subprocess alice{periodic({}, "sleep 60"), as("alice")};
  ASSERT_TRUE(shows(R"("state":"running")")) << alice.errors();
  const Finished running = forget();
  EXPECT_EQ(running.code, cli::exitBusy);
  EXPECT_NE(running.errors.find("is being run. Stop the run first"), std::string::npos) << running.errors;
  EXPECT_TRUE(shows(R"("state":"running")", milliseconds{0})) << "its leader was not asked to step down";
}

TEST_F(JobsTest, TheRunOfALeaderThatRenewsNoMoreIsForgotten) {
  configure();
  Subprocess alice{periodic({}, "sleep 60"), as("alice")};
  ASSERT_TRUE(shows(R"("state":"running")")) << alice.errors();
  ASSERT_TRUE(freezeOutsideOfTransactions(alice));
  const Finished forgotten = forget();
  EXPECT_EQ(forgotten.code, cli::exitOk) << forgotten.errors;
  EXPECT_NE(forgotten.output.find("is forgotten"), std::string::npos) << forgotten.output;
  alice.signal(SIGCONT);
}

/// Its version is another one then, and the run is not the successor's.
TEST_F(JobsTest, TheRunOfALeaderThatWasSucceededMeanwhileIsForgotten) {
  configure();
  Subprocess alice{periodic({}, "sleep 60"), as("alice")};
  ASSERT_TRUE(shows(R"("state":"running")")) << alice.errors();
  Subprocess bob{periodic({}, "sleep 60"), as("bob")};
  ASSERT_TRUE(eventually([&] { return bob.errors().find("the leader is alice") != std::string::npos; }))
      << bob.errors();
  ASSERT_TRUE(freezeOutsideOfTransactions(alice));
  const Finished forgotten = forget();
  EXPECT_EQ(forgotten.code, cli::exitOk) << forgotten.errors << bob.errors();
  alice.signal(SIGCONT);
}

TEST_F(JobsTest, TheJobMustBeNamedIfThereAreSeveral) {
  configure();
  EXPECT_EQ(once("true").code, 0);
  EXPECT_EQ(once("true", "weekly").code, 0);
  const Finished which = forget();
  EXPECT_EQ(which.code, cli::exitFailed);
  EXPECT_NE(which.errors.find(R"(knows runs of "nightly" and "weekly"; name one with --job)"), std::string::npos)
      << which.errors;
  const Finished none = forget({"--yes", "--job", "monthly"});
  EXPECT_EQ(none.code, cli::exitFailed);
  EXPECT_NE(none.errors.find(R"(and none of "monthly")"), std::string::npos) << none.errors;
  EXPECT_EQ(forget({"--yes", "--job", "weekly"}).code, cli::exitOk);
  EXPECT_EQ(once("echo again").output, "") << "the other job's period stays begun";
  EXPECT_EQ(once("echo again", "weekly").output, "again\n");
}

TEST_F(JobsTest, WithoutATerminalItMustBeSaidThatNobodyIsAsked) {
  configure();
  EXPECT_EQ(once("true").code, 0);
  const Finished refused = forget({});
  EXPECT_EQ(refused.code, cli::exitUsage);
  EXPECT_NE(refused.errors.find("without a terminal give --yes"), std::string::npos) << refused.errors;
}

/// `script` gives the command a terminal.
TEST_F(JobsTest, OnATerminalOnlyTheJobsNameGoesOn) {
  configure();
  EXPECT_EQ(once("true").code, 0);
  const auto typed = [&](const std::string& answer) {
    const std::string command = std::string{TENURE_PROGRAM} + " jobs forget " + period() + " --config " + config();
    return runToEnd(
        {"sh", "-c", "(sleep 0.5; echo " + answer + "; sleep 0.5) | script -qec '" + command + "' /dev/null"},
        as("tester"));
  };
  const Finished refused = typed("weekly");
  EXPECT_EQ(refused.code, cli::exitUsage) << refused.output;
  EXPECT_NE(refused.output.find("nothing was done"), std::string::npos) << refused.output;
  EXPECT_EQ(once("echo again").output, "");
  const Finished agreed = typed("nightly");
  EXPECT_EQ(agreed.code, cli::exitOk) << agreed.output;
  EXPECT_EQ(once("echo again").output, "again\n");
}

TEST_F(JobsTest, APausedGroupIsLeftAlone) {
  configure();
  EXPECT_EQ(once("true").code, 0);
  const Finished paused = finish({"pause", "--config", config(), "--for", "1h", "--why", "disk is full"});
  ASSERT_EQ(paused.code, cli::exitOk) << paused.errors;
  const Finished refused = forget();
  EXPECT_EQ(refused.code, cli::exitBusy);
  EXPECT_NE(refused.errors.find("the group is paused by "), std::string::npos) << refused.errors;
  EXPECT_NE(refused.errors.find(": disk is full. Give the command again after tenure resume"), std::string::npos)
      << refused.errors;
}

/// It takes longer than an attempt, so each must go on watching where the one before ended.
TEST_F(JobsTest, ALeaderThatIsFrozenIsWaitedForAsLongAsItsLease) {
  configure();
  EXPECT_EQ(once("true").code, 0);
  const Subprocess alice{run({}, {"sleep", "60"}), as("alice")};
  ASSERT_TRUE(eventually([&] { return finish({"status", "--config", config()}).code == cli::exitOk; }));
  ASSERT_TRUE(freezeOutsideOfTransactions(alice));
  const Finished forgotten = forget();
  EXPECT_EQ(forgotten.code, cli::exitOk) << forgotten.errors;
  alice.signal(SIGCONT);
}

TEST_F(JobsTest, TheWaitForALeaderThatStaysIsBounded) {
  configure("  drain_timeout: 1m\n");
  EXPECT_EQ(once("true").code, 0);
  Subprocess alice{run({}, actingJob("ignore-term")), as("alice")};
  ASSERT_TRUE(begins(2)) << alice.errors();
  const Finished late = forget({"--yes", "--wait", "2s"});
  EXPECT_EQ(late.code, cli::exitNotYet) << late.errors;
  EXPECT_NE(late.errors.find("could not be acquired in 2s; alice ("), std::string::npos) << late.errors;
}

/// It would end the leader, and then have no time to take the lease.
TEST_F(JobsTest, AWaitOfNothingIsRefused) {
  configure();
  const Finished refused = forget({"--yes", "--wait", "0s"}, "all");
  EXPECT_EQ(refused.code, cli::exitUsage);
  EXPECT_NE(refused.errors.find("--wait: must be longer than 0s"), std::string::npos) << refused.errors;
}

}  // namespace
}  // namespace tenure::test
