// The commands that an operator uses while candidates run: status and resign.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <list>
#include <optional>

#include <gtest/gtest.h>

#include "cli/group_fixture.hpp"
#include "cli/text/exit_codes.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using OperatorTest = GroupFixture;

TEST_F(OperatorTest, ResignedLeadersSuccessorLeads) {
  configure();
  Subprocess alice{run({}, actingJob()), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  Subprocess bob{run({}, actingJob()), as("bob")};
  ASSERT_TRUE(bob.saysOnStderr("the leader is alice ("));
  const Finished resigned = finish({"resign", "--config", config()});
  EXPECT_EQ(resigned.code, cli::exitOk) << resigned.errors;
  EXPECT_EQ(resigned.output.find("alice has stepped down; "), 0U) << resigned.output;
  ASSERT_TRUE(begins(2)) << bob.errors();
  EXPECT_GT(firstAct(2), lastAct(1));
  EXPECT_TRUE(alice.running()) << "it is a candidate still";
}

/// The others leave a released lease to carol for a heartbeat, in which a busy machine must let her have it.
TEST_F(OperatorTest, ResignNamesTheNextLeader) {
  directory_.write("group.yaml",
                   "group: test-group\ncandidate: { id: \"${NAME}\" }\n"
                   "store: { type: sqlite, path: ./leases.db }\nlease: { duration: 4s, heartbeat: 1s }\n");
  Subprocess alice{run({}, actingJob()), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  Subprocess bob{run({}, actingJob()), as("bob")};
  Subprocess carol{run({}, actingJob()), as("carol")};
  ASSERT_TRUE(bob.saysOnStderr("the leader is alice ("));
  ASSERT_TRUE(carol.saysOnStderr("the leader is alice ("));
  const Finished itself = finish({"resign", "--config", config(), "--to", "alice"});
  EXPECT_EQ(itself.code, cli::exitUsage);
  EXPECT_NE(itself.errors.find("alice leads test-group already"), std::string::npos) << itself.errors;
  EXPECT_TRUE(goesOn(1)) << "nothing was asked";
  const Finished named = finish({"resign", "--config", config(), "--to", "carol"});
  EXPECT_EQ(named.code, cli::exitOk) << named.errors;
  EXPECT_EQ(named.output.find("alice has stepped down; carol ("), 0U) << named.output;
  ASSERT_TRUE(begins(2)) << carol.errors();
  const Finished nobody = finish({"resign", "--config", config(), "--to", "dave"});
  EXPECT_EQ(nobody.code, cli::exitNotYet) << nobody.output;
  EXPECT_NE(nobody.errors.find("carol has stepped down; "), std::string::npos) << nobody.errors;
  EXPECT_NE(nobody.errors.find(", and not dave"), std::string::npos) << nobody.errors;
  ASSERT_TRUE(begins(3)) << "a heartbeat later";
}

TEST_F(OperatorTest, ResignRefusesWhatIsNoName) {
  configure();
  for (const char* bad : {"", "bob#1", "bob\n"}) {
    const Finished refused = finish({"resign", "--config", config(), "--to", bad});
    EXPECT_EQ(refused.code, cli::exitUsage) << bad;
    EXPECT_NE(refused.errors.find("a candidate's name must be"), std::string::npos) << refused.errors;
  }
}

TEST_F(OperatorTest, ThePreferredCandidateGetsTheLeaseBackInOrder) {
  directory_.write("group.yaml",
                   "group: test-group\ncandidate: { id: \"${NAME}\", priority: \"${PRIORITY}\", reclaim_after: 2s }\n"
                   "store: { type: sqlite, path: ./leases.db }\nlease: { duration: 2s, heartbeat: 300ms }\n");
  const auto with = [&](const std::string& name, const std::string& priority) {
    SubprocessOptions options = as(name);
    options.environment["PRIORITY"] = priority;
    return options;
  };
  Subprocess spare{run({}, actingJob()), with("spare", "20")};
  ASSERT_TRUE(begins(1)) << spare.errors();
  Subprocess other{run({}, actingJob()), with("other", "20")};
  EXPECT_FALSE(begins(2, milliseconds{4'000})) << "as good is not better";
  Subprocess preferred{run({}, actingJob()), with("preferred", "0")};
  ASSERT_TRUE(begins(2)) << preferred.errors();
  EXPECT_TRUE(preferred.saysOnStderr("asks spare (")) << preferred.errors();
  EXPECT_TRUE(preferred.saysOnStderr("elected with fencing token 2")) << preferred.errors();
  EXPECT_TRUE(spare.saysOnStderr("revoked (steppedDown: an operator, or a candidate with a better priority, asked"))
      << spare.errors();
  EXPECT_GT(firstAct(2), lastAct(1));
  EXPECT_FALSE(begins(3, milliseconds{5'000})) << "and it stays";
}

TEST_F(OperatorTest, ResignTellsWhenTheLeaderDoesNotAnswer) {
  configure("  drain_timeout: 1m\n");
  Subprocess alice{run({}, actingJob("ignore-term")), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  const Finished late = finish({"resign", "--config", config(), "--wait", "2s"});
  EXPECT_EQ(late.code, cli::exitNotYet) << late.errors;
  EXPECT_NE(late.errors.find("alice was asked, but had not stepped down after 2s"), std::string::npos) << late.errors;
}

TEST_F(OperatorTest, StatusNamesTheLeaderForPeopleAndForPrograms) {
  configure();
  Subprocess alice{run({}, actingJob()), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  const Finished table = finish({"status", "--config", config()});
  EXPECT_EQ(table.code, cli::exitOk) << table.errors;
  EXPECT_NE(table.output.find("leader         alice ("), std::string::npos) << table.output;
  EXPECT_NE(table.output.find("fencing token  1\n"), std::string::npos) << table.output;
  EXPECT_EQ(table.output.find('\033'), std::string::npos) << "no colours where there is no terminal";
  const Finished json = finish({"status", "--config", config(), "--json"});
  EXPECT_EQ(json.code, cli::exitOk) << json.errors;
  EXPECT_EQ(json.output.find(R"({"group":"test-group","state":"held","leader":{"name":"alice","incarnation":")"), 0U)
      << json.output;
}

/// Nobody's wall clock decides whether a leader that renews leads: the looker's, or the leader's own.
TEST_F(OperatorTest, StatusShowsALeaderThatRenewsHoweverTheClocksAreSet) {
  configure();
  lengthenLease();  // a renewal must come within half of it
  std::optional<Subprocess> leader;
  int token = 0;
  for (const auto ofLeader : {0s, 600s, -600s}) {
    leader.reset();
    leader.emplace(run({}, actingJob()), ahead(ofLeader, "alice"));
    ASSERT_TRUE(begins(++token)) << leader->errors();
    for (const auto ofLooker : {0s, 600s, 61s, -600s, 100'000s}) {
      const Finished status = finishAhead(ofLooker, {"status", config()});
      EXPECT_EQ(status.code, cli::exitOk) << ofLeader.count() << ' ' << ofLooker.count() << status.output;
      EXPECT_NE(status.output.find("state          held"), std::string::npos) << status.output;
      EXPECT_EQ(status.errors, "") << "a renewal is soon seen";
    }
    leader->signal(SIGTERM);
    ASSERT_EQ(leader->wait(), cli::exitOk);
  }
}

/// As of a machine that died: no guard is left that could release the lease.
std::string withoutCrashNotice(std::string yaml) {
  const std::string path = "leases.db";
  return yaml.insert(yaml.find(path) + path.size(), ", crash_notice: false");
}

TEST_F(OperatorTest, StatusCallsADeadLeaderSilentAfterWatchingIt) {
  configure();
  directory_.write("group.yaml", withoutCrashNotice(contentOf(config())));
  Subprocess alice{run({}, actingJob()), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  alice.signal(SIGKILL);
  alice.wait();
  ASSERT_TRUE(eventually([&] { return finish({"status", config()}).code == cli::exitNobody; }));
  for (const auto ofLooker : {0s, 3s, 60s, -60s}) {
    const Finished status = finishAhead(ofLooker, {"status", config(), "--json"});
    EXPECT_EQ(status.code, cli::exitNobody) << ofLooker.count();
    EXPECT_NE(status.output.find(R"("state":"silent","leader":{"name":"alice")"), std::string::npos) << status.output;
  }
}

TEST_F(OperatorTest, StatusWatchJudgesByItsOwnMonotonicClock) {
  configure();
  directory_.write("group.yaml", withoutCrashNotice(contentOf(config())));
  Subprocess alice{run({}, actingJob()), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  std::list<Subprocess> watches;
  for (const auto ofLooker : {0s, 3s, 60s, -60s})
    watches.emplace_back(tenure({"status", config(), "--watch", "--json"}), ahead(ofLooker, "tester"));
  for (Subprocess& watch : watches)
    ASSERT_TRUE(watch.lineAfter(R"({"group":"test-group","state":"held")").has_value()) << watch.errors();
  ASSERT_TRUE(eventually([&] { return lastAct(1) - firstAct(1) > std::chrono::nanoseconds{3s}.count(); }))
      << "longer than the lease, in which no line may come";
  alice.signal(SIGKILL);
  alice.wait();
  for (Subprocess& watch : watches) {
    EXPECT_TRUE(watch.lineAfter(R"({"group":"test-group","state":"silent")").has_value()) << watch.errors();
    const std::string text = watch.output();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << "no verdict changes without a cause: " << text;
  }
}

TEST_F(OperatorTest, StatusWatchTellsEachChangeUntilInterrupted) {
  configure();
  Subprocess watch{tenure({"status", "--config", config(), "--watch", "--json"}), as("tester")};
  ASSERT_TRUE(watch.lineAfter(R"({"group":"test-group","state":"none")").has_value()) << watch.errors();
  Subprocess alice{run({}, actingJob()), as("alice")};
  ASSERT_TRUE(watch.lineAfter(R"({"group":"test-group","state":"held")").has_value()) << watch.errors();
  alice.signal(SIGTERM);
  ASSERT_TRUE(watch.lineAfter(R"({"group":"test-group","state":"released")").has_value()) << watch.errors();
  watch.signal(SIGINT);
  EXPECT_EQ(watch.wait(), cli::exitOk);
  std::string text = watch.output();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << "a line a change, not a line a renewal: " << text;
}

TEST_F(OperatorTest, StatusWatchTellsEachChangeOnceWhereThereIsNoTerminal) {
  configure();
  Subprocess watch{tenure({"status", "--config", config(), "--watch"}), as("tester")};
  ASSERT_TRUE(watch.lineAfter("state  no leader; there has been none yet").has_value()) << watch.errors();
  Subprocess alice{run({}, actingJob()), as("alice")};
  ASSERT_TRUE(watch.lineAfter("state          held").has_value()) << watch.errors();
  watch.signal(SIGINT);
  EXPECT_EQ(watch.wait(), cli::exitOk);
  const std::string text = watch.output();
  EXPECT_EQ(text.find("there has been none yet"), text.rfind("there has been none yet")) << text;
  EXPECT_EQ(text.find('\033'), std::string::npos) << "nothing clears a screen that there is not: " << text;
}

TEST_F(OperatorTest, TokensThatDisagreeAreToldByWhatAnOperatorLooksWith) {
  configure();
  Subprocess alice{run({}, actingJob()), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  EXPECT_NE(finish({"status", "--config", config(), "--json"}).output.find(R"("warning":null)"), std::string::npos);
  sql("UPDATE tenure_fence SET token = 5");
  const std::string warning = "the record's token 1 is not that of the fencing counter, 5";
  const Finished status = finish({"status", "--config", config()});
  EXPECT_EQ(status.code, cli::exitOk) << status.errors;
  EXPECT_NE(status.output.find("warning        " + warning), std::string::npos) << status.output;
  const Finished json = finish({"status", "--config", config(), "--json"});
  EXPECT_NE(json.output.find(R"("warning":")" + warning), std::string::npos) << json.output;
  const std::vector<std::string> store{"--store", "sqlite", "--path", database()};
  for (std::vector<std::string> words :
       {std::vector<std::string>{"lock", "show", "test-group"}, std::vector<std::string>{"lock", "list"}}) {
    words.insert(words.end(), store.begin(), store.end());
    const Finished told = finish(words);
    EXPECT_NE(told.errors.find("test-group"), std::string::npos) << told.errors;
    EXPECT_NE(told.errors.find(warning), std::string::npos) << told.errors;
    words.emplace_back("--json");
    EXPECT_NE(finish(words).output.find(R"("warning":")" + warning), std::string::npos);
  }
  const Finished resigned = finish({"resign", "--config", config(), "--wait", "0s"});
  EXPECT_NE(resigned.errors.find(warning), std::string::npos) << resigned.errors;
}

TEST_F(OperatorTest, ADroppedTableIsToldWithItsCure) {
  configure();
  ASSERT_EQ(runToEnd(run({"--once"}, {"true"}), as("alice")).code, 0);
  sql("DROP TABLE tenure_lease");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"status", "--config", config()},
        std::vector<std::string>{"resign", "--config", config()},
        std::vector<std::string>{"lock", "show", "test-group", "--store", "sqlite", "--path", database()}}) {
    const Finished told = finish(words);
    EXPECT_EQ(told.code, cli::exitStore) << words.front();
    EXPECT_NE(told.errors.find("was dropped. A candidate makes it again"), std::string::npos) << told.errors;
  }
}

TEST_F(OperatorTest, StatusCreatesNothingAlsoWhenItWatches) {
  configure();
  EXPECT_EQ(finish({"status", "--config", config()}).code, cli::exitNobody);
  Subprocess watch{tenure({"status", "--config", config(), "--watch", "--json"}), as("tester")};
  ASSERT_TRUE(watch.lineAfter("{\"group\":\"test-group\",\"state\":\"none\"").has_value()) << watch.errors();
  watch.signal(SIGINT);
  EXPECT_EQ(watch.wait(), cli::exitOk);
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator{directory_.path()})
    left.push_back(entry.path().filename());
  EXPECT_EQ(left, (std::vector<std::string>{"group.yaml"})) << "another user could not use what one has made";
}

}  // namespace
}  // namespace tenure::test
