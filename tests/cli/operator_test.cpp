// The commands that an operator uses while candidates run: status and resign.
#include <algorithm>
#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>

#include "cli/exit_codes.hpp"
#include "cli/group_fixture.hpp"

namespace tenure::test {
namespace {

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
  const Finished late = finish({"resign", "--config", config(), "--wait", "500ms"});
  EXPECT_EQ(late.code, cli::exitNotYet) << late.errors;
  EXPECT_NE(late.errors.find("alice was asked, but had not stepped down after 500ms"), std::string::npos)
      << late.errors;
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
  ASSERT_TRUE(watch.lineAfter("state  nobody leads; nobody has led yet").has_value()) << watch.errors();
  Subprocess alice{run({}, actingJob()), as("alice")};
  ASSERT_TRUE(watch.lineAfter("state          held").has_value()) << watch.errors();
  watch.signal(SIGINT);
  EXPECT_EQ(watch.wait(), cli::exitOk);
  const std::string text = watch.output();
  EXPECT_EQ(text.find("nobody has led yet"), text.rfind("nobody has led yet")) << text;
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
