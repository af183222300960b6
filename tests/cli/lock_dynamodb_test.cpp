// `tenure lock` with a real DynamoDB: sort keys, the time to live of rows, and pruning.
#include <chrono>
#include <cstdlib>
#include <random>
#include <sstream>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "cli/group_fixture.hpp"
#include "cli/text/exit_codes.hpp"
#include "lockcore/aws/json_client.hpp"
#include "stores/dynamodb/many_rows.hpp"
#include "stores/dynamodb/socket_client.hpp"

namespace tenure::test {
namespace {

std::string serverEndpoint() {
  const char* value = std::getenv("TENURE_TEST_DYNAMODB");  // NOLINT(concurrency-mt-unsafe): nobody sets any
  if (value == nullptr) throw std::runtime_error{"run: scripts/dynamodb_local -- this program"};
  return value;
}

class LockDynamoDbTest : public GroupFixture {
 protected:
  LockDynamoDbTest() {
    std::random_device random;
    table_ = "locks-" + std::to_string(random()) + '-' + std::to_string(random());
  }
  ~LockDynamoDbTest() override {
    try {
      callNow(*hand_, "DeleteTable", R"({"TableName":")" + table_ + "\"}");
    } catch (const std::exception& fault) {
      ADD_FAILURE() << fault.what();
    }
  }

 public:
  LockDynamoDbTest(const LockDynamoDbTest&) = delete;
  LockDynamoDbTest& operator=(const LockDynamoDbTest&) = delete;

 protected:
  /// Uses options or the group's file, as `store` says.
  [[nodiscard]] Finished lock(std::vector<std::string> words, const std::vector<std::string>& store) const {
    words.insert(words.begin(), {TENURE_PROGRAM, "lock"});
    words.insert(words.end(), store.begin(), store.end());
    return runToEnd(words, as("tester"), milliseconds{60'000});
  }
  [[nodiscard]] std::vector<std::string> sorted() const {
    return {"--store", "dynamodb", "--table", table_, "--sort-key", "range", "--endpoint", serverEndpoint()};
  }
  [[nodiscard]] std::string rawItem(const std::string& key) const {
    return callNow(*hand_, "GetItem",
                   R"({"TableName":")" + table_ + R"(","Key":{"key":{"S":")" + key + R"("}},"ConsistentRead":true})");
  }
  /// The number in the time-to-live attribute; zero: the item has none.
  [[nodiscard]] long long expiryOf(const std::string& key) const {
    const auto body = boost::json::parse(rawItem(key)).as_object();
    const auto& item = body.at("Item").as_object();
    const auto* attribute = item.if_contains("expiresAt");
    if (attribute == nullptr) return 0;
    return std::stoll(std::string{attribute->as_object().at("N").as_string()});
  }

  std::string table_;
  const std::shared_ptr<aws::JsonClient> hand_ = makeSocketClient(serverEndpoint());
};

/// For a lock that is free, in a table that a busy server may first have to create.
constexpr const char* enough = "20s";

std::string firstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

TEST_F(LockDynamoDbTest, RunEndsOnATableOfAnotherShapeWithOneLineOfTheCause) {
  callNow(*hand_, "CreateTable",
          R"({"TableName":")" + table_ +
              R"(","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST",)"
              R"("AttributeDefinitions":[{"AttributeName":"id","AttributeType":"N"}]})");
  directory_.write("group.yaml", "group: g\ncandidate: { id: a }\nstore: { type: dynamodb, table: " + table_ +
                                     ", endpoint: \"" + serverEndpoint() + "\" }\n");
  const Finished done = runToEnd(run({}, {"true"}), as("a"));
  EXPECT_EQ(done.code, cli::exitStore) << done.errors;
  std::istringstream lines{done.errors};
  std::size_t told = 0;
  for (std::string line; std::getline(lines, line);) told += line.find("cannot be used") != std::string::npos ? 1U : 0U;
  EXPECT_EQ(told, 1U) << done.errors;
}

TEST_F(LockDynamoDbTest, OneLookAtATableThatIsNotThereMakesItAndWins) {
  const std::vector<std::string> store{"--table", table_, "--endpoint", serverEndpoint()};
  std::vector<std::string> hold{"hold", "nightly", "--wait", "0s"};
  hold.insert(hold.end(), store.begin(), store.end());
  hold.insert(hold.end(), {"--", "true"});
  const Finished held = lock(hold, {});
  EXPECT_EQ(held.code, cli::exitOk) << held.errors;
}

TEST_F(LockDynamoDbTest, OneLookOfRunAtATableThatIsNotThereMakesItAndWinsWithoutAWarning) {
  directory_.write("group.yaml", "group: g\ncandidate: { id: a }\nstore: { type: dynamodb, table: " + table_ +
                                     ", endpoint: \"" + serverEndpoint() + "\" }\n");
  const Finished once = runToEnd(run({"--once", "--wait", "0s"}, {"true"}), as("a"));
  EXPECT_EQ(once.code, cli::exitOk) << once.errors;
  EXPECT_EQ(once.errors.find("Z warn "), std::string::npos) << once.errors;
}

TEST_F(LockDynamoDbTest, TheDoctorComparesTheClocksAndMeasures) {
  directory_.write("group.yaml",
                   "group: g\ncandidate: { id: a }\nlease: { duration: 60s }\nstore: { type: dynamodb, table: " +
                       table_ + ", endpoint: \"" + serverEndpoint() + "\" }\n");
  const Finished done = runToEnd(tenure({"doctor", config(), "--write", "--json"}), as("a"), milliseconds{60'000});
  for (const char* part : {R"("name":"store.reads","grade":"ok")", R"("name":"store.writes","grade":"ok")",
                           R"("name":"clock.skew","grade":"ok")", R"("server_version":null)"}) {
    EXPECT_NE(done.output.find(part), std::string::npos) << part << ": " << done.output << done.errors;
  }
  EXPECT_EQ(rawItem("tenure-doctor").find("ownerName"), std::string::npos) << "the record is gone";
}

/// Nobody listens there. So an answer shows that the server was not asked.
TEST_F(GroupFixture, LockDataThatTheTableCanNeverTakeAreRefusedWholeBeforeAnyRequest) {
  const auto lock = [&](std::vector<std::string> words, const std::vector<std::string>& store) {
    words.insert(words.begin(), {TENURE_PROGRAM, "lock"});
    words.insert(words.end(), store.begin(), store.end());
    return runToEnd(words, as("tester"));
  };
  const std::vector<std::string> nowhere{"--table", "locks", "--endpoint", "http://127.0.0.1:1"};
  const Finished refused =
      lock({"acquire", "nightly", "--data", std::string(100'000, 'x'), "--attribute", "isReleased=1", "--attribute",
            "tenureToken=9", "--attribute", "big=" + std::string(100'000, 'y'), "--attribute",
            "big2=" + std::string(110'000, 'y'), "--attribute", "big3=" + std::string(110'000, 'z')},
           nowhere);
  EXPECT_EQ(refused.code, cli::exitUsage) << refused.errors;
  for (const char* told :
       {"\"isReleased\" would overwrite", "\"tenureToken\" would overwrite", "a DynamoDB item holds"}) {
    EXPECT_NE(refused.errors.find(told), std::string::npos) << told << ": " << refused.errors;
  }
}

TEST_F(LockDynamoDbTest, TwoSortKeysOfOneKeyAreTwoLocks) {
  const Finished first = lock({"acquire", "ab", "--sort", "c", "--wait", enough}, sorted());
  ASSERT_EQ(first.code, cli::exitOk) << first.errors;
  EXPECT_EQ(lock({"acquire", "ab", "--sort", "d", "--wait", "0s"}, sorted()).code, cli::exitOk);
  EXPECT_EQ(lock({"acquire", "a", "--sort", "bc", "--wait", "0s"}, sorted()).code, cli::exitOk) << "J-27";
  EXPECT_EQ(lock({"acquire", "ab", "--sort", "c", "--wait", "0s"}, sorted()).code, cli::exitBusy);
  const Finished renewed = lock({"renew", firstLine(first.output)}, sorted());
  ASSERT_EQ(renewed.code, cli::exitOk) << renewed.errors;
  EXPECT_EQ(lock({"release", firstLine(renewed.output)}, sorted()).code, cli::exitOk);
  EXPECT_EQ(lock({"show", "ab", "--sort", "c"}, sorted()).code, cli::exitNobody);
  EXPECT_EQ(lock({"show", "ab", "--sort", "d"}, sorted()).code, cli::exitOk) << "the other is untouched";
  const Finished listed = lock({"list", "ab", "--json"}, sorted());
  EXPECT_NE(listed.output.find(R"({"lock":"ab","sort":"c","state":"released")"), std::string::npos) << listed.output;
  EXPECT_NE(listed.output.find(R"({"lock":"ab","sort":"d","state":"held")"), std::string::npos) << listed.output;
  EXPECT_EQ(listed.output.find("#fence"), std::string::npos) << "a counter is no lock";
}

TEST_F(LockDynamoDbTest, ATableOfManyPagesIsListedWholeAndInOrder) {
  const std::vector<std::string> store{"--store", "dynamodb", "--table", table_, "--endpoint", serverEndpoint()};
  ASSERT_EQ(lock({"acquire", "held"}, store).code, cli::exitOk);  // creates the table
  constexpr int rows = 3'000;
  putRows(*hand_, table_, "row-", rows, 3'500);
  const Finished listed = lock({"list", "row-"}, store);
  ASSERT_EQ(listed.code, cli::exitOk) << listed.errors;
  std::istringstream lines{listed.output};
  std::string line;
  std::getline(lines, line);  // the heading
  for (int i = 0; i < rows; ++i) {
    ASSERT_TRUE(std::getline(lines, line)) << "row " << i;
    ASSERT_NE(line.find(' ' + rowName("row-", i) + ' '), std::string::npos) << line;
  }
  EXPECT_FALSE(std::getline(lines, line)) << line;
}

TEST_F(LockDynamoDbTest, TheTimeToLiveIsAMovingNumberOfSecondsAlsoOfReleasedRows) {
  directory_.write("group.yaml", "group: g\nstore: { type: dynamodb, table: " + table_ + ", endpoint: \"" +
                                     serverEndpoint() + "\", ttl_attribute: expiresAt, ttl: 168h }\n");
  const std::vector<std::string> file{"--config", config()};
  using namespace std::chrono;
  const long long now = duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
  constexpr long long week = 7LL * 24 * 3600;
  const Finished acquired = lock({"acquire", "nightly", "--wait", enough, "--lease", "1m"}, file);
  ASSERT_EQ(acquired.code, cli::exitOk) << acquired.errors;
  const long long first = expiryOf("nightly");
  EXPECT_EQ(std::to_string(first).size(), 10U) << "S1-47, S3-11: seconds, not milliseconds, not a text";
  EXPECT_GE(first, now + week);
  EXPECT_LT(first, now + week + 300);
  long long moved = first;
  std::string token = firstLine(acquired.output);
  EXPECT_TRUE(eventually([&] {
    token = firstLine(lock({"renew", token}, file).output);
    return (moved = expiryOf("nightly")) > first;
  })) << "S2-37: each write renews it";
  EXPECT_EQ(lock({"release", token}, file).code, cli::exitOk);
  EXPECT_GE(expiryOf("nightly"), moved) << "S3-12: released rows are collected, too";
  EXPECT_EQ(expiryOf("nightly#fence"), 0) << "the counter is never collected (S2-38)";
}

TEST_F(LockDynamoDbTest, ACounterThatSomebodySetIsToldWithTheLock) {
  const std::vector<std::string> store{"--store", "dynamodb", "--table", table_, "--endpoint", serverEndpoint()};
  ASSERT_EQ(lock({"acquire", "nightly", "--wait", enough}, store).code, cli::exitOk);
  EXPECT_EQ(lock({"show", "nightly"}, store).errors, "");
  auto counter = boost::json::parse(rawItem("nightly#fence")).as_object().at("Item").as_object();
  ASSERT_TRUE(counter.contains("tenureToken")) << boost::json::serialize(counter);
  counter["tenureToken"] = {{"N", "9"}};
  callNow(*hand_, "PutItem", R"({"TableName":")" + table_ + R"(","Item":)" + boost::json::serialize(counter) + "}");
  const Finished shown = lock({"show", "nightly"}, store);
  EXPECT_EQ(shown.code, cli::exitOk);
  EXPECT_NE(shown.errors.find("the record's token 1 is not that of the fencing counter, 9"), std::string::npos)
      << shown.errors;
}

TEST_F(LockDynamoDbTest, PruneKeepsTheCounterSoTokensGoOnRising) {
  const std::vector<std::string> store{"--store", "dynamodb", "--table", table_, "--endpoint", serverEndpoint()};
  const Finished first = lock({"acquire", "nightly", "--wait", enough}, store);
  ASSERT_EQ(first.code, cli::exitOk) << first.errors;
  EXPECT_EQ(lock({"release", firstLine(first.output)}, store).code, cli::exitOk);
  ASSERT_EQ(lock({"acquire", "dead", "--wait", enough, "--lease", "2s"}, store).code, cli::exitOk);
  const Finished pruned = lock({"prune", "--abandoned", "100ms", "--yes"}, store);
  EXPECT_EQ(pruned.code, cli::exitOk) << pruned.errors;
  EXPECT_NE(pruned.output.find("removed nightly (released)\n"), std::string::npos) << pruned.output;
  EXPECT_NE(pruned.output.find("removed dead (abandoned)\n"), std::string::npos) << pruned.output;
  EXPECT_EQ(rawItem("nightly"), "{}") << pruned.errors;
  // A process that comes after a held lock was pruned waits for the lease that its counter states, and as long again
  // for a slow server.
  const long long asked = monotonicNow();
  for (const auto& [key, wait] : {std::pair{"nightly", "0s"}, std::pair{"dead", enough}}) {
    const Finished again = lock({"acquire", key, "--wait", wait, "--json"}, store);
    EXPECT_NE(again.output.find(R"("fencing_token":2,)"), std::string::npos) << again.output << again.errors;
  }
  EXPECT_GE(monotonicNow() - asked, 2'000'000'000);
}

TEST_F(LockDynamoDbTest, AServerThatDoesNotAnswerIsNoLockAndItsOwnExitCode) {
  static_cast<void>(lock({"acquire", "any", "--wait", enough}, {"--table", table_, "--endpoint", serverEndpoint()}));
  for (const char* wait : {"0s", "1s"}) {
    const Finished down =
        lock({"acquire", "nightly", "--wait", wait}, {"--table", table_, "--endpoint", "http://127.0.0.1:1"});
    EXPECT_EQ(down.code, cli::exitStore) << down.errors;
    EXPECT_EQ(down.output, "");
    EXPECT_NE(down.errors.find(table_), std::string::npos) << "J-17: it says what was asked: " << down.errors;
  }
}

TEST_F(LockDynamoDbTest, HoldHandsTheFencingTokenToItsCommand) {
  const std::vector<std::string> store{"--store", "dynamodb", "--table", table_, "--endpoint", serverEndpoint()};
  std::vector<std::string> words{TENURE_PROGRAM, "lock", "hold", "nightly", "--wait", "20s"};
  words.insert(words.end(), store.begin(), store.end());
  words.insert(words.end(), {"--", "sh", "-c", "echo $TENURE_FENCING_TOKEN"});
  for (const char* token : {"1\n", "2\n"}) {
    const Finished done = runToEnd(words, as("tester"), milliseconds{60'000});
    EXPECT_EQ(done.code, cli::exitOk) << done.errors;
    EXPECT_EQ(done.output, token);
  }
}

/// The candidates look once a second here, and nothing notifies them.
TEST_F(LockDynamoDbTest, APauseTakesTheLeaseFromCandidatesThatPoll) {
  directory_.write("group.yaml",
                   "group: g\ncandidate: { id: \"${NAME}\" }\nlease: { duration: 6s, heartbeat: 1s }\nstore: { type: "
                   "dynamodb, table: " +
                       table_ + ", endpoint: \"" + serverEndpoint() + "\" }\n");
  Subprocess alice{run({}, actingJob()), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  Subprocess bob{run({}, actingJob()), as("bob")};
  ASSERT_TRUE(bob.saysOnStderr("the leader is alice ("));
  EXPECT_EQ(finishAhead(std::chrono::seconds{60}, {"status", config()}).code, cli::exitOk) << "by a wrong clock";
  const Finished paused = finish({"pause", config(), "--for", "10m", "--why", "new keys", "--wait", "20s"});
  ASSERT_EQ(paused.code, cli::exitOk) << paused.errors;
  const Finished status = finish({"status", config(), "--json"});
  EXPECT_EQ(status.code, cli::exitNobody);
  EXPECT_NE(status.output.find(R"("why":"new keys")"), std::string::npos) << status.output;
  EXPECT_TRUE(bob.saysOnStderr("the lease is paused by "));
  const Finished longer = finish({"pause", config(), "--for", "1h", "--why", "again"});
  EXPECT_EQ(longer.code, cli::exitOk) << longer.errors;
  EXPECT_NE(longer.output.find("was paused already"), std::string::npos) << longer.output;
  const Finished resumed = finish({"resume", config()});
  EXPECT_EQ(resumed.code, cli::exitOk) << resumed.errors;
  const auto somebodyLeads = [&] { return finish({"status", config()}).code == cli::exitOk; };
  EXPECT_TRUE(eventually(somebodyLeads));
}

}  // namespace
}  // namespace tenure::test
