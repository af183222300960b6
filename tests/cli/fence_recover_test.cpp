// `tenure fence recover`, with real stores and resources.
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <tenure/adapters/fenced_file.hpp>
#include <tenure/adapters/sqlite_fence.hpp>

#include "adapters/test_database.hpp"
#include "cli/group_fixture.hpp"
#include "cli/text/exit_codes.hpp"

namespace tenure::test {
namespace {

constexpr const char* greatest = "9007199254740991";

class FenceRecoverTest : public GroupFixture {
 protected:
  /// A lease that was led once; somebody has then spoilt its tokens.
  void poison(const std::string& counter = greatest) const {
    configure();
    ASSERT_EQ(finish({"run", "--config", config(), "--once", "--", "true"}).code, 0);
    const TestDatabase leases{database()};
    leases.exec("UPDATE tenure_fence SET token = " + counter + "; UPDATE tenure_lease SET token = " + counter);
  }
  [[nodiscard]] Finished recover(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"fence", "recover", "--config", config(), "--token", "17", "--yes"};
    words.insert(words.end(), more.begin(), more.end());
    return finish(words);
  }
  /// The token that a leader gets now; empty: nobody can be elected.
  [[nodiscard]] std::string nextToken(const std::string& wait = "15s") const {
    const std::string file = directory_.file("token");
    const std::string job = "echo $TENURE_FENCING_TOKEN > " + file;
    if (finish({"run", "--config", config(), "--once", "--wait", wait, "--", "sh", "-c", job}).code != 0) return "";
    std::string token;
    std::getline(std::ifstream{file}, token);
    return token;
  }
};

TEST_F(FenceRecoverTest, aLeaseWhoseCounterIsAtItsEndElectsAgain) {
  poison();
  ASSERT_EQ(nextToken("3s"), "") << "the counter cannot rise any further";
  const Finished done = recover();
  ASSERT_EQ(done.code, cli::exitOk) << done.errors;
  EXPECT_NE(done.errors.find("counter: 9007199254740991 -> 17"), std::string::npos) << done.errors;
  EXPECT_NE(done.errors.find("watching lease test-group for "), std::string::npos) << "why it waits: " << done.errors;
  EXPECT_NE(done.errors.find("This waives invariant I7"), std::string::npos) << done.errors;
  EXPECT_EQ(nextToken(), "18");
}

TEST_F(FenceRecoverTest, aCounterOfAnOlderReleaseAboveEveryTokenIsSetRight) {
  poison("9223372036854775807");
  ASSERT_EQ(recover().code, cli::exitOk);
  EXPECT_EQ(nextToken(), "18");
}

/// CLI11 alone would read 010 as eight.
TEST_F(FenceRecoverTest, aTokenWithZerosInFrontIsRefused) {
  poison();
  for (const char* token : {"017", "0x11", "+17", "17 "}) {
    const Finished refused = finish({"fence", "recover", "--config", config(), "--token", token, "--yes"});
    EXPECT_EQ(refused.code, cli::exitUsage) << token;
  }
  EXPECT_EQ(nextToken("3s"), "");
}

TEST_F(FenceRecoverTest, aLeaseThatNobodyKnowsIsNotMade) {
  poison();
  const Finished refused = recover({"--lease", "typo"});
  EXPECT_EQ(refused.code, cli::exitUsage);
  EXPECT_NE(refused.errors.find("neither a counter nor a record"), std::string::npos) << refused.errors;
}

TEST_F(FenceRecoverTest, doesNothingWhileALeaderLives) {
  configure();
  Subprocess alice{run({}, actingJob()), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  const Finished refused = recover();
  EXPECT_EQ(refused.code, cli::exitBusy) << refused.errors;
  EXPECT_NE(refused.errors.find("alice#"), std::string::npos) << refused.errors;
  EXPECT_NE(refused.errors.find("End every candidate first"), std::string::npos) << refused.errors;
  EXPECT_EQ(TestDatabase{database()}.number("SELECT token FROM tenure_fence"), 1);
  EXPECT_TRUE(goesOn(1)) << "it leads on";
}

TEST_F(FenceRecoverTest, doesNothingWhileALeaderIsFrozenWhoseLeaseIsOver) {
  configure();
  Subprocess alice{run({}, actingJob()), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  ASSERT_TRUE(freezeOutsideOfTransactions(alice));
  const Finished refused = recover();  // no renewal was seen for a whole lease, but the liveness file is locked
  EXPECT_EQ(refused.code, cli::exitStore) << refused.errors;
  EXPECT_NE(refused.errors.find("beacon-"), std::string::npos) << refused.errors;
  EXPECT_EQ(TestDatabase{database()}.number("SELECT token FROM tenure_fence"), 1);
}

TEST_F(FenceRecoverTest, doesNothingWithoutAConfirmation) {
  poison();
  const Finished refused = finish({"fence", "recover", "--config", config(), "--token", "17"});
  EXPECT_EQ(refused.code, cli::exitUsage);
  EXPECT_NE(refused.errors.find("--yes"), std::string::npos) << refused.errors;
  EXPECT_EQ(TestDatabase{database()}.text("SELECT token FROM tenure_fence"), greatest);
}

TEST_F(FenceRecoverTest, aDatabaseThatRemembersATokenTooHighTakesTheNextLeader) {
  poison();
  const std::string file = directory_.file("app.db");
  const TestDatabase app{file};
  auto fence = SqliteFence::open(app.raw()).value();
  const auto nothing = [](sqlite3*) { return SQLITE_OK; };
  ASSERT_TRUE(fence.write(TermStamp{"test-group", maxFencingToken, "mallory"}, nothing));
  ASSERT_TRUE(fence.write(TermStamp{"other", FencingToken{99}, "x"}, nothing));
  ASSERT_EQ(recover({"--resource", "sqlite:" + file}).code, cli::exitOk);
  EXPECT_TRUE(fence.write(TermStamp{"test-group", FencingToken{17}, "a"}, nothing).has_error());
  EXPECT_TRUE(fence.write(TermStamp{"test-group", FencingToken{18}, "a"}, nothing).has_value());
  EXPECT_EQ(fence.highestSeen("other").value()->token, FencingToken{99});
}

TEST_F(FenceRecoverTest, aFileThatRemembersATokenTooHighTakesTheNextLeader) {
  poison();
  const std::string path = directory_.file("ledger");
  auto file = FencedFile::open(path).value();
  ASSERT_TRUE(file.append(TermStamp{"test-group", maxFencingToken, "mallory"}, "kept\n"));
  ASSERT_EQ(recover({"--resource", "file:" + path}).code, cli::exitOk);
  EXPECT_TRUE(file.append(TermStamp{"test-group", FencingToken{17}, "a"}, "no\n").has_error());
  EXPECT_TRUE(file.append(TermStamp{"test-group", FencingToken{18}, "a"}, "more\n").has_value());
  EXPECT_EQ(file.read().value(), "kept\nmore\n");
}

TEST_F(FenceRecoverTest, aProxysMemoryIsSetWhileTheProxyIsStoppedOnly) {
  poison();
  const std::string memory = directory_.file("fence.db");
  const std::vector<std::string> words{
      "fence",   "proxy",      "--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:9",
      "--lease", "test-group", "--memory", memory};
  {
    Subprocess proxy{tenure(words), as("proxy")};
    ASSERT_TRUE(proxy.lineAfter("listening on").has_value()) << proxy.errors();
    const Finished refused = recover({"--resource", "proxy:" + memory});
    EXPECT_EQ(refused.code, cli::exitUsage);
    EXPECT_NE(refused.errors.find("in use by another process"), std::string::npos) << refused.errors;
    proxy.signal(SIGTERM);
    EXPECT_EQ(proxy.wait(), cli::exitOk);
  }
  const TestDatabase inside{memory};
  inside.exec("PRAGMA ignore_check_constraints = ON");  // as an older release left it
  inside.exec("INSERT INTO tenure_fence_guard VALUES('test-group', 9223372036854775807, 'mallory', '')");
  const Finished damaged = finish(words);
  EXPECT_EQ(damaged.code, cli::exitFailed);
  for (const std::string& part : {memory, std::string{"9223372036854775807"}, std::string{"tenure fence recover"}}) {
    EXPECT_NE(damaged.errors.find(part), std::string::npos) << damaged.errors;
  }
  const Finished done = recover({"--resource", "proxy:" + memory});
  ASSERT_EQ(done.code, cli::exitOk) << done.errors;
  EXPECT_EQ(inside.number("SELECT token FROM tenure_fence_guard"), 17);
  Subprocess again{tenure(words), as("proxy")};
  EXPECT_TRUE(again.lineAfter("listening on").has_value()) << again.errors();
}

/// Databases of other programs, also such as a look would otherwise roll back, checkpoint or turn into a memory.
TEST_F(FenceRecoverTest, aFileThatIsNoFencesMemoryIsRefusedAndNothingOfItChanges) {
  poison();
  std::filesystem::create_directory(directory_.file("others"));
  const auto in = [&](const std::string& name) { return directory_.file("others/" + name); };
  std::ofstream{in("empty")};
  std::ofstream{in("text")} << "not a database\n";
  std::filesystem::create_directory(in("folder"));
  std::filesystem::create_symlink("app.db", in("link"));
  TestDatabase{in("app.db")}.exec("CREATE TABLE x(a)");
  TestDatabase{in("odd?%23 .db")}.exec("CREATE TABLE x(a)");
  TestDatabase{in("half.db")}.exec("CREATE TABLE tenure_fence_guard(lease, token, holder, since)");
  TestDatabase{in("other.db")}.exec(
      "CREATE TABLE tenure_fence_state(id, clean); CREATE VIEW tenure_fence_guard AS SELECT 1 AS lease, 1 AS token, 1 "
      "AS holder, 1 AS since, 1 AS ticket");
  const TestDatabase logged{in("wal.db")};
  logged.exec("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE x(a); INSERT INTO x VALUES(1)");
  for (const char* file : {"wal.db", "wal.db-wal"}) {  // as after a crash
    std::filesystem::copy(in(file), in(std::string{"crashed"} + (file + 3)));
  }
  const auto everything = [&] {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator{directory_.file("others")}) {
      std::stringstream content;
      if (entry.is_regular_file() && entry.path().extension() != ".db-shm")
        content << std::ifstream{entry.path()}.rdbuf();
      files[entry.path().filename()] = content.str();
    }
    return files;
  };
  const auto before = everything();
  for (const std::string kind : {"sqlite:", "file:", "proxy:"}) {
    const auto refused = recover({"--resource", kind + "~/fence.db"});
    EXPECT_NE(refused.code, cli::exitOk);
    EXPECT_NE(refused.errors.find("\"~/fence.db\" starts with ~"), std::string::npos) << refused.errors;
  }
  for (const std::string kind : {"proxy:", "sqlite:"}) {
    for (const char* name : {"empty", "text", "folder", "link", "app.db", "odd?%23 .db", "half.db", "other.db",
                             "wal.db", "crashed.db", "missing"}) {
      const Finished refused = recover({"--resource", kind + in(name)});
      EXPECT_EQ(refused.code, cli::exitUsage) << kind << name << ": " << refused.errors;
      EXPECT_NE(refused.errors.find(in(name)), std::string::npos) << refused.errors;
    }
    EXPECT_EQ(recover({"--resource", kind + database()}).code, cli::exitUsage) << "the store's own database";
  }
  EXPECT_EQ(everything(), before);
  EXPECT_EQ(TestDatabase{database()}.text("SELECT token FROM tenure_fence"), greatest);
}

TEST_F(FenceRecoverTest, aMemoryOfTheOtherKindIsRefusedWithTheRightWord) {
  poison();
  const std::string own = directory_.file("own.db");
  const TestDatabase open{own};
  open.exec("PRAGMA journal_mode = WAL");  // the table is in the log alone
  ASSERT_TRUE(SqliteFence::open(open.raw()).has_value());
  EXPECT_NE(recover({"--resource", "proxy:" + own}).errors.find("sqlite:FILE"), std::string::npos);
  EXPECT_EQ(recover({"--resource", "sqlite:" + own}).code, cli::exitOk);
  const std::string memory = directory_.file("memory.db");
  TestDatabase{memory}.exec(
      "CREATE TABLE tenure_fence_guard(lease TEXT PRIMARY KEY, token INTEGER, holder TEXT, since TEXT);"
      "CREATE TABLE tenure_fence_state(id INTEGER PRIMARY KEY, clean INTEGER)");
  EXPECT_NE(recover({"--resource", "sqlite:" + memory}).errors.find("proxy:FILE"), std::string::npos);
  EXPECT_EQ(recover({"--resource", "proxy:" + memory}).code, cli::exitOk);
}

TEST_F(FenceRecoverTest, toolsOfTheirOwnGetTheirStatements) {
  poison();
  const Finished done = recover({"--resource", "postgresql:app", "--resource", "redis:tenure:fence:"});
  ASSERT_EQ(done.code, cli::exitOk) << done.errors;
  EXPECT_NE(done.output.find("INSERT INTO \"app\".tenure_fence_guard(lease, token, holder) VALUES('test-group', 17, "
                             "'tenure fence recover');\nCOMMIT;\n"),
            std::string::npos)
      << done.output;
  EXPECT_NE(done.output.find("HSET \"tenure:fence:test-group\" lease \"test-group\" token 17 holder "
                             "\"tenure fence recover\"\n"),
            std::string::npos)
      << done.output;
}

TEST_F(FenceRecoverTest, aResourceThatIsNoneIsToldBeforeAnythingIsDone) {
  poison();
  const std::string none = directory_.file("none");
  for (const std::string& word :
       {std::string{"sqlite"}, std::string{"etcd:x"}, "sqlite:" + none, "file:" + none, "proxy:" + none}) {
    const Finished refused = recover({"--resource", word});
    EXPECT_EQ(refused.code, cli::exitUsage) << word << refused.errors;
  }
  EXPECT_EQ(TestDatabase{database()}.text("SELECT token FROM tenure_fence"), greatest);
}

}  // namespace
}  // namespace tenure::test
