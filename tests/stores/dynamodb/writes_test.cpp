// The outcome of a write, for each answer of the service.
#include <boost/json/serialize.hpp>
#include <gtest/gtest.h>

#include "stores/dynamodb/scripted_client.hpp"

namespace tenure::test {
namespace {

using Purpose = WriteRequest::Purpose;
using Names = std::vector<std::string>;

std::string renewed(const std::string& rvn, int token = 7, int stepDown = 0) {
  return R"({"Attributes":{"leaseDuration":{"S":"10000"},"recordVersionNumber":{"S":")" + rvn +
         R"("},"tenureToken":{"N":")" + std::to_string(token) + R"("},"tenureStepDown":{"N":")" +
         std::to_string(stepDown) + R"("}}})";
}

std::string pairOf(const std::string& items) {
  return R"({"Responses":{"locks":[)" + items + R"(]},"UnprocessedKeys":{}})";
}

std::string counterItem(int token, int openLease = 10'000) {
  return R"({"key":{"S":"billing#fence"},"ownerName":{"S":"x"},"tenureToken":{"N":")" + std::to_string(token) +
         R"("},"tenureOpenLease":{"N":")" + std::to_string(openLease) + "\"}}";
}

std::string found(const std::string& item) { return "{\"Item\":" + item + '}'; }

/// A foreign client's item, as if that client had written it for this lease.
std::string ofBilling(const std::string& row) {
  boost::json::object item = parsed(golden(row));
  item["key"] = parsed(R"({"S":"billing"})");
  return boost::json::serialize(item);
}

std::string cancelled(const std::string& first, const std::string& second) {
  return R"(,"CancellationReasons":[)" + first + ',' + second + ']';
}
const std::string none = R"({"Code":"None"})";
const std::string failed = R"({"Code":"ConditionalCheckFailed","Message":"The conditional request failed"})";

const LeaseRecord& currentOf(const WriteOutcome& outcome) {
  const auto* conflict = std::get_if<Conflict>(&outcome);
  if (conflict == nullptr || !conflict->current || !*conflict->current)
    throw std::runtime_error{"no conflict with a record"};
  return **conflict->current;
}

bool isUnknown(const WriteOutcome& outcome) { return std::holds_alternative<Unknown>(outcome); }

bool isConflictWithNothing(const WriteOutcome& outcome) {
  const auto* conflict = std::get_if<Conflict>(&outcome);
  return conflict != nullptr && conflict->current && !*conflict->current;
}

TEST(DynamoDbRenewal, isOneRequestAndLearnsOfAStepDown) {
  ScriptedStore store;
  store.ok(renewed("new"));
  store.ok(renewed("new", 7, 7));
  store.ok(renewed("new", 7, 6));
  const auto first = std::get<Applied>(store.write(request(Purpose::renew, {"one"})));
  EXPECT_EQ(first.token, FencingToken{7});
  EXPECT_FALSE(first.stepDownRequested);
  EXPECT_TRUE(std::get<Applied>(store.write(request(Purpose::renew, {"one"}))).stepDownRequested);
  EXPECT_FALSE(std::get<Applied>(store.write(request(Purpose::renew, {"one"}))).stepDownRequested) << "of another term";
  EXPECT_EQ(store.operations(), (Names{"UpdateItem", "UpdateItem", "UpdateItem"}));
}

TEST(DynamoDbRenewal, conflictWithTheImageNeedsNoSecondRequest) {
  ScriptedStore store;
  store.fails(serviceError("ConditionalCheckFailedException", 400, ",\"Item\":" + lockItem("theirs", "them", 8)));
  EXPECT_EQ(currentOf(store.write(request(Purpose::renew, {"one"}))).holder, "them");
  EXPECT_EQ(store.operations(), Names{"UpdateItem"});
}

TEST(DynamoDbRenewal, conflictWithoutTheImageIsReadInsideTheSameTime) {
  ScriptedStore store;
  store.fails(serviceError("ConditionalCheckFailedException"));
  store.ok(pairOf(lockItem("theirs", "them", 8)));
  EXPECT_EQ(currentOf(store.write(request(Purpose::renew, {"one"}))).version.text(), "theirs");
  store.fails(serviceError("ConditionalCheckFailedException"));
  store.ok(pairOf(counterItem(7, 0)));
  EXPECT_TRUE(isConflictWithNothing(store.write(request(Purpose::renew, {"one"}))));
  store.fails(serviceError("ConditionalCheckFailedException"));
  store.ok(pairOf(counterItem(7)));
  store.ok("{}");
  EXPECT_EQ(currentOf(store.write(request(Purpose::renew, {"one"}))),
            vanishedRecord(FencingToken{7}, std::chrono::seconds{10}));
  store.fails(serviceError("ConditionalCheckFailedException"));
  store.fails(noAnswer(true));
  const WriteOutcome open = store.write(request(Purpose::renew, {"one"}));
  ASSERT_TRUE(std::holds_alternative<Conflict>(open));
  EXPECT_FALSE(std::get<Conflict>(open).current) << "it is a conflict, with a state that nobody told";
  EXPECT_EQ(store.operations(), (Names{"UpdateItem", "BatchGetItem", "UpdateItem", "BatchGetItem", "UpdateItem",
                                       "BatchGetItem", "GetItem", "UpdateItem", "BatchGetItem"}));
}

// Then a network that loses packets costs a holder little of its time. The answer to any copy of a renewal or a read
// shows the record; answers to other writes do not.
TEST(DynamoDbRenewal, isSentInCopiesAndSoAreReadsAndNothingElse) {
  ScriptedStore store;
  store.ok(renewed("new"));
  static_cast<void>(store.write(request(Purpose::renew, {"one"})));
  store.ok(found(lockItem("one")));
  static_cast<void>(store.read({"billing"}));
  store.ok(renewed("new"));
  static_cast<void>(store.write(request(Purpose::release, {"one"})));
  store.ok(pairOf(lockItem("one") + ',' + counterItem(7)));
  store.ok("{}");
  store.ok(found(lockItem("new", "me", 8)));
  static_cast<void>(store.write(request(Purpose::acquire, {"one"})));
  store.ok("{}");
  static_cast<void>(store.stepDown({"billing"}, FencingToken{7}));
  std::string all;
  for (const SentRequest& one : store.client().sent) all += one.operation + (one.repeatedly ? "* " : " ");
  EXPECT_EQ(all, "UpdateItem* GetItem* UpdateItem BatchGetItem* TransactWriteItems GetItem* UpdateItem ");
}

TEST(DynamoDbRenewal, isUnknownWhereOneCopyWasRefusedAndOthersHaveNoAnswer) {
  ScriptedStore store;
  aws::JsonReply refused = serviceError("ThrottlingException");
  store.fails(refused);
  EXPECT_TRUE(std::holds_alternative<Rejected>(store.write(request(Purpose::renew, {"one"}))));
  refused.copiesOut = true;
  store.fails(refused);
  EXPECT_TRUE(isUnknown(store.write(request(Purpose::renew, {"one"}))));
}

TEST(DynamoDbRenewal, whoseFirstCopyWasCarriedOutIsAConflictThatShowsIt) {
  ScriptedStore store;
  aws::JsonReply second = serviceError("ConditionalCheckFailedException", 400, ",\"Item\":" + lockItem("new"));
  second.copiesOut = true;
  store.fails(second);
  EXPECT_EQ(currentOf(store.write(request(Purpose::renew, {"one"}))).version.text(), "new");
}

// Nobody can know whether a copy of the request was applied before the one that was answered.
TEST(DynamoDbRenewal, aForeignItemIsCorruptAndSaidSoAndTheWriteUnknown) {
  ScriptedStore store;
  store.fails(serviceError("ConditionalCheckFailedException", 400, ",\"Item\":" + golden("go_dynamolock_v5")));
  const auto shown = std::get<Unknown>(store.write(request(Purpose::renew, {"one"})));
  EXPECT_EQ(shown.error.errorClass, ErrorClass::corrupt);
  EXPECT_NE(shown.error.message.find("dynamolock"), std::string::npos);
  store.fails(serviceError("ConditionalCheckFailedException"));
  store.ok(pairOf(ofBilling("go_dynamolock_v5")));
  const auto read = std::get<Unknown>(store.write(request(Purpose::renew, {"one"})));
  EXPECT_EQ(read.error.errorClass, ErrorClass::corrupt);
}

TEST(DynamoDbRenewal, anAnswerThatIsNotUnderstoodIsNoSuccess) {
  for (const char* body : {"", "{}", "[]", "<html>login</html>", R"({"Attributes":{}})",
                           "{\"Attributes\":", R"({"Attributes":{"recordVersionNumber":{"S":"another"}}})"}) {
    ScriptedStore store;
    store.ok(body);
    EXPECT_TRUE(std::holds_alternative<Unknown>(store.write(request(Purpose::renew, {"one"})))) << body;
  }
}

TEST(DynamoDbRenewal, withoutAnExpectationNothingIsWritten) {
  ScriptedStore store;
  store.ok(pairOf(lockItem("one")));
  EXPECT_EQ(currentOf(store.write(request(Purpose::renew, {}))).version.text(), "one");
  EXPECT_EQ(store.operations(), Names{"BatchGetItem"});
}

TEST(DynamoDbRenewal, newAttributesAreReadBeforeSoThatOldOnesGo) {
  ScriptedStore store;
  store.ok(pairOf(lockItem("one", "me", 7, R"(,"old":{"S":"x"})") + ',' + counterItem(7)));
  store.ok(renewed("new"));
  WriteRequest write = request(Purpose::renew, {"one"});
  write.record.attributes = {{"fresh", "1"}};
  EXPECT_TRUE(std::holds_alternative<Applied>(store.write(write)));
  ASSERT_EQ(store.operations(), (Names{"BatchGetItem", "UpdateItem"}));
  EXPECT_NE(store.client().sent[1].body.find(R"("#u1":"old")"), std::string::npos);
}

TEST(DynamoDbRenewal, writesTheDataThatItsRuleSays) {
  const auto bodyOf = [](const std::string& data, DataRule rule) {
    ScriptedStore store;
    if (rule == DataRule::keepIfAny)
      store.ok(pairOf(lockItem("one", "me", 7, R"(,"data":{"B":"AP8="})") + ',' + counterItem(7)));
    store.ok(renewed("new"));
    WriteRequest write = request(Purpose::renew, {"one"});
    write.record.data = data;
    write.dataRule = rule;
    EXPECT_TRUE(std::holds_alternative<Applied>(store.write(write)));
    return store.client().sent.back().body;
  };
  EXPECT_NE(bodyOf("new", DataRule::replaceUnlessEmpty).find(R"(#d=:d)"), std::string::npos);
  EXPECT_EQ(bodyOf("", DataRule::replaceUnlessEmpty).find("#d"), std::string::npos);
  EXPECT_NE(bodyOf("", DataRule::replace).find("REMOVE #r,#b,#d"), std::string::npos);
  EXPECT_EQ(bodyOf("new", DataRule::keepIfAny).find("#d"), std::string::npos) << "there are some";
}

TEST(DynamoDbAcquire, isOneReadOneTransactionAndOneReadThatProvesIt) {
  ScriptedStore store;
  store.ok(pairOf(counterItem(41) + ',' + lockItem("one", "them", 41)));
  store.ok("{}");
  store.ok(found(lockItem("new", "me", 42)));
  const auto applied = std::get<Applied>(store.write(request(Purpose::acquire, {"one"})));
  EXPECT_EQ(applied.token, FencingToken{42});
  EXPECT_EQ(applied.warning, "");
  EXPECT_EQ(store.operations(), (Names{"BatchGetItem", "TransactWriteItems", "GetItem"}));
  EXPECT_NE(store.client().sent[1].body.find(R"(":q":{"N":"41"})"), std::string::npos);
}

TEST(DynamoDbAcquire, aConflictThatTheReadShowsIsNotWritten) {
  ScriptedStore store;
  store.ok(pairOf(lockItem("theirs", "them", 8)));
  EXPECT_EQ(currentOf(store.write(request(Purpose::acquire, {"one"}))).holder, "them");
  store.ok(pairOf(lockItem("theirs", "them", 8)));
  EXPECT_EQ(currentOf(store.write(request(Purpose::acquire, {}))).holder, "them");
  store.ok(pairOf(""));
  EXPECT_TRUE(isConflictWithNothing(store.write(request(Purpose::acquire, {"one"}))));
  EXPECT_EQ(store.operations(), (Names{"BatchGetItem", "BatchGetItem", "BatchGetItem"}));
}

// An earlier write of this candidate may arrive between the read and the transaction.
TEST(DynamoDbAcquire, isUnknownWhereAnotherExpectedVersionCameBetween) {
  ScriptedStore store;
  store.ok(pairOf(lockItem("one", "me", 41) + ',' + counterItem(41)));
  const std::string image = R"({"Code":"ConditionalCheckFailed","Item":)" + lockItem("two", "me", 41) + '}';
  store.fails(serviceError("TransactionCanceledException", 400, cancelled(image, none)));
  EXPECT_TRUE(isUnknown(store.write(request(Purpose::acquire, {"one", "two"}))));
  EXPECT_NE(store.client().sent[1].body.find(R"("#v IN (:e0) AND #o=:h")"), std::string::npos);
}

TEST(DynamoDbAcquire, neverOverwritesAForeignItem) {
  for (const char* row : {"go_dynamolock_v5", "go_dynamolock_v5_released", "from_source/rust_delta"}) {
    const std::string version{parsed(golden(row))["recordVersionNumber"].at("S").as_string().c_str()};
    ScriptedStore store;
    store.ok(pairOf(ofBilling(row)));
    const auto refused = std::get<Rejected>(store.write(request(Purpose::acquire, {version})));
    EXPECT_EQ(refused.error.errorClass, ErrorClass::corrupt) << row;
    EXPECT_EQ(store.operations(), Names{"BatchGetItem"}) << row;
  }
}

TEST(DynamoDbAcquire, takesOverFromJavaWithItsVersion) {
  const std::string version{parsed(golden("aws_java_1_4_released"))["recordVersionNumber"].at("S").as_string().c_str()};
  ScriptedStore store;
  store.ok(pairOf(ofBilling("aws_java_1_4_released") + ',' + counterItem(9)));
  store.ok("{}");
  store.ok(found(lockItem("new", "me", 10)));
  EXPECT_EQ(std::get<Applied>(store.write(request(Purpose::acquire, {version}))).token, FencingToken{10});
}

TEST(DynamoDbAcquire, whatATransactionIsCancelledFor) {
  const auto acquireAgainst = [](const std::string& reasons, const std::string& readBack) {
    ScriptedStore store;
    store.ok(pairOf(lockItem("one", "them", 41) + ',' + counterItem(41)));
    store.fails(serviceError("TransactionCanceledException", 400, reasons));
    if (!readBack.empty()) store.ok(readBack);
    return store.write(request(Purpose::acquire, {"one"}));
  };
  const std::string image = R"({"Code":"ConditionalCheckFailed","Item":)" + lockItem("theirs", "rival", 42) + '}';
  EXPECT_EQ(currentOf(acquireAgainst(cancelled(image, none), "")).holder, "rival");
  EXPECT_EQ(currentOf(acquireAgainst(cancelled(image, failed), "")).holder, "rival");
  const std::string rival = pairOf(lockItem("theirs", "rival", 42));
  const std::string unchanged = pairOf(lockItem("one", "them", 41) + ',' + counterItem(41));
  EXPECT_EQ(currentOf(acquireAgainst(cancelled(failed, none), rival)).holder, "rival") << "without the image";
  const std::string foreign = R"({"Code":"ConditionalCheckFailed","Item":)" + golden("go_dynamolock_v5") + '}';
  EXPECT_EQ(std::get<Unknown>(acquireAgainst(cancelled(foreign, none), "")).error.errorClass, ErrorClass::corrupt);
  const std::string busy = R"({"Code":"TransactionConflict"})";
  const auto unreadable = acquireAgainst(cancelled(busy, none), pairOf(ofBilling("go_dynamolock_v5")));
  EXPECT_EQ(std::get<Unknown>(unreadable).error.errorClass, ErrorClass::corrupt);
  EXPECT_EQ(currentOf(acquireAgainst(cancelled(busy, none), rival)).holder, "rival") << "the other one has won";
  const auto moved = std::get<Rejected>(acquireAgainst(cancelled(none, failed), unchanged));
  EXPECT_EQ(moved.error.errorClass, ErrorClass::transient) << "no copy can land that waits for the old counter";
  const auto classOf = [&](const std::string& code) {
    return std::get<Rejected>(acquireAgainst(cancelled(R"({"Code":")" + code + "\"}", none), "")).error.errorClass;
  };
  EXPECT_EQ(classOf("ThrottlingError"), ErrorClass::throttled);
  EXPECT_EQ(classOf("ProvisionedThroughputExceeded"), ErrorClass::throttled);
  EXPECT_EQ(classOf("ItemCollectionSizeLimitExceeded"), ErrorClass::throttled);
  EXPECT_EQ(classOf("ValidationError"), ErrorClass::misconfigured);
  EXPECT_EQ(classOf("SomethingNew"), ErrorClass::transient);
  EXPECT_TRUE(std::holds_alternative<Rejected>(acquireAgainst("", ""))) << "no reasons at all";
}

// The conflicting transaction may be a copy of the same request, which the network made.
TEST(DynamoDbAcquire, oneThatMetAnotherTransactionMayStillLand) {
  const std::string busy = R"({"Code":"TransactionConflict"})";
  for (const auto& reasons : {cancelled(busy, none), cancelled(none, busy)}) {
    for (const bool readable : {true, false}) {
      ScriptedStore store;
      store.ok(pairOf(lockItem("one", "them", 41) + ',' + counterItem(41)));
      store.fails(serviceError("TransactionCanceledException", 400, reasons));
      if (readable) store.ok(pairOf(lockItem("one", "them", 41) + ',' + counterItem(41)));
      if (!readable) store.fails(noAnswer(true));
      EXPECT_TRUE(isUnknown(store.write(request(Purpose::acquire, {"one"})))) << reasons;
    }
  }
}

TEST(DynamoDbAcquire, anOpenTermOfTheCounterIsExpectedByItsVersion) {
  ScriptedStore store;
  for (const auto& expected : {std::vector<std::string>{}, {"counter:41:9999"}, {"counter:40:10000"}, {"one"}}) {
    store.ok(pairOf(counterItem(41)));
    store.ok("{}");
    EXPECT_EQ(currentOf(store.write(request(Purpose::acquire, expected))),
              vanishedRecord(FencingToken{41}, std::chrono::seconds{10}));
  }
  store.ok(pairOf(counterItem(41)));
  store.ok("{}");
  store.ok("{}");
  store.ok(found(lockItem("new", "me", 42)));
  EXPECT_EQ(std::get<Applied>(store.write(request(Purpose::acquire, {"counter:41:10000"}))).token, FencingToken{42});
  const std::string& body = store.client().sent[10].body;
  EXPECT_NE(body.find(R"j("ConditionExpression":"attribute_not_exists(#k)")j"), std::string::npos) << body;
  EXPECT_NE(body.find(R"j("ConditionExpression":"#t=:q AND #w=:u")j"), std::string::npos) << body;
}

TEST(DynamoDbAcquire, readsThatAreNotCompleteWriteNothing) {
  for (const char* body :
       {"{}", R"({"Responses":{"locks":[{}]}})", R"({"Responses":{"locks":[7]}})",
        R"({"Responses":{"locks":[]},"UnprocessedKeys":{"locks":{"Keys":[{"key":{"S":"billing"}}]}}})"}) {
    ScriptedStore store;
    store.ok(body);
    EXPECT_TRUE(std::holds_alternative<Rejected>(store.write(request(Purpose::acquire, {})))) << body;
    EXPECT_EQ(store.operations(), Names{"BatchGetItem"}) << body;
  }
}

TEST(DynamoDbAcquire, aCounterThatIsDamagedFailsClosed) {
  ScriptedStore store;
  store.ok(pairOf(R"({"key":{"S":"billing#fence"},"tenureToken":{"S":"seven"}})"));
  EXPECT_EQ(std::get<Rejected>(store.write(request(Purpose::acquire, {}))).error.errorClass, ErrorClass::corrupt);
}

TEST(DynamoDbStepDown, outcomes) {
  ScriptedStore store;
  store.ok(R"({"Attributes":{"tenureStepDown":{"N":"7"}}})");
  EXPECT_TRUE(std::holds_alternative<Applied>(store.stepDown({"billing"}, FencingToken{7})));
  store.fails(serviceError("ConditionalCheckFailedException", 400, ",\"Item\":" + lockItem("theirs", "them", 8)));
  EXPECT_EQ(currentOf(store.stepDown({"billing"}, FencingToken{7})).token, FencingToken{8});
  store.ok(pairOf(""));
  EXPECT_TRUE(isConflictWithNothing(store.stepDown({"billing"}, FencingToken{})));
  EXPECT_EQ(store.operations(), (Names{"UpdateItem", "UpdateItem", "BatchGetItem"}));
}

}  // namespace
}  // namespace tenure::test
