// Which answers count as success: only an answer that nothing but the table can have given.
#include <gtest/gtest.h>

#include <tenure/lockcore/lease_store.hpp>

#include "stores/dynamodb/scripted_client.hpp"

namespace tenure::test {
namespace {

using Purpose = WriteRequest::Purpose;
using Names = std::vector<std::string>;

std::string pairOf(const std::string& items) {
  return R"({"Responses":{"locks":[)" + items + R"(]},"UnprocessedKeys":{}})";
}

std::string counter(int token, int openLease) {
  return R"({"key":{"S":"billing#fence"},"ownerName":{"S":"x"},"tenureToken":{"N":")" + std::to_string(token) +
         R"("},"tenureOpenLease":{"N":")" + std::to_string(openLease) + "\"}}";
}

std::string found(const std::string& item) { return "{\"Item\":" + item + '}'; }

/// Successes that something between here and the table can invent, and an error that came with HTTP 200.
const Names madeUp{"{}",
                   R"({"ConsumedCapacity":[]})",
                   R"({"ItemCollectionMetrics":{}})",
                   R"({"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError"})",
                   R"({"__type":"ConditionalCheckFailedException"})",
                   R"({"__type":7})"};

bool isUnknown(const WriteOutcome& outcome) { return std::holds_alternative<Unknown>(outcome); }

TEST(DynamoDbProof, anAcquisitionThatIsNotInTheTableIsUnknown) {
  const Names reads{found(lockItem("one", "them", 41)),
                    "{}",                                // nothing was stored
                    found(lockItem("new", "me", 41)),    // another token
                    found(lockItem("new", "them", 42)),  // another holder
                    found(lockItem("newer", "me", 42)),  // another version
                    R"({"Item":7})",
                    R"({"__type":"x"})"};
  for (const std::string& answer : madeUp) {
    for (const std::string& read : reads) {
      ScriptedStore store;
      store.ok(pairOf(lockItem("one", "them", 41) + ',' + counter(41, 10'000)));
      store.ok(answer);
      store.ok(read);
      EXPECT_TRUE(isUnknown(store.write(request(Purpose::acquire, {"one"})))) << answer << ' ' << read;
    }
  }
}

TEST(DynamoDbProof, anAcquisitionWhoseProofIsNotAnsweredIsUnknown) {
  ScriptedStore store;
  store.ok(pairOf(""));
  store.ok("{}");
  store.fails(noAnswer(false));
  EXPECT_TRUE(isUnknown(store.write(request(Purpose::acquire, {}))));
}

TEST(DynamoDbProof, aRenewalOrReleaseCountsByItsVersionOnly) {
  for (const Purpose purpose : {Purpose::renew, Purpose::release}) {
    Names answers = madeUp;
    answers.push_back(R"({"Attributes":{"recordVersionNumber":{"S":"one"},"tenureToken":{"N":"7"}}})");
    answers.push_back("{\"Attributes\":" + lockItem("one") + '}');
    for (const std::string& answer : answers) {
      ScriptedStore store;
      store.ok(answer);
      EXPECT_TRUE(isUnknown(store.write(request(purpose, {"one"})))) << answer;
    }
  }
}

TEST(DynamoDbProof, aRenewalThatLengthensCountsOnceItIsRead) {
  WriteRequest longer = request(Purpose::renew, {"one"});
  longer.lengthens = true;
  const std::string before = pairOf(lockItem("one") + ',' + counter(7, 4'000));
  ScriptedStore store;
  store.ok(before);
  store.ok("{}");
  store.ok(found(lockItem("new", "me", 7, R"(,"tenureStepDown":{"N":"7"})")));
  const auto applied = std::get<Applied>(store.write(longer));
  EXPECT_EQ(applied.token, FencingToken{7});
  EXPECT_TRUE(applied.stepDownRequested);
  EXPECT_EQ(store.operations(), (Names{"BatchGetItem", "TransactWriteItems", "GetItem"}));
  for (const std::string& answer : madeUp) {
    ScriptedStore lying;
    lying.ok(before);
    lying.ok(answer);
    lying.ok(found(lockItem("one")));
    EXPECT_TRUE(isUnknown(lying.write(longer))) << answer;
  }
}

TEST(DynamoDbProof, aLeaseThatTheCounterStatesAlreadyIsRenewedAsEver) {
  WriteRequest longer = request(Purpose::renew, {"one"});
  longer.lengthens = true;
  ScriptedStore store;
  store.ok(pairOf(lockItem("one") + ',' + counter(7, 10'000)));
  store.ok("{\"Attributes\":" + lockItem("new") + '}');
  EXPECT_TRUE(std::holds_alternative<Applied>(store.write(longer)));
  EXPECT_EQ(store.operations(), (Names{"BatchGetItem", "UpdateItem"}));
}

TEST(DynamoDbProof, aReleaseThatRemovesCountsOnceNothingIsLeft) {
  const std::string before = pairOf(lockItem("one") + ',' + counter(7, 10'000));
  const auto releaseWith = [&](const std::string& answer, const std::string& read) {
    ScriptedStore store{{.table = "locks", .deleteOnRelease = true}};
    store.ok(before);
    store.ok(answer);
    store.ok(read);
    const WriteOutcome outcome = store.write(request(Purpose::release, {"one"}));
    EXPECT_LE(store.operations().size(), 3U);
    return outcome;
  };
  EXPECT_EQ(std::get<Applied>(releaseWith("{}", pairOf(counter(7, 0)))).token, FencingToken{7});
  for (const std::string& answer : madeUp) {
    for (const std::string& read : {before, pairOf(""), pairOf(counter(8, 0)),
                                    pairOf(lockItem("two") + ',' + counter(7, 0)), std::string{"{}"}}) {
      EXPECT_TRUE(isUnknown(releaseWith(answer, read))) << answer << ' ' << read;
    }
  }
}

TEST(DynamoDbProof, aRemovalOfAHeldRecordLeavesItsLeaseWithTheCounter) {
  ScriptedStore store;
  store.ok(pairOf(lockItem("one") + ',' + counter(7, 4'000)));
  store.ok("{}");
  store.ok(pairOf(counter(7, 10'000)));
  store.ok("{}");
  std::optional<WriteOutcome> outcome;
  store.raw().remove({"billing"}, RecordVersion{"one"}, {std::chrono::seconds{5}},
                     [&](WriteOutcome told) { outcome = std::move(told); });
  store.scheduler().runReady();
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(std::holds_alternative<Applied>(*outcome));
  EXPECT_NE(store.client().sent[1].body.find(R"(":w":{"N":"10000"})"), std::string::npos);
}

TEST(DynamoDbProof, aStepDownCountsIfTheItemShowsIt) {
  for (const std::string& answer : madeUp) {
    ScriptedStore store;
    store.ok(answer);
    EXPECT_TRUE(isUnknown(store.stepDown({"billing"}, FencingToken{7}))) << answer;
  }
  ScriptedStore store;
  store.ok(R"({"Attributes":{"tenureStepDown":{"N":"6"}}})");
  EXPECT_TRUE(isUnknown(store.stepDown({"billing"}, FencingToken{7}))) << "of another term";
}

/// `{}` is DynamoDB's own way to say that there is no item, and it proves little. But it only allows a candidate to
/// try, and the attempt is conditioned and read back.
TEST(DynamoDbProof, anAbsentItemIsBelievedWithTheCountersItem) {
  ScriptedStore store;
  store.ok("{}");
  store.ok(pairOf(counter(7, 0)));
  EXPECT_EQ(store.read({"billing"}).value(), std::nullopt);
  store.ok("{}");
  store.ok(pairOf(counter(7, 9'000)));
  store.ok("{}");
  EXPECT_EQ(store.read({"billing"}).value(), vanishedRecord(FencingToken{7}, std::chrono::seconds{9}));
  store.ok("{}");
  store.ok(pairOf(lockItem("one") + ',' + counter(7, 9'000)));
  EXPECT_EQ(store.read({"billing"}).value()->version.text(), "one") << "acquired meanwhile";
  EXPECT_EQ(store.operations(),
            (Names{"GetItem", "BatchGetItem", "GetItem", "BatchGetItem", "GetItem", "GetItem", "BatchGetItem"}));
}

/// The two items are not read at one moment: after an acquisition in between, the counter is shown and the lock item is
/// not.
TEST(DynamoDbProof, anAcquisitionBetweenTwoReadsIsNoVanishedRecord) {
  ScriptedStore store;
  store.ok("{}");
  store.ok(pairOf(counter(7, 9'000)));
  store.ok(found(lockItem("one")));
  EXPECT_EQ(store.read({"billing"}).value()->version.text(), "one");
  store.ok(pairOf(counter(7, 9'000)));
  store.ok(found(lockItem("one")));
  const WriteOutcome outcome = store.write(request(Purpose::acquire, {}));
  ASSERT_TRUE(std::holds_alternative<Conflict>(outcome));
  EXPECT_EQ(std::get<Conflict>(outcome).current.value()->version.text(), "one");
}

TEST(DynamoDbProof, anErrorIsNoAbsentItemWhateverItsStatus) {
  for (const std::string& answer : {madeUp[3], madeUp[4], madeUp[5]}) {
    ScriptedStore store;
    store.ok(answer);
    EXPECT_TRUE(store.read({"billing"}).has_error()) << answer;
    store.ok("{}");
    store.ok(answer);
    EXPECT_TRUE(store.read({"billing"}).has_error()) << answer;
    store.ok(R"({"Items":[],)" + answer.substr(1));
    EXPECT_TRUE(store.list("").has_error()) << answer;
  }
}

TEST(DynamoDbProof, anAnswerToTheSecondReadThatSaysNothingIsAnError) {
  for (const std::string& answer : {std::string{"{}"}, std::string{"[]"}, std::string{}}) {
    ScriptedStore store;
    store.ok("{}");
    store.ok(answer);
    EXPECT_TRUE(store.read({"billing"}).has_error()) << answer;
  }
}

}  // namespace
}  // namespace tenure::test
