// `tenure lock` as scripts use it: the real program over one real SQLite file.
#include <csignal>
#include <filesystem>
#include <fstream>

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "cli/group_fixture.hpp"
#include "cli/text/exit_codes.hpp"

namespace tenure::test {
namespace {

class LockTest : public GroupFixture {
 protected:
  [[nodiscard]] std::vector<std::string> lock(std::vector<std::string> words) const {
    words.insert(words.begin(), {TENURE_PROGRAM, "lock"});
    const auto border = std::find(words.begin(), words.end(), "--");
    words.insert(border, {"--store", "sqlite", "--path", database()});
    return words;
  }
  [[nodiscard]] Finished finishLock(std::vector<std::string> words) const {
    return runToEnd(lock(std::move(words)), as("tester"));
  }
  /// The token of a lock that must be free.
  [[nodiscard]] std::string acquired(const std::string& key, const std::string& lease = "1m") const {
    const Finished done = finishLock({"acquire", key, "--lease", lease, "--wait", "1m", "--owner", "alice"});
    EXPECT_EQ(done.code, cli::exitOk) << done.errors;
    return done.output.substr(0, done.output.find('\n'));
  }
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// The value of a JSON member that is a number or a text.
std::string member(const std::string& json, const std::string& name) {
  const std::size_t at = json.find('"' + name + "\":");
  if (at == std::string::npos) return "(missing)";
  const std::size_t begin = at + name.size() + 3;
  const bool text = json[begin] == '"';
  return text ? json.substr(begin + 1, json.find('"', begin + 1) - begin - 1)
              : json.substr(begin, json.find_first_of(",}", begin) - begin);
}

TEST_F(LockTest, ALockGoesFromCommandToCommandByItsToken) {
  const std::string first = acquired("nightly");
  EXPECT_EQ(first.find("tenure-lock:1,key=nightly,"), 0U);
  const Finished renewed = finishLock({"renew", first, "--lease", "2m"});
  EXPECT_EQ(renewed.code, cli::exitOk) << renewed.errors;
  const std::string second = renewed.output.substr(0, renewed.output.find('\n'));
  EXPECT_TRUE(contains(second, "lease=120000ms"));
  EXPECT_EQ(finishLock({"show", second}).code, cli::exitOk);
  const Finished old = finishLock({"renew", first});
  EXPECT_EQ(old.code, cli::exitLost) << "only one of two may go on";
  EXPECT_TRUE(contains(old.errors, "was renewed with this token before")) << old.errors;
  EXPECT_EQ(finishLock({"show", first}).code, cli::exitLost);
  EXPECT_EQ(finishLock({"release", first}).code, cli::exitLost);
  const Finished released = finishLock({"release", second});
  EXPECT_EQ(released.code, cli::exitOk);
  EXPECT_EQ(released.output, "lock nightly is released\n");
  const Finished again = finishLock({"release", second});
  EXPECT_EQ(again.code, cli::exitOk) << "S1-56";
  EXPECT_EQ(again.output, "lock nightly was no longer held\n");
  EXPECT_EQ(finishLock({"renew", second}).code, cli::exitLost);
}

TEST_F(LockTest, ABusyLockIsItsOwnExitCodeAndNamesItsHolder) {
  const std::string token = acquired("nightly");
  const Finished busy = finishLock({"acquire", "nightly", "--wait", "0s"});
  EXPECT_EQ(busy.code, cli::exitBusy);
  EXPECT_EQ(busy.output, "");
  EXPECT_TRUE(contains(busy.errors, "lock nightly is held by alice (alice#")) << busy.errors;
  EXPECT_TRUE(contains(busy.errors, "with fencing token 1, acquired 20")) << "S1-68: " << busy.errors;
  EXPECT_TRUE(contains(busy.errors, " ago by the wall clocks")) << busy.errors;
  const Finished json = finishLock({"acquire", "nightly", "--wait", "2s", "--json"});
  EXPECT_EQ(json.code, cli::exitBusy);
  EXPECT_EQ(member(json.output, "error"), "held");
  EXPECT_EQ(member(json.output, "fencing_token"), "1");
  const Finished hold = finishLock({"hold", "nightly", "--wait", "0s", "--", "touch", directory_.file("touched")});
  EXPECT_EQ(hold.code, cli::exitBusy);
  EXPECT_TRUE(contains(hold.errors, ") leads nightly with fencing token 1")) << hold.errors;
  EXPECT_TRUE(contains(hold.errors, " ago by the wall clocks")) << hold.errors;
  EXPECT_FALSE(std::filesystem::exists(directory_.file("touched")));
}

TEST_F(LockTest, TheWaitIsBoundedAndADeadHolderIsSucceededAfterItsLease) {
  const std::string first = acquired("nightly", "1s");
  const Finished taken = finishLock({"acquire", "nightly", "--wait", "1m", "--json"});
  EXPECT_EQ(taken.code, cli::exitOk) << taken.errors;
  EXPECT_EQ(member(taken.output, "fencing_token"), "2");
  const Finished late = finishLock({"renew", first});
  EXPECT_EQ(late.code, cli::exitLost);
  EXPECT_TRUE(contains(late.errors, "an expired lock cannot be renewed")) << late.errors;
  EXPECT_EQ(finishLock({"release", first}).code, cli::exitLost);
  EXPECT_EQ(finishLock({"show", "nightly"}).code, cli::exitOk) << "the successor's lock is untouched";
}

TEST_F(LockTest, TokensThatAreNoneAreUsageErrorsThatSayWhy) {
  const std::string token = acquired("nightly");
  for (const auto& [text, says] : std::vector<std::pair<std::string, std::string>>{
           {"hello", "\"hello\" is not a lock token: give the one that tenure lock acquire printed"},
           {token.substr(0, 60), "is cut off"},
           {token.substr(0, token.size() - 1) + "x", "checksum is wrong"}}) {
    for (const char* command : {"renew", "release"}) {
      const Finished refused = finishLock({command, text});
      EXPECT_EQ(refused.code, cli::exitUsage) << command << ' ' << text;
      EXPECT_TRUE(contains(refused.errors, says)) << refused.errors;
    }
  }
  EXPECT_EQ(finishLock({"show", token}).code, cli::exitOk) << "nothing was changed";
  const std::vector<std::string> other{TENURE_PROGRAM, "lock", "renew", token, "--path", directory_.file("other.db")};
  EXPECT_EQ(runToEnd(other, as("x")).code, cli::exitLost) << "a token of another store";
}

TEST_F(LockTest, ACallerThatDiedBeforeItStoredItsTokenIsResumedByItsOwner) {
  static_cast<void>(acquired("nightly"));  // the token is not kept
  const Finished shown = finishLock({"show", "nightly", "--json"});
  const std::string owner = member(shown.output, "owner");
  ASSERT_EQ(owner.find("alice#"), 0U) << shown.output;
  EXPECT_EQ(finishLock({"renew", "nightly", "--owner", "alice"}).code, cli::exitLost) << "a name is no proof";
  const Finished resumed = finishLock({"renew", "nightly", "--owner", owner});
  EXPECT_EQ(resumed.code, cli::exitOk) << resumed.errors;
  EXPECT_EQ(finishLock({"release", "nightly", "--owner", owner}).code, cli::exitOk);
  const Finished again = finishLock({"release", "nightly", "--owner", owner, "--json"});
  EXPECT_EQ(again.code, cli::exitOk);
  EXPECT_EQ(again.output, "{\"lock\":\"nightly\",\"result\":\"not_held\"}\n");
  EXPECT_EQ(finishLock({"show", "nightly"}).code, cli::exitNobody);
}

TEST_F(LockTest, ATokenTakesNeitherAnOwnerNorASortKey) {
  const std::string token = acquired("nightly");
  for (const std::string command : {"renew", "release"}) {
    EXPECT_EQ(finishLock({command, token, "--owner", "alice#1"}).code, cli::exitUsage);
    EXPECT_EQ(finishLock({command, "-", "--owner", "alice#1"}).code, cli::exitUsage);
    EXPECT_EQ(finishLock({command, token, "--sort", "x"}).code, cli::exitUsage);
  }
  EXPECT_EQ(finishLock({"show", "nightly"}).code, cli::exitOk) << "nothing was released";
}

TEST_F(LockTest, AnOptionOfAnotherStoreIsRefused) {
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"--path", "a.db", "--region", "x"},
        {"--store", "sqlite", "--path", "a.db", "--endpoint", "http://127.0.0.1:1"},
        {"--path", "a.db", "--endpoint", "http://127.0.0.1:1", "--region", "x", "--table", "t"}}) {
    std::vector<std::string> words{TENURE_PROGRAM, "lock", "acquire", "nightly", "--wait", "0s"};
    words.insert(words.end(), options.begin(), options.end());
    const Finished refused = runToEnd(words, as("x"));
    EXPECT_EQ(refused.code, cli::exitUsage);
    EXPECT_TRUE(contains(refused.errors, "say which store is meant with --store")) << refused.errors;
  }
  EXPECT_FALSE(std::filesystem::exists(directory_.file("a.db")));
}

TEST_F(LockTest, ALockWithoutAHolderHasTheSameKeysAsOneWith) {
  const auto keysOf = [&](const std::string& lock) {
    const auto shown = boost::json::parse(finishLock({"show", lock, "--json"}).output);
    std::vector<std::string> keys;
    for (const auto& entry : shown.as_object()) keys.emplace_back(entry.key());
    return keys;
  };
  static_cast<void>(acquired("nightly"));
  EXPECT_EQ(keysOf("nobody's"), keysOf("nightly"));
}

TEST_F(LockTest, AWaitOfZeroIsASingleAttempt) {
  std::string token = acquired("nightly");
  const Finished renewed = finishLock({"renew", token, "--wait", "0s"});
  ASSERT_EQ(renewed.code, cli::exitOk) << renewed.errors;
  token = renewed.output.substr(0, renewed.output.size() - 1);
  EXPECT_EQ(finishLock({"release", token, "--wait", "0s"}).output, "lock nightly is released\n");
}

TEST_F(LockTest, ATokenThatCannotBePrintedIsNoLock) {
  const std::string words = std::string{TENURE_PROGRAM} + " lock acquire nightly --path " + database();
  const Finished full = runToEnd({"sh", "-c", words + " > /dev/full"}, as("x"));
  EXPECT_EQ(full.code, cli::exitFailed);
  EXPECT_TRUE(contains(full.errors, "No space left on device")) << full.errors;
  EXPECT_TRUE(contains(full.errors, "the lock is released again")) << full.errors;
  EXPECT_EQ(finishLock({"show", "nightly"}).code, cli::exitNobody);
}

TEST_F(LockTest, StoreAndTokenMayComeFromTheEnvironment) {
  SubprocessOptions options = as("x");
  options.environment["TENURE_LOCK_STORE"] = "sqlite";
  options.environment["TENURE_LOCK_PATH"] = "./leases.db";
  const Finished done = runToEnd(tenure({"lock", "acquire", "nightly", "--data", "d", "--attribute", "a=b"}), options);
  EXPECT_EQ(done.code, cli::exitOk) << done.errors;
  options.environment["TENURE_LOCK_TOKEN"] = done.output;
  const Finished shown = runToEnd(tenure({"lock", "show", "nightly"}), options);
  EXPECT_TRUE(contains(shown.output, "data           d\n")) << shown.output;
  EXPECT_TRUE(contains(shown.output, "attribute a    b\n")) << shown.output;
  EXPECT_EQ(runToEnd(tenure({"lock", "release"}), options).code, cli::exitOk);
  configure();
  SubprocessOptions byFile = as("carol");
  byFile.environment["TENURE_CONFIG"] = config();
  const Finished file = runToEnd(tenure({"lock", "acquire", "other", "--json"}), byFile);
  EXPECT_EQ(member(file.output, "lease_ms"), "2000") << "the file's lease is the default: " << file.errors;
  EXPECT_EQ(member(file.output, "owner").find("carol#"), 0U);
}

TEST_F(LockTest, WrongArgumentsAreRefusedBeforeAnythingHappens) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> all{
      {{}, "say what to do with the lock: acquire"},
      {{"seize"}, "there is no command \"seize\""},
      {{"acquire"}, "give the name of the lock"},
      {{"acquire", "a"}, "give the store: --store sqlite --path FILE"},
      {{"acquire", "a", "--store", "redis"}, "\"redis\" is none of sqlite"},
      {{"acquire", "a", "--store", "sqlite"}, "--path: is missing"},
      {{"acquire", "a", "--path", "x.db", "--config", "g.yaml"}, "not by both"},
      {{"acquire", "a", "--path", "x.db", "--lease", "0s"}, "--lease: "},
      {{"acquire", "a", "--path", "x.db", "--lease", "5"}, "unit"},
      {{"acquire", "a#fence", "--path", "x.db"}, "the lock's name: "},
      {{"acquire", "a", "--path", "x.db", "--attribute", "b"}, "NAME=VALUE"},
      {{"acquire", "a", "--path", "x.db", "--", "true"}, "only hold takes a command after --"},
      {{"hold", "a", "--path", "x.db"}, "give the command to run after --"},
      {{"hold", "a", "--path", "x.db", "--lease", "1s", "--heartbeat", "900ms", "--", "true"}, "--heartbeat: "},
      {{"hold", "a", "--sort", "b", "--path", "x.db", "--", "true"}, "hold takes no --sort"},
      {{"renew", "--path", "x.db"}, "give the lock token"},
      {{"list", "--path", "x.db", "--wacth", "1s"}, "--wacth"},
  };
  for (const auto& [words, says] : all) {
    std::vector<std::string> whole{"lock"};
    whole.insert(whole.end(), words.begin(), words.end());
    const Finished refused = finish(whole);
    EXPECT_EQ(refused.code, cli::exitUsage) << says;
    EXPECT_EQ(refused.output, "");
    EXPECT_TRUE(contains(refused.errors, says)) << refused.errors;
  }
  EXPECT_FALSE(std::filesystem::exists(directory_.file("x.db")));
}

TEST_F(LockTest, AStoreThatCannotBeUsedIsItsOwnExitCode) {
  const std::string nowhere = directory_.file("no/such/directory/x.db");
  const Finished nothere = finish({"lock", "acquire", "a", "--path", nowhere, "--json"});
  EXPECT_EQ(nothere.code, cli::exitStore) << nothere.errors;
  EXPECT_EQ(member(nothere.output, "error"), "store");
  directory_.write("junk.db", std::string(8192, 'x'));
  for (const char* command : {"acquire", "show", "list", "prune"}) {
    const Finished failed = finish({"lock", command, "a", "--path", directory_.file("junk.db")});
    EXPECT_EQ(failed.code, cli::exitStore) << command << ": " << failed.errors;
    EXPECT_TRUE(contains(failed.errors, "junk.db")) << failed.errors;
    const Finished json = finish({"lock", command, "a", "--path", directory_.file("junk.db"), "--json"});
    EXPECT_EQ(json.code, cli::exitStore) << command << ": " << json.errors;
    EXPECT_EQ(member(json.output, "error"), "store") << command << ": " << json.output;
    EXPECT_TRUE(contains(member(json.output, "message"), "junk.db")) << json.output;
  }
}

TEST_F(LockTest, HoldRunsTheCommandOnceUnderTheLockAndGivesItsExitCode) {
  const Finished done = finishLock(
      {"hold", "nightly", "--wait", "0s", "--", "sh", "-c", "echo $TENURE_LEASE $TENURE_FENCING_TOKEN; exit 7"});
  EXPECT_EQ(done.code, 7) << done.errors;
  EXPECT_EQ(done.output, "nightly 1\n");
  EXPECT_EQ(done.errors, "") << "as quiet as flock(1)";
  EXPECT_EQ(finishLock({"show", "nightly"}).code, cli::exitNobody) << "released at once";
  EXPECT_EQ(finishLock({"hold", "nightly", "--", "/no/such/command"}).code, cli::exitNotFound);
}

/// So that COMMAND can call `tenure status`. Without a file of its own, hold leaves the variable to whoever set it.
TEST_F(LockTest, HoldTellsItsCommandTheFileWhereverItsNameComesFrom) {
  configure();
  const std::vector<std::string> show{"hold", "nightly", "--", "sh", "-c", "echo \"<$TENURE_CONFIG>\""};
  SubprocessOptions options = as("x");
  options.environment["TENURE_CONFIG"] = config();
  std::vector<std::string> command{"lock"};
  command.insert(command.end(), show.begin(), show.end());
  EXPECT_EQ(runToEnd(tenure(command), options).output, "<" + config() + ">\n");
  options.environment["TENURE_CONFIG"] = "/of/another.yaml";
  EXPECT_EQ(runToEnd(lock(show), options).output, "</of/another.yaml>\n");
}

TEST_F(LockTest, HoldersTakeTurns) {
  Subprocess first{lock({"hold", "nightly", "--lease", "2s", "--", "sh", "-c", actingJob()[2]}), as("alice")};
  ASSERT_TRUE(begins(1)) << first.errors();
  Subprocess second{lock({"hold", "nightly", "--lease", "2s", "--", "sh", "-c", actingJob()[2]}), as("bob")};
  EXPECT_TRUE(goesOn(1));
  EXPECT_EQ(firstAct(2), 0) << "one at a time";
  first.signal(SIGTERM);
  ASSERT_TRUE(begins(2)) << second.errors();
  EXPECT_GT(firstAct(2), lastAct(1));
}

TEST_F(LockTest, TheCommandIsEndedWhenTheLockIsLost) {
  Subprocess holder{
      lock({"hold", "nightly", "--lease", "2s", "--heartbeat", "300ms", "--", "sh", "-c", actingJob()[2]}),
      as("alice")};
  ASSERT_TRUE(begins(1)) << holder.errors();
  const Witness job{jobOf(1)};
  sql("UPDATE tenure_lease SET holder = 'thief#1', record_version = 'stolen', token = 2 WHERE name = 'nightly'");
  EXPECT_EQ(holder.wait(), cli::exitLost) << holder.errors();
  EXPECT_TRUE(job.ended()) << "nothing of it acts on";
  EXPECT_TRUE(contains(holder.errors(), "leadership ended while the job ran")) << holder.errors();
}

TEST_F(LockTest, ListMarksEachRowAndAJunkRowEndsNothing) {
  static_cast<void>(acquired("a-held"));
  EXPECT_EQ(finishLock({"release", acquired("b-released")}).code, cli::exitOk);
  static_cast<void>(acquired("c-junk"));
  static_cast<void>(acquired("d-dead", "200ms"));
  sql("UPDATE tenure_lease SET lease_ms = -5 WHERE name = 'c-junk'");
  const Finished listed = finishLock({"list"});
  EXPECT_EQ(listed.code, cli::exitOk) << listed.errors;
  EXPECT_TRUE(contains(listed.output, "\nheld      a-held      alice#")) << listed.output;
  EXPECT_TRUE(contains(listed.output, "\nreleased  b-released  alice#")) << listed.output;
  EXPECT_TRUE(contains(listed.output, "\ncorrupt   c-junk      ")) << listed.output;
  EXPECT_TRUE(contains(listed.output, "\nheld      d-dead      ")) << "no wall clock decides: " << listed.output;
  const Finished watched = finishLock({"list", "--watch", "400ms", "--json"});
  EXPECT_TRUE(contains(watched.output, R"({"lock":"d-dead","sort":null,"state":"stale","owner":"alice#)"))
      << "S1-58: " << watched.output;
  EXPECT_TRUE(contains(watched.output, R"({"lock":"a-held","sort":null,"state":"held")")) << watched.output;
  EXPECT_TRUE(contains(watched.output, R"({"lock":"c-junk","sort":null,"state":"corrupt","message":")"));
  const Finished some = finishLock({"list", "b"});
  EXPECT_FALSE(contains(some.output, "a-held")) << "J-41: by prefix";
  EXPECT_TRUE(contains(some.output, "b-released"));
}

TEST_F(LockTest, AHolderThatRenewsIsListedAsRenewed) {
  Subprocess holder{lock({"hold", "nightly", "--lease", "2s", "--heartbeat", "100ms", "--", "sleep", "60"}), as("a")};
  ASSERT_TRUE(eventually([&] { return finishLock({"show", "nightly"}).code == cli::exitOk; }));
  // A busy machine may keep a holder from renewing, so it is watched more than once.
  EXPECT_TRUE(eventually([&] {
    return contains(finishLock({"list", "--watch", "500ms", "--json"}).output, R"("state":"renewed")");
  }));
}

TEST_F(LockTest, PruneSaysWhatItWouldRemoveAndRemovesOnlyWhenTold) {
  static_cast<void>(acquired("held"));
  EXPECT_EQ(finishLock({"release", acquired("released")}).code, cli::exitOk);
  static_cast<void>(acquired("junk"));
  sql("UPDATE tenure_lease SET lease_ms = -5 WHERE name = 'junk'");
  const Finished dry = finishLock({"prune"});
  EXPECT_EQ(dry.code, cli::exitOk);
  EXPECT_TRUE(contains(dry.output, "would remove released (released)\n")) << dry.output;
  EXPECT_TRUE(contains(dry.output, "kept junk (")) << dry.output;
  EXPECT_TRUE(contains(dry.errors, "tenure: nothing was changed; with --yes: 1 removed, 2 kept\n"));
  EXPECT_TRUE(contains(finishLock({"list"}).output, "released  released  ")) << "a dry run changes nothing";
  const Finished done = finishLock({"prune", "--yes"});
  EXPECT_EQ(done.code, cli::exitOk) << done.errors;
  EXPECT_TRUE(contains(done.output, "removed released (released)\n")) << done.output;
  EXPECT_TRUE(contains(done.errors, "1 removed, 2 kept"));
  const std::string left = finishLock({"list"}).output;
  EXPECT_TRUE(contains(left, "held     held")) << left;
  EXPECT_TRUE(contains(left, "corrupt  junk")) << left;
  EXPECT_FALSE(contains(left, "released")) << left;
}

TEST_F(LockTest, PruneRemovesTheAbandonedAfterTheirLeaseAndTokensGoOnRising) {
  Subprocess holder{lock({"hold", "alive", "--lease", "2s", "--heartbeat", "100ms", "--", "sleep", "60"}), as("a")};
  ASSERT_TRUE(eventually([&] { return finishLock({"show", "alive"}).code == cli::exitOk; }));
  static_cast<void>(acquired("dead", "2s"));
  const Finished done = finishLock({"prune", "--abandoned", "200ms", "--yes", "--json"});
  EXPECT_EQ(done.code, cli::exitOk) << done.errors;
  EXPECT_TRUE(contains(done.output, R"({"lock":"dead","sort":null,"action":"removed","reason":"abandoned"})"))
      << done.output;
  EXPECT_FALSE(contains(done.output, R"("lock":"alive")")) << done.output;
  EXPECT_TRUE(contains(done.errors, "watches for 2200ms whether held locks are renewed")) << done.errors;
  EXPECT_TRUE(holder.running()) << holder.errors();
  // It waits for the lease that the counter states for the term whose record was removed.
  const long long asked = monotonicNow();
  const Finished next = finishLock({"acquire", "dead", "--wait", "4s", "--json"});  // the lease, and as long again
  EXPECT_EQ(member(next.output, "fencing_token"), "2") << "the counter is never removed: " << next.errors;
  EXPECT_GE(monotonicNow() - asked, 2'000'000'000);
}

TEST_F(LockTest, OfProcessesThatRenewOneTokenAtOnceOneWins) {
  const std::string token = acquired("nightly");
  std::vector<std::unique_ptr<Subprocess>> all;
  for (int i = 0; i < 6; ++i) all.push_back(std::make_unique<Subprocess>(lock({"renew", token}), as("x")));
  int won = 0, told = 0;
  for (const auto& one : all) {
    const int code = one->wait();
    won += code == cli::exitOk ? 1 : 0;
    told += code == cli::exitLost ? 1 : 0;
  }
  EXPECT_EQ(won, 1);
  EXPECT_EQ(told, 5);
}

/// Killed at any point between the start and the printing of the token: the lock is free, or a holder that the record
/// names has it, and it ends with its lease.
TEST_F(LockTest, AKilledCallerLeavesNothingThatItsLeaseDoesNotEnd) {
  for (int round = 0; round < 5; ++round) {
    Subprocess caller{lock({"acquire", "nightly", "--lease", "500ms", "--owner", "victim"}), as("x")};
    static_cast<void>(eventually([&] { return contains(contentOf(database()), "victim"); }, milliseconds{round * 10}));
    caller.signal(SIGKILL);
    caller.wait();
  }
  const Finished after = finishLock({"acquire", "nightly", "--wait", "1m"});
  EXPECT_EQ(after.code, cli::exitOk) << after.errors;
}

}  // namespace
}  // namespace tenure::test
