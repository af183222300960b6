#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include <tenure/adapters/http_fence.hpp>

#include "adapters/test_database.hpp"
#include "support/own_mounts.hpp"
#include "support/temp_dir.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;

/// A request and its verdict, which may come at any time.
class Asked {
 public:
  Asked(HttpFence& fence, const FencedRequest& request) {
    auto verdict = fence.admit(request, [this](HttpVerdict later) { put(std::move(later)); });
    if (verdict) put(std::move(*verdict));
  }
  [[nodiscard]] bool answered() {
    const std::lock_guard lock{mutex_};
    return verdict_.has_value();
  }
  HttpVerdict& verdict() {
    std::unique_lock lock{mutex_};
    if (!changed_.wait_for(lock, 30s, [this] { return verdict_.has_value(); })) throw std::runtime_error{"no verdict"};
    return *verdict_;
  }
  [[nodiscard]] bool passes() { return std::holds_alternative<FencePass>(verdict()); }
  [[nodiscard]] int status() {
    const auto* problem = std::get_if<HttpProblem>(&verdict());
    return problem == nullptr ? 0 : problem->status;
  }
  [[nodiscard]] const HttpProblem& problem() { return std::get<HttpProblem>(verdict()); }
  void end() { verdict() = FencePass{}; }
  [[nodiscard]] const FencePass& pass() { return std::get<FencePass>(verdict()); }

 private:
  void put(HttpVerdict verdict) {
    const std::lock_guard lock{mutex_};
    if (verdict_) std::terminate();  // two answers
    verdict_ = std::move(verdict);
    changed_.notify_one();
  }
  std::mutex mutex_{};
  std::condition_variable changed_{};
  std::optional<HttpVerdict> verdict_{};
};

class HttpFenceTest : public testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<HttpFence> open() const { return HttpFence::open(options_).value(); }
  /// Like a process that is killed: the pass of the request still exists when the fence is destroyed.
  void leaveARequestUnderWay(const std::function<void(HttpFence&)>& before = {}) const {
    HttpVerdict underWay;
    const auto fence = open();
    Asked asked{*fence, post("billing=5")};
    EXPECT_TRUE(asked.passes());
    underWay = std::move(asked.verdict());
    if (before) before(*fence);
    fence->close();
  }
  /// The same, while a request of term 6 waits, whose token is on the disk.
  void leaveALaterTermWaiting() const {
    leaveARequestUnderWay([this](HttpFence& fence) {
      Asked later{fence, post("billing=6")};
      waitForToken(6);
      EXPECT_FALSE(later.answered());
      fence.close();  // this answers it
    });
  }
  void waitForToken(int token) const {
    const test::TestDatabase memory{options_.memory};
    memory.waitForLocks(30s);
    while (memory.number("SELECT token FROM tenure_fence_guard WHERE lease = 'billing'") != token) {
    }
  }
  void change(const std::string& sql) const { test::TestDatabase{options_.memory}.exec(sql); }
  static FencedRequest post(std::string_view header) { return {"POST", "/ledger", 1, header}; }

  const test::TempDir directory_;
  HttpFenceOptions options_{.leases = {"billing", "Other/1"}, .memory = directory_.file("fence.db")};
};

std::string headerOf(const HttpProblem& problem, const std::string& name) {
  for (const auto& [key, value] : problem.headers) {
    if (key == name) return value;
  }
  return {};
}

TEST_F(HttpFenceTest, refusesAFormerTermAndNamesBothTokens) {
  const auto fence = open();
  EXPECT_TRUE(Asked(*fence, post(R"(billing=42;holder="b#2")")).passes());
  Asked stale{*fence, post(R"(billing=41;holder="a#1")")};
  ASSERT_EQ(stale.status(), 409);
  EXPECT_EQ(headerOf(stale.problem(), "Content-Type"), "application/problem+json");
  EXPECT_EQ(
      stale.problem().body,
      "{\"type\":\"urn:tenure:fence:stale-token\",\"title\":\"The term of this request is over\",\"status\":409,"
      "\"detail\":\"lease \\\"billing\\\": refused a write of a (1) with fencing token 41, because b (2) has written "
      "with token 42; the writer's term is over and its work must stop\",\"lease\":\"billing\",\"token\":41,"
      "\"highestSeen\":42,\"holder\":\"b#2\"}\n");
  const TermStamp mine{"billing", FencingToken{41}, "a#1"};
  const auto error = httpFenceError(mine, 409, "application/problem+json", headerOf(stale.problem(), "Fencing-Token"));
  ASSERT_TRUE(error);
  EXPECT_EQ(*error->stale(), (StaleToken{FencingToken{41}, FencingToken{42}}));
}

TEST_F(HttpFenceTest, aClientDoesNotTakeAnAnswerOfTheServiceForARejection) {
  const TermStamp mine{"billing", FencingToken{41}, "a#1"};
  EXPECT_FALSE(httpFenceError(mine, 409, "application/json", "billing=42"));
  EXPECT_FALSE(httpFenceError(mine, 409, "application/problem+json", ""));
  EXPECT_FALSE(httpFenceError(mine, 409, "application/problem+json", "other=42"));
  EXPECT_FALSE(httpFenceError(mine, 200, "application/problem+json", "billing=42"));
  EXPECT_FALSE(httpFenceError(mine, 409, "application/problem+json", "billing=40")) << "that is no rejection";
}

TEST_F(HttpFenceTest, theSameTokenOfAnotherHolderIsRefused) {
  const auto fence = open();
  EXPECT_TRUE(Asked(*fence, post(R"(billing=42;holder="b#2")")).passes());
  Asked foreign{*fence, post(R"(billing=42;holder="c#3")")};
  EXPECT_EQ(foreign.status(), 409);
  EXPECT_NE(foreign.problem().body.find("foreign-term"), std::string::npos);
}

TEST_F(HttpFenceTest, theStatusMayBe412) {
  options_.staleStatus = 412;
  const auto fence = open();
  EXPECT_TRUE(Asked(*fence, post("billing=42")).passes());
  EXPECT_EQ(Asked(*fence, post("billing=41")).status(), 412);
}

TEST_F(HttpFenceTest, remembersAcrossARestart) {
  { EXPECT_TRUE(Asked(*open(), post(R"(*=7;lease="Other/1";holder="a#1")")).passes()); }
  EXPECT_EQ(test::TestDatabase{options_.memory}.number("SELECT token FROM tenure_fence_guard WHERE lease = 'Other/1'"),
            7);
  const auto fence = open();
  EXPECT_EQ(fence->highestSeen("Other/1"), (TermStamp{"Other/1", FencingToken{7}, "a#1"}));
  EXPECT_EQ(Asked(*fence, post(R"(*=6;lease="Other/1")")).status(), 409);
  EXPECT_TRUE(Asked(*fence, post(R"(*=7;lease="Other/1";holder="a#1")")).passes());
}

TEST_F(HttpFenceTest, aTokenIsOnTheDiskBeforeItsFirstRequestPasses) {
  const auto fence = open();
  const test::TestDatabase reader{options_.memory};
  for (int token = 1; token <= 50; ++token) {
    Asked asked{*fence, post("billing=" + std::to_string(token))};
    ASSERT_TRUE(asked.passes());
    ASSERT_EQ(reader.number("SELECT token FROM tenure_fence_guard"), token);
  }
}

TEST_F(HttpFenceTest, onlyARiseOfTheTokenIsWritten) {
  const auto fence = open();
  const test::TestDatabase reader{options_.memory};
  EXPECT_TRUE(Asked(*fence, post("billing=5")).passes());
  const auto version = reader.number("PRAGMA data_version");
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(Asked(*fence, post("billing=5")).passes());
  EXPECT_EQ(reader.number("PRAGMA data_version"), version);
}

TEST_F(HttpFenceTest, aLaterTermWaitsForTheRequestsUnderWay) {
  const auto fence = open();
  Asked older{*fence, post("billing=5")};
  ASSERT_TRUE(older.passes());
  std::atomic<int> told{0};
  older.pass().onOvertaken([&] { ++told; });
  EXPECT_EQ(told, 0);
  Asked newer{*fence, post("billing=6")};
  EXPECT_EQ(told, 1);
  EXPECT_EQ(Asked(*fence, post("billing=5")).status(), 409);
  waitForToken(6);
  EXPECT_FALSE(newer.answered());
  older.end();
  EXPECT_TRUE(newer.passes());
  newer.pass().onOvertaken([&] { ++told; });
  EXPECT_EQ(told, 1);
}

TEST_F(HttpFenceTest, afterACrashALaterTermWaitsForWhatMayBeUnderWay) {
  leaveARequestUnderWay();
  options_.afterCrash = 300ms;
  const auto start = std::chrono::steady_clock::now();
  const auto fence = open();
  EXPECT_TRUE(Asked(*fence, post("billing=5")).passes());
  EXPECT_TRUE(Asked(*fence, post("billing=6")).passes());
  EXPECT_GE(std::chrono::steady_clock::now() - start, 299ms);
  fence->close();
}

/// Its token is on the disk, and the request of the term before was under way when the process was killed.
TEST_F(HttpFenceTest, afterACrashATermThatHadNotPassedYetWaitsToo) {
  leaveALaterTermWaiting();
  options_.afterCrash = 300ms;
  const auto start = std::chrono::steady_clock::now();
  const auto fence = open();
  EXPECT_EQ(Asked(*fence, post("billing=5")).status(), 409) << "what was seen is not forgotten";
  EXPECT_TRUE(Asked(*fence, post("billing=6")).passes());
  EXPECT_GE(std::chrono::steady_clock::now() - start, 299ms);
  fence->close();
}

TEST_F(HttpFenceTest, aSecondCrashDuringTheWaitBeginsItAnew) {
  leaveALaterTermWaiting();
  options_.afterCrash = 1h;
  for (int crash = 0; crash < 3; ++crash) {
    const auto fence = open();
    Asked waiting{*fence, post("billing=" + std::to_string(6 + crash))};
    waitForToken(6 + crash);
    EXPECT_FALSE(waiting.answered());
    fence->close();  // the wait is not over, so the memory is left as by a kill
  }
}

TEST_F(HttpFenceTest, afterACrashALeaseOnWhichNothingHadPassedDoesNotWait) {
  leaveARequestUnderWay();
  options_.afterCrash = 1h;
  const auto fence = open();
  EXPECT_TRUE(Asked(*fence, post(R"(*=7;lease="Other/1")")).passes());
  EXPECT_TRUE(Asked(*fence, post("billing=5")).passes()) << "nor does the term whose requests may be under way";
}

TEST_F(HttpFenceTest, aLeaseThatTheNextFenceDoesNotHaveIsWaitedForAllTheSame) {
  leaveARequestUnderWay();
  options_.afterCrash = 1h;
  HttpFenceOptions other = options_;
  other.leases = {"Other/1"};
  HttpFence::open(other).value()->close();
  const auto fence = open();
  Asked waiting{*fence, post("billing=6")};
  EXPECT_FALSE(waiting.answered());
  fence->close();
}

/// It made no marks, so its requests may be of any term up to the highest.
TEST_F(HttpFenceTest, aMemoryThatAnOlderReleaseHadInUseLetsEachTermWait) {
  leaveARequestUnderWay();
  change("DROP TABLE tenure_fence_passed");
  change("UPDATE tenure_fence_state SET clean = 0");
  options_.afterCrash = 300ms;
  const auto start = std::chrono::steady_clock::now();
  const auto fence = open();
  EXPECT_TRUE(Asked(*fence, post("billing=5")).passes());
  EXPECT_GE(std::chrono::steady_clock::now() - start, 299ms);
}

TEST_F(HttpFenceTest, aMemoryThatAnOlderReleaseHasClosedLetsNobodyWait) {
  leaveARequestUnderWay();
  change("DROP TABLE tenure_fence_passed");
  change("UPDATE tenure_fence_state SET clean = 1");
  options_.afterCrash = 1h;
  EXPECT_TRUE(Asked(*open(), post("billing=6")).passes());
}

/// An older release between two of this one: the marks that this one had left say nothing any more.
TEST_F(HttpFenceTest, marksFromBeforeAnOlderReleaseAreNotBelieved) {
  leaveARequestUnderWay();
  change("UPDATE tenure_fence_state SET clean = 0");
  options_.afterCrash = 1h;
  const auto fence = open();
  Asked waiting{*fence, post("billing=5")};
  EXPECT_FALSE(waiting.answered());
  fence->close();
}

TEST_F(HttpFenceTest, aMemoryWhoseStateWasRemovedProvesNothing) {
  leaveARequestUnderWay();
  change("DELETE FROM tenure_fence_state");
  options_.afterCrash = 1h;
  const auto fence = open();
  Asked waiting{*fence, post("billing=5")};
  EXPECT_FALSE(waiting.answered());
  fence->close();
}

TEST_F(HttpFenceTest, aMarkThatCannotBeWrittenLetsNobodyPass) {
  const auto fence = open();
  Asked older{*fence, post("billing=5")};
  ASSERT_TRUE(older.passes());
  Asked newer{*fence, post("billing=6")};
  waitForToken(6);
  change("CREATE TRIGGER full BEFORE UPDATE ON tenure_fence_passed BEGIN SELECT RAISE(ABORT, 'disk full'); END");
  older.end();
  EXPECT_EQ(newer.status(), 503);
  EXPECT_NE(newer.problem().body.find("disk full"), std::string::npos) << newer.problem().body;
  EXPECT_EQ(Asked(*fence, post("billing=6")).status(), 503);
  change("DROP TRIGGER full");
  EXPECT_TRUE(Asked(*fence, post("billing=6")).passes());
}

TEST_F(HttpFenceTest, aFenceWhoseMemoryWasReplacedLetsNoTokenPass) {
  const auto fence = open();
  EXPECT_TRUE(Asked(*fence, post("billing=5")).passes());
  const std::string aside = directory_.file("aside");
  std::filesystem::rename(options_.memory, aside);
  EXPECT_EQ(Asked(*fence, post("billing=5")).status(), 503) << "gone";
  const auto other = open();
  EXPECT_TRUE(Asked(*other, post("billing=6")).passes());
  Asked stale{*fence, post("billing=5")};
  EXPECT_EQ(stale.status(), 503);
  EXPECT_NE(stale.problem().body.find("was removed or replaced"), std::string::npos) << stale.problem().body;
}

TEST_F(HttpFenceTest, aMemoryWithARelativePathIsStillThereAfterAChangeOfTheDirectory) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(directory_.path());
  options_.memory = "fence.db";
  const auto fence = open();
  std::filesystem::current_path(before);
  EXPECT_TRUE(Asked(*fence, post("billing=5")).passes());
}

TEST_F(HttpFenceTest, aMemoryBehindALinkThatCouldBeSwitchedIsRefused) {
  std::filesystem::create_directory(directory_.file("releases-1"));
  std::filesystem::create_directory_symlink(directory_.file("releases-1"), directory_.file("current"));
  options_.memory = directory_.file("current") + "/fence.db";
  const auto refused = HttpFence::open(options_);
  ASSERT_TRUE(refused.has_error());
  EXPECT_NE(refused.error().message.find("Give the path itself: " + directory_.file("releases-1") + "/fence.db"),
            std::string::npos)
      << refused.error().message;
  EXPECT_TRUE(std::filesystem::is_empty(directory_.file("releases-1"))) << "before anything is made";
}

/// A proxy that was given the wrong file would change its journal's mode and make tables in it.
TEST_F(HttpFenceTest, aDatabaseOfAnotherProgramIsRefusedAndStaysAsItWas) {
  const auto refused = [&](const std::string& table, bool isOpen) {
    options_.memory = directory_.file(isOpen ? "open.db" : "closed.db");
    std::optional<test::TestDatabase> database{options_.memory};
    database->exec("PRAGMA journal_mode = WAL");
    database->exec(table);
    if (!isOpen) database.reset();
    const auto outcome = HttpFence::open(options_);
    ASSERT_TRUE(outcome.has_error()) << table;
    EXPECT_NE(outcome.error().message.find("is a database of another program"), std::string::npos)
        << outcome.error().message;
    const test::TestDatabase after{options_.memory};
    EXPECT_EQ(after.text("PRAGMA journal_mode"), "wal");
    EXPECT_EQ(after.number("SELECT count(*) FROM sqlite_master WHERE name LIKE 'tenure_fence_state%'"), 0);
  };
  for (const bool isOpen : {true, false}) {
    refused("CREATE TABLE IF NOT EXISTS orders(id)", isOpen);
    std::filesystem::remove(options_.memory);
    refused("CREATE TABLE IF NOT EXISTS tenure_fence_guard(lease, token, holder, since, ticket)", isOpen);
    std::filesystem::remove(options_.memory);
    refused("CREATE VIEW IF NOT EXISTS two AS SELECT 2", isOpen);
  }
  // Copied with its log, and without the log's index.
  const test::TestDatabase whole{directory_.file("whole.db")};
  whole.exec("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE orders(id)");
  options_.memory = directory_.file("copy.db");
  std::filesystem::copy_file(directory_.file("whole.db"), options_.memory);
  std::filesystem::copy_file(directory_.file("whole.db-wal"), options_.memory + "-wal");
  EXPECT_TRUE(HttpFence::open(options_).has_error());
  EXPECT_EQ(test::TestDatabase{options_.memory}.number("SELECT count(*) FROM orders"), 0);
}

/// Its journal would be left beside another name.
TEST_F(HttpFenceTest, aMemoryThatIsMountedAloneIsRefused) {
  if (!test::mayHaveMounts(directory_)) GTEST_SKIP() << "only root may";  // lint-allow(skipped-test): says so
  open()->close();
  std::filesystem::create_directory(directory_.file("there"));
  const std::string there = directory_.file("there") + "/fence.db";
  std::ofstream{there};
  const std::string said = test::inOwnMounts(directory_, [&](std::ostream& say) {
    if (!test::bindMount(options_.memory, there)) say << "not bound";
    HttpFenceOptions mounted = options_;
    mounted.memory = there;
    const auto refused = HttpFence::open(mounted);
    say << (refused.has_error() ? refused.error().message : "opened");
  });
  EXPECT_NE(said.find(there + " is a separate mount"), std::string::npos) << said;
}

/// As systemd makes it for a service with DynamicUser.
TEST_F(HttpFenceTest, aMemoryInAStateDirectoryOfSystemdIsUsed) {
  std::filesystem::create_directories(directory_.file("private/tenure"));
  std::filesystem::create_directory_symlink("private/tenure", directory_.file("tenure"));
  options_.memory = directory_.file("tenure") + "/fence.db";
  EXPECT_TRUE(Asked(*open(), post("billing=5")).passes());
}

TEST_F(HttpFenceTest, aWaitAfterACrashThatIsNoneIsRefused) {
  for (const auto wait : {-1ms, std::chrono::milliseconds{24h} + 1ms, std::chrono::milliseconds::max()}) {
    options_.afterCrash = wait;
    EXPECT_THROW((void)open(), std::invalid_argument) << wait.count();
  }
}

TEST_F(HttpFenceTest, afterACleanEndNobodyWaits) {
  options_.afterCrash = 1h;
  {
    const auto fence = open();
    EXPECT_TRUE(Asked(*fence, post("billing=5")).passes());
    fence->close();
  }
  EXPECT_TRUE(Asked(*open(), post("billing=6")).passes());
}

/// A request that the killed fence let pass counts as under way, whatever other fences were opened and closed since.
TEST_F(HttpFenceTest, aFenceThatStopsBeforeTheWaitAfterACrashIsOverLeavesItToTheNext) {
  leaveARequestUnderWay();
  options_.afterCrash = 1h;
  open()->close();
  const auto fence = open();
  EXPECT_TRUE(Asked(*fence, post("billing=5")).passes());
  Asked waiting{*fence, post("billing=6")};
  EXPECT_FALSE(waiting.answered());
  fence->close();  // this answers the waiting request
}

TEST_F(HttpFenceTest, oneMemoryHasOneFence) {
  const auto fence = open();
  const auto second = HttpFence::open(options_);
  ASSERT_TRUE(second.has_error());
  EXPECT_NE(second.error().message.find("in use by another process"), std::string::npos);
}

TEST_F(HttpFenceTest, refusesHeadersThatAreNotUnderstoodOrOfOtherLeases) {
  const auto fence = open();
  EXPECT_EQ(Asked(*fence, post("billing=1000000000000000000000000000000")).status(), 400);
  EXPECT_EQ(Asked(*fence, post("billing=-1")).status(), 400);
  EXPECT_EQ(Asked(*fence, post("")).status(), 400);
  EXPECT_EQ(Asked(*fence, FencedRequest{"POST", "/", 2, "billing=1"}).status(), 400) << "the header comes twice";
  EXPECT_EQ(Asked(*fence, post(R"(billing=1, *=1;lease="Other/1")")).status(), 400);
  EXPECT_EQ(Asked(*fence, post("elsewhere=99")).status(), 403);
  EXPECT_TRUE(Asked(*fence, post("billing=1, elsewhere=99")).passes());
  EXPECT_FALSE(fence->highestSeen("elsewhere"));
  EXPECT_EQ(test::TestDatabase{options_.memory}.number("SELECT count(*) FROM tenure_fence_guard"), 1);
}

TEST_F(HttpFenceTest, withoutATokenOnlyReadsPass) {
  const auto fence = open();
  for (const char* method : {"GET", "HEAD", "OPTIONS"}) {
    Asked asked{*fence, FencedRequest{method, "/"}};
    ASSERT_TRUE(asked.passes());
    EXPECT_FALSE(asked.pass().fenced());
  }
  for (const char* method : {"POST", "PUT", "PATCH", "DELETE", "get", "PROPFIND", ""}) {
    EXPECT_EQ(Asked(*fence, FencedRequest{method, "/"}).status(), 428) << method;
  }
}

TEST_F(HttpFenceTest, readsMayBeRefusedAndWritesLetPass) {
  options_.withoutToken = WithoutToken::refuse;
  EXPECT_EQ(Asked(*open(), FencedRequest{"GET", "/"}).status(), 428);
  options_.withoutToken = WithoutToken::pass;
  EXPECT_TRUE(Asked(*open(), FencedRequest{"POST", "/"}).passes());
}

TEST_F(HttpFenceTest, aRequestWithABodyIsAWrite) {
  const auto fence = open();
  const std::string body = "x";
  EXPECT_TRUE(Asked(*fence, FencedRequest{"GET", "/"}).passes());
  EXPECT_EQ(Asked(*fence, FencedRequest{.method = "GET", .target = "/", .body = &body}).status(), 428);
  EXPECT_EQ(Asked(*fence, FencedRequest{.method = "GET", .target = "/", .hasBody = true}).status(), 428);
}

TEST_F(HttpFenceTest, withKeysOnlySignedRequestsPass) {
  const FenceSigner signer{{"k1", std::string(32, 's')}, "ledger"};
  options_.keys = {signer.key};
  options_.audience = signer.audience;
  const auto fence = open();
  const TermStamp stamp{"billing", FencingToken{5}, "a#1"};
  const auto lines = fenceHeaders(stamp, "POST", "/ledger", "pay 1", &signer);
  const std::string body = "pay 1";
  const std::string other = "pay 2";
  const FencedRequest good{"POST", "/ledger", 1, lines[0].second, lines[1].second, &body};
  EXPECT_EQ(Asked(*fence, post(R"(billing=9;holder="a#1")")).status(), 403) << "not signed";
  FencedRequest bad = good;
  bad.target = "/other";
  EXPECT_EQ(Asked(*fence, bad).status(), 403);
  bad = good;
  bad.body = &other;
  EXPECT_EQ(Asked(*fence, bad).status(), 403) << "another body";
  EXPECT_FALSE(fence->problemByHead(bad)) << "the head alone says nothing of the body";
  const std::string none;
  bad = good;
  bad.body = &none;
  EXPECT_EQ(Asked(*fence, bad).status(), 403) << "its body taken away";
  bad = good;
  bad.contentDigest = {};
  EXPECT_EQ(Asked(*fence, bad).status(), 403);
  EXPECT_FALSE(fence->highestSeen("billing")) << "what is not believed is not remembered";
  EXPECT_TRUE(Asked(*fence, good).passes());
}

TEST_F(HttpFenceTest, oneMemoryHasOneFenceWhateverItIsCalled) {
  const auto fence = open();
  const std::string memory = options_.memory;
  std::filesystem::remove(memory + ".lock");  // as after an older release
  EXPECT_TRUE(HttpFence::open(options_).has_error());
  options_.memory = directory_.file("link.db");
  std::filesystem::create_symlink(memory, options_.memory);
  EXPECT_NE(HttpFence::open(options_).error().message.find("is a symbolic link"), std::string::npos);
  options_.memory = directory_.file("hard.db");
  std::filesystem::create_hard_link(memory, options_.memory);
  EXPECT_TRUE(HttpFence::open(options_).has_error());
  EXPECT_EQ(Asked(*fence, post("billing=5")).status(), 503) << "a file of two names has two logs";
  std::filesystem::remove(options_.memory);
  EXPECT_TRUE(Asked(*fence, post("billing=6")).passes());
}

TEST_F(HttpFenceTest, aMemoryThatIsGoneOrKnowsBetterLetsNobodyPass) {
  const auto fence = open();
  EXPECT_TRUE(Asked(*fence, post("billing=5")).passes());
  test::TestDatabase{options_.memory}.exec("UPDATE tenure_fence_guard SET token = 100");
  EXPECT_EQ(Asked(*fence, post("billing=50")).status(), 503) << "a term that the file knows to be over";
  EXPECT_TRUE(Asked(*fence, post("billing=101")).passes());
  std::filesystem::remove(options_.memory);
  EXPECT_EQ(Asked(*fence, post("billing=102")).status(), 503);
}

TEST_F(HttpFenceTest, whoWaitsWhenItClosesIsAnswered) {
  const auto fence = open();
  Asked older{*fence, post("billing=5")};
  ASSERT_TRUE(older.passes());
  Asked newer{*fence, post("billing=6")};
  fence->close();
  EXPECT_EQ(newer.status(), 503);
  EXPECT_EQ(Asked(*fence, post("billing=6")).status(), 503);
}

TEST_F(HttpFenceTest, faultsOfTheOptionsAreToldTogether) {
  EXPECT_EQ(faultsOf(HttpFenceOptions{.keys = {{"k", "short"}}, .staleStatus = 200, .maxWaiting = 0}).size(), 6U);
  EXPECT_THROW((void)HttpFence::open({}), std::invalid_argument);
  options_.memory = "/nonexistent/fence.db";
  EXPECT_TRUE(HttpFence::open(options_).has_error());
}

TEST_F(HttpFenceTest, threadsThatRaceNeverHaveTwoTermsUnderWay) {
  const auto fence = open();
  std::atomic<std::uint64_t> last{0};
  std::mutex mutex;
  std::multiset<std::uint64_t> underWay;
  std::uint64_t highest = 0;
  int broken = 0;
  int passed = 0;
  const auto race = [&](const std::string& holder) {
    std::uint64_t token = 0;
    for (int i = 0; i < 2'000; ++i) {
      if (i % 40 == 0) token = ++last;
      const std::string header = "billing=" + std::to_string(token) + ";holder=\"" + holder + '"';
      Asked asked{*fence, post(header)};
      if (!asked.passes()) continue;
      {
        const std::lock_guard lock{mutex};
        underWay.insert(token);
        if (token < highest || *underWay.begin() != *underWay.rbegin()) ++broken;
        highest = token;
        ++passed;
      }
      const std::lock_guard lock{mutex};
      underWay.erase(underWay.find(token));
    }
  };
  std::vector<std::thread> threads;
  for (const char* holder : {"a", "b", "c", "d"}) threads.emplace_back(race, holder);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(broken, 0);
  EXPECT_GE(passed, 40) << "the last term has nobody to fear";
}

}  // namespace
}  // namespace tenure
