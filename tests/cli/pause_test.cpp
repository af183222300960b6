// `tenure pause` and `tenure resume`, with real candidates.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <memory>

#include <gtest/gtest.h>

#include "cli/group_fixture.hpp"
#include "cli/text/exit_codes.hpp"

namespace tenure::test {
namespace {

class PauseTest : public GroupFixture {
 protected:
  [[nodiscard]] std::vector<std::string> pauseFor(const std::string& length, const std::string& why = "new disks",
                                                  const std::string& wait = "15s") const {
    return {"pause", "--config", config(), "--for", length, "--why", why, "--wait", wait};
  }
  [[nodiscard]] Finished resume() const { return finish({"resume", "--config", config()}); }
  [[nodiscard]] std::string status() const { return finish({"status", "--config", config(), "--json"}).output; }
  /// As the record has it.
  [[nodiscard]] int token() const {
    const std::string text = status();
    const std::string key = "\"fencing_token\":";
    return std::stoi(text.substr(text.find(key) + key.size()));
  }
  [[nodiscard]] static bool says(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
};

TEST_F(PauseTest, ItEndsTheLeadersWorkInOrderAndNobodyIsElectedUntilItIsResumed) {
  configure();
  Subprocess alice{run({}, actingJob()), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  Subprocess bob{run({}, actingJob()), as("bob")};
  ASSERT_TRUE(bob.saysOnStderr("the leader is alice ("));
  const Finished paused = finish(pauseFor("10m"));
  const long long since = monotonicNow();
  ASSERT_EQ(paused.code, cli::exitOk) << paused.errors;
  EXPECT_TRUE(says(paused.output, "test-group is paused by ")) << paused.output;
  EXPECT_TRUE(says(paused.output, ": new disks, for 10m; to end it: tenure resume --config " + config()));
  EXPECT_TRUE(says(paused.errors, "alice (")) << paused.errors;
  EXPECT_TRUE(says(paused.errors, ", who leads test-group, is asked to step down")) << paused.errors;
  const int own = token();
  EXPECT_TRUE(bob.saysOnStderr("the lease is paused by "));
  EXPECT_FALSE(begins(own + 1, milliseconds{5'000})) << "more than two leases";
  for (int term = 1; term < own; ++term) EXPECT_LT(lastAct(term), since) << term;
  EXPECT_EQ(finish({"lock", "show", "test-group", "--config", config()}).code, cli::exitOk);
  const Finished resumed = resume();
  EXPECT_EQ(resumed.code, cli::exitOk) << resumed.errors;
  EXPECT_EQ(resumed.output.find("test-group is no longer paused by "), 0U) << resumed.output;
  EXPECT_TRUE(begins(own + 1)) << bob.errors();
  EXPECT_EQ(resume().code, cli::exitNobody);
}

TEST_F(PauseTest, EveryCommandSaysWhoPausedAndWhy) {
  configure();
  ASSERT_EQ(finish(pauseFor("1m", "it's \"us\": again")).code, cli::exitOk);
  EXPECT_FALSE(std::filesystem::exists(database() + "-wal")) << "the store was not closed before the end";
  const Finished table = finish({"status", "--config", config()});
  EXPECT_EQ(table.code, cli::exitNobody);
  EXPECT_TRUE(says(table.output, "state          paused: no leader\n")) << table.output;
  EXPECT_TRUE(says(table.output, "paused by      ")) << table.output;
  EXPECT_TRUE(says(table.output, "why            it's \"us\": again\n")) << table.output;
  EXPECT_TRUE(says(table.output, "lease          1m\n")) << table.output;
  const Finished json = finish({"status", "--config", config(), "--json"});
  EXPECT_EQ(json.code, cli::exitNobody);
  EXPECT_EQ(json.output.find(R"({"group":"test-group","state":"paused","leader":null,"last_leader":null,)"), 0U)
      << json.output;
  EXPECT_TRUE(says(json.output, R"("paused":{"by":")")) << json.output;
  EXPECT_TRUE(says(json.output, R"("why":"it's \"us\": again"},)")) << json.output;
  const Finished busy = runToEnd(run({"--wait", "0s"}, {"true"}), as("alice"));
  EXPECT_EQ(busy.code, cli::exitBusy);
  EXPECT_TRUE(says(busy.errors, "busy: test-group is paused by ")) << busy.errors;
  EXPECT_EQ(finish({"resign", "--config", config(), "--to", "alice"}).code, cli::exitNobody) << "nor in favour of one";
  const Finished resigned = finish({"resign", "--config", config()});
  EXPECT_EQ(resigned.code, cli::exitNobody);
  EXPECT_TRUE(says(resigned.errors, "test-group is paused by ")) << resigned.errors;
  EXPECT_TRUE(says(resigned.errors, "to end it: tenure resume --config")) << resigned.errors;
  ASSERT_EQ(resume().code, cli::exitOk);
  const Finished after = finish({"status", "--config", config(), "--json"});
  EXPECT_TRUE(says(after.output, R"("state":"released","leader":null,"last_leader":null,)")) << after.output;
  EXPECT_TRUE(says(after.output, R"("paused":null,)")) << after.output;
  EXPECT_TRUE(says(finish({"status", "--config", config()}).output, "the last pause has ended"));
}

TEST_F(PauseTest, ASecondPauseIsALongerOneWithTheWordsOfTheFirst) {
  configure();
  Subprocess watch{tenure({"status", "--config", config(), "--watch", "--json"}), as("tester")};
  ASSERT_EQ(finish(pauseFor("1m", "first")).code, cli::exitOk);
  ASSERT_TRUE(watch.lineAfter(R"({"group":"test-group","state":"paused")").has_value()) << watch.errors();
  const int first = token();
  const Finished longer = finish(pauseFor("2h", "second"));
  EXPECT_EQ(longer.code, cli::exitOk) << longer.errors;
  EXPECT_TRUE(says(longer.output, "was paused already, paused by ")) << longer.output;
  EXPECT_TRUE(says(longer.output, ": first; this pause now lasts 2h from now, and keeps its reason")) << longer.output;
  EXPECT_EQ(token(), first);
  EXPECT_TRUE(says(status(), R"("lease_duration_ms":7200000)"));
  EXPECT_TRUE(says(status(), R"("why":"first")"));
  const auto told = [&] { return says(watch.output(), R"("lease_duration_ms":7200000)"); };
  EXPECT_TRUE(eventually(told)) << watch.output();
  EXPECT_EQ(resume().code, cli::exitOk);
}

TEST_F(PauseTest, TwoAtOnceAreOnePause) {
  configure();
  Subprocess alice{run({}, actingJob()), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  Subprocess one{tenure(pauseFor("10m", "one")), as("tester")};
  Subprocess two{tenure(pauseFor("10m", "two")), as("tester")};
  EXPECT_EQ(one.wait(), cli::exitOk) << one.errors();
  EXPECT_EQ(two.wait(), cli::exitOk) << two.errors();
  const std::string both = one.output() + two.output();
  EXPECT_TRUE(says(both, ", for 10m; ")) << both;
  EXPECT_TRUE(says(both, "was paused already")) << both;
  const int own = token();
  EXPECT_EQ(resume().code, cli::exitOk);
  EXPECT_TRUE(begins(own + 1)) << "neither is left to pause again: " << alice.errors();
  EXPECT_TRUE(goesOn(own + 1));
}

TEST_F(PauseTest, OneThatNobodyEndsIsOverWithItsTime) {
  configure();
  Subprocess pause{tenure(pauseFor("3s")), as("tester")};
  ASSERT_TRUE(eventually([&] { return says(status(), R"("state":"paused")"); }));
  pause.signal(SIGKILL);
  pause.wait();
  const int own = token();
  Subprocess alice{run({}, actingJob()), as("alice")};
  EXPECT_FALSE(begins(own + 1, milliseconds{2'500})) << "she has to watch the whole time";
  EXPECT_TRUE(begins(own + 1)) << alice.errors();
}

TEST_F(PauseTest, ItAsksWhoeverLeadsUntilItHasTheLease) {
  configure();
  std::vector<std::unique_ptr<Subprocess>> crowd;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    crowd.push_back(std::make_unique<Subprocess>(run({}, actingJob()), as(name)));
  }
  ASSERT_TRUE(begins(1));
  const Finished paused = finish(pauseFor("10m"));
  EXPECT_EQ(paused.code, cli::exitOk) << paused.errors;
  EXPECT_TRUE(says(status(), R"("state":"paused")"));
}

TEST_F(PauseTest, TellsWhatItHasDoneIfTheLeaderDoesNotEndInTime) {
  configure("  drain_timeout: 1m\n");
  Subprocess alice{run({}, actingJob("ignore-term")), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  const Finished late = finish(pauseFor("10m", "x", "2s"));
  EXPECT_EQ(late.code, cli::exitNotYet) << late.errors;
  EXPECT_TRUE(says(late.errors, "test-group is not paused after 2s: alice (")) << late.errors;
  EXPECT_TRUE(says(late.errors, "may still do so")) << late.errors;
}

TEST_F(PauseTest, ALeaderThatIsDeadIsNotWaitedForInVain) {
  configure();
  {
    Subprocess alice{run({}, actingJob()), as("alice")};
    ASSERT_TRUE(begins(1)) << alice.errors();
    alice.signal(SIGKILL);
    alice.wait();
  }
  const Finished paused = finish(pauseFor("10m"));
  EXPECT_EQ(paused.code, cli::exitOk) << paused.errors;
}

TEST_F(PauseTest, ResumeSaysWhoLeadsIfNothingIsPaused) {
  configure();
  EXPECT_TRUE(says(resume().errors, "test-group is not paused; there is no leader"));
  Subprocess alice{run({}, actingJob()), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  const Finished refused = resume();
  EXPECT_EQ(refused.code, cli::exitNobody);
  EXPECT_TRUE(says(refused.errors, "test-group is not paused; alice (")) << refused.errors;
  EXPECT_TRUE(says(refused.errors, "leads test-group with fencing token 1")) << refused.errors;
}

TEST_F(PauseTest, WordsThatDoNotFitWholeAreRefused) {
  configure();
  const Finished full = finish(pauseFor("1m", std::string(300, 'x')));
  EXPECT_EQ(full.code, cli::exitUsage);
  const std::string begin = "--why has 300 bytes, and ";
  const std::size_t at = full.errors.find(begin);
  ASSERT_NE(at, std::string::npos) << full.errors;
  const auto room = static_cast<std::size_t>(std::stoi(full.errors.substr(at + begin.size())));
  EXPECT_EQ(finish(pauseFor("1m", std::string(room + 1, 'x'))).code, cli::exitUsage);
  for (const char* why : {"", "a#b", "two\nlines", "\xff"}) {
    const Finished refused = finish(pauseFor("1m", why));
    EXPECT_EQ(refused.code, cli::exitUsage) << why;
    EXPECT_TRUE(says(refused.errors, "--why ")) << refused.errors;
  }
  const std::string most(room, 'x');
  EXPECT_EQ(finish(pauseFor("1m", most)).code, cli::exitOk);
  EXPECT_TRUE(says(status(), "\"why\":\"" + most + '"')) << status();
}

TEST_F(PauseTest, IsRefusedWhereItMakesNoSense) {
  directory_.write("group.yaml", "group: g\nstore: { type: memory }\n");
  const Finished memory = finish(pauseFor("1m"));
  EXPECT_EQ(memory.code, cli::exitUsage);
  EXPECT_TRUE(says(memory.errors, "store.type memory is seen by one process only")) << memory.errors;
  directory_.write("group.yaml", "group: g\nshards: { count: 4 }\nstore: { type: sqlite, path: ./x.db }\n");
  const Finished shards = finish(pauseFor("1m"));
  EXPECT_EQ(shards.code, cli::exitUsage);
  EXPECT_TRUE(says(shards.errors, "group g has shards")) << shards.errors;
  EXPECT_EQ(resume().code, cli::exitUsage);
  configure();
  for (const char* length : {"999ms", "25h", "0s"}) {
    const Finished refused = finish(pauseFor(length));
    EXPECT_EQ(refused.code, cli::exitUsage) << length;
    EXPECT_TRUE(says(refused.errors, "--for: must be 1s to 24h")) << refused.errors;
  }
}

}  // namespace
}  // namespace tenure::test
