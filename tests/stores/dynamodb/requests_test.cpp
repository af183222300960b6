// The exact text of each request.
#include "lockcore/stores/dynamodb/src/requests.hpp"

#include <gtest/gtest.h>

#include "stores/dynamodb/scripted_client.hpp"

namespace tenure::dynamodb_store {
namespace {

using test::request;
using Purpose = WriteRequest::Purpose;

const Layout plain{DynamoDbStoreOptions{.table = "locks"}};
const Layout sorted{DynamoDbStoreOptions{.table = "locks", .partitionKey = "id", .sortKey = "range"}};
const Layout withTtl{DynamoDbStoreOptions{.table = "locks", .ttlAttribute = "expires"}};
const LeaseKey billing{"billing"};

LeaseRecord mine(std::string version = "one") { return request(Purpose::renew, {}, std::move(version)).record; }

/// What a write of `me` makes of the record with one of these versions; without versions there is none.
Swap swapOf(LeaseRecord next, std::vector<RecordVersion> versions, Companion companion = {},
            std::optional<stored::Counter> counter = {}) {
  Swap swap;
  if (!versions.empty()) swap.seen = Pair{StoredRecord{mine()}, companion};
  if (versions.empty()) swap.seen = Pair{std::nullopt, companion};
  swap.versions = std::move(versions);
  swap.change.record = StoredRecord{std::move(next)};
  swap.change.counter = counter;
  return swap;
}

Swap renewal(std::vector<RecordVersion> versions = {RecordVersion{"one"}}) {
  return swapOf(mine("new"), std::move(versions));
}

Swap release() {
  Swap swap = renewal();
  swap.change.record->record.released = true;
  return swap;
}

Swap acquisition(std::vector<RecordVersion> versions, FencingToken token, Companion companion = {}) {
  LeaseRecord next = mine("new");
  next.token = token;
  return swapOf(std::move(next), std::move(versions), companion, stored::Counter{token, std::chrono::seconds{10}});
}

TEST(DynamoDbRequests, readIsOneConsistentGetItem) {
  EXPECT_EQ(readRequest(plain, billing),
            R"j({"TableName":"locks","Key":{"key":{"S":"billing"}},"ConsistentRead":true})j");
  EXPECT_EQ(readRequest(sorted, {"it's \"b\"\n", "s"}),
            R"j({"TableName":"locks","Key":{"id":{"S":"it's \"b\"\u000a"},"range":{"S":"s"}},"ConsistentRead":true})j");
  EXPECT_EQ(readRequest(sorted, billing),
            R"j({"TableName":"locks","Key":{"id":{"S":"billing"},"range":{"S":"-"}},"ConsistentRead":true})j");
}

TEST(DynamoDbRequests, anAcquisitionReadsBothItemsAtOnce) {
  EXPECT_EQ(readPairRequest(plain, billing),
            R"j({"RequestItems":{"locks":{"Keys":[{"key":{"S":"billing"}},{"key":{"S":"billing#fence"}}],)j"
            R"j("ConsistentRead":true}}})j");
}

TEST(DynamoDbRequests, renewal) {
  EXPECT_EQ(
      updateRequest(plain, billing, renewal({RecordVersion{"one"}, RecordVersion{"two"}})),
      R"j({"TableName":"locks","Key":{"key":{"S":"billing"}},)j"
      R"j("UpdateExpression":"SET #l=:l,#v=:v,#a=:a,#n=:n,#t=if_not_exists(#t,:t),#s=if_not_exists(#s,:s) )j"
      R"j(REMOVE #r,#b","ConditionExpression":"#v IN (:e0,:e1) AND #o=:h",)j"
      R"j("ExpressionAttributeNames":{"#l":"leaseDuration","#v":"recordVersionNumber","#a":"tenureAcquiredMillis",)j"
      R"j("#n":"tenureRenewedMillis","#r":"isReleased","#b":"tenureBeacon","#t":"tenureToken",)j"
      R"j("#s":"tenureStepDown","#o":"ownerName"},)j"
      R"j("ExpressionAttributeValues":{":l":{"S":"10000"},":v":{"S":"new"},":a":{"N":"1"},":n":{"N":"2"},)j"
      R"j(":t":{"N":"7"},":s":{"N":"0"},":e0":{"S":"one"},":e1":{"S":"two"},":h":{"S":"me"}},)j"
      R"j("ReturnValues":"UPDATED_NEW","ReturnValuesOnConditionCheckFailure":"ALL_OLD"})j");
}

TEST(DynamoDbRequests, releaseMarksTheItem) {
  EXPECT_EQ(
      updateRequest(plain, billing, release()),
      R"j({"TableName":"locks","Key":{"key":{"S":"billing"}},)j"
      R"j("UpdateExpression":"SET #l=:l,#v=:v,#a=:a,#n=:n,#r=:r,#t=if_not_exists(#t,:t),#s=if_not_exists(#s,:s) )j"
      R"j(REMOVE #b","ConditionExpression":"#v IN (:e0) AND #o=:h",)j"
      R"j("ExpressionAttributeNames":{"#l":"leaseDuration","#v":"recordVersionNumber","#a":"tenureAcquiredMillis",)j"
      R"j("#n":"tenureRenewedMillis","#r":"isReleased","#b":"tenureBeacon","#t":"tenureToken",)j"
      R"j("#s":"tenureStepDown","#o":"ownerName"},)j"
      R"j("ExpressionAttributeValues":{":l":{"S":"10000"},":v":{"S":"new"},":a":{"N":"1"},":n":{"N":"2"},)j"
      R"j(":r":{"S":"1"},":t":{"N":"7"},":s":{"N":"0"},":e0":{"S":"one"},":h":{"S":"me"}},)j"
      R"j("ReturnValues":"UPDATED_NEW","ReturnValuesOnConditionCheckFailure":"ALL_OLD"})j");
}

TEST(DynamoDbRequests, aRemovalNamesWhatWasSeenAndMovesTheCounter) {
  Swap removal = swapOf({}, {RecordVersion{"one"}}, {true, FencingToken{7}, std::chrono::seconds{10}},
                        stored::Counter{FencingToken{7}});
  removal.change.record.reset();
  EXPECT_EQ(transactRequest(plain, billing, removal),
            R"j({"TransactItems":[{"Delete":{"TableName":"locks","Key":{"key":{"S":"billing"}},)j"
            R"j("ConditionExpression":"#v IN (:e0) AND #o=:h",)j"
            R"j("ExpressionAttributeNames":{"#v":"recordVersionNumber","#o":"ownerName"},)j"
            R"j("ExpressionAttributeValues":{":e0":{"S":"one"},":h":{"S":"me"}},)j"
            R"j("ReturnValuesOnConditionCheckFailure":"ALL_OLD"}},)j"
            R"j({"Update":{"TableName":"locks","Key":{"key":{"S":"billing#fence"}},)j"
            R"j("UpdateExpression":"SET #t=:t,#w=:w","ConditionExpression":"#t=:q AND #w=:u",)j"
            R"j("ExpressionAttributeNames":{"#t":"tenureToken","#w":"tenureOpenLease"},)j"
            R"j("ExpressionAttributeValues":{":t":{"N":"7"},":w":{"N":"0"},":q":{"N":"7"},":u":{"N":"10000"}}}}]})j");
}

TEST(DynamoDbRequests, aRenewalThatLengthensIsTheRenewalAndTheCounter) {
  const Swap both = swapOf(mine("new"), {RecordVersion{"one"}}, {true, FencingToken{7}, std::chrono::seconds{4}},
                           stored::Counter{FencingToken{7}, std::chrono::seconds{10}});
  const std::string body = transactRequest(plain, billing, both);
  const std::string alone = updateRequest(plain, billing, renewal());
  const std::string item = alone.substr(1, alone.find(",\"ReturnValues\"") - 1);
  EXPECT_NE(body.find(R"j({"TransactItems":[{"Update":{)j" + item), std::string::npos) << body;
  EXPECT_NE(body.find(R"j("UpdateExpression":"SET #t=:t,#w=:w","ConditionExpression":"#t=:q AND #w=:u")j"),
            std::string::npos)
      << body;
  EXPECT_NE(body.find(R"j(":t":{"N":"7"},":w":{"N":"10000"},":q":{"N":"7"},":u":{"N":"4000"})j"), std::string::npos)
      << body;
}

TEST(DynamoDbRequests, theFirstAcquisitionMakesBothItems) {
  EXPECT_EQ(
      transactRequest(plain, billing, acquisition({}, FencingToken{1})),
      R"j({"TransactItems":[{"Update":{"TableName":"locks","Key":{"key":{"S":"billing"}},)j"
      R"j("UpdateExpression":"SET #o=:o,#l=:l,#v=:v,#a=:a,#n=:n,#t=:t,#s=:s REMOVE #r,#b,#e",)j"
      R"j("ConditionExpression":"attribute_not_exists(#k)",)j"
      R"j("ExpressionAttributeNames":{"#o":"ownerName","#l":"leaseDuration","#v":"recordVersionNumber",)j"
      R"j("#a":"tenureAcquiredMillis","#n":"tenureRenewedMillis","#r":"isReleased","#b":"tenureBeacon",)j"
      R"j("#t":"tenureToken","#s":"tenureStepDown","#e":"tenureSuccessor","#k":"key"},)j"
      R"j("ExpressionAttributeValues":{":o":{"S":"me"},":l":{"S":"10000"},":v":{"S":"new"},":a":{"N":"1"},)j"
      R"j(":n":{"N":"2"},":t":{"N":"1"},":s":{"N":"0"}},"ReturnValuesOnConditionCheckFailure":"ALL_OLD"}},)j"
      R"j({"Update":{"TableName":"locks","Key":{"key":{"S":"billing#fence"}},)j"
      R"j("UpdateExpression":"SET #t=:t,#w=:w,#o=:o,#l=:l,#v=:v,#r=:r",)j"
      R"j("ConditionExpression":"attribute_not_exists(#k)",)j"
      R"j("ExpressionAttributeNames":{"#t":"tenureToken","#w":"tenureOpenLease","#o":"ownerName","#l":"leaseDuration",)j"
      R"j("#v":"recordVersionNumber","#r":"isReleased","#k":"key"},)j"
      R"j("ExpressionAttributeValues":{":t":{"N":"1"},":w":{"N":"10000"},":o":{"S":"tenure fencing counter"},":l":{"S":"1000"},)j"
      R"j(":v":{"S":"tenure-fence"},":r":{"S":"1"}}}}]})j");
}

TEST(DynamoDbRequests, aTakeoverNamesTheVersionAndTheCounterThatWereRead) {
  const std::string body =
      transactRequest(plain, billing, acquisition({RecordVersion{"one"}}, FencingToken{42}, {true, FencingToken{41}}));
  EXPECT_NE(body.find(R"j("ConditionExpression":"#v IN (:e0) AND #o=:h")j"), std::string::npos) << body;
  EXPECT_NE(body.find(R"j("Key":{"key":{"S":"billing#fence"}},"UpdateExpression":"SET #t=:t,#w=:w",)j"
                      R"j("ConditionExpression":"#t=:q",)j"
                      R"j("ExpressionAttributeNames":{"#t":"tenureToken","#w":"tenureOpenLease"},)j"
                      R"j("ExpressionAttributeValues":{":t":{"N":"42"},":w":{"N":"10000"},":q":{"N":"41"}})j"),
            std::string::npos)
      << body;
}

TEST(DynamoDbRequests, aCounterItemThatAForeignClientTookGetsOnlyItsNumberBack) {
  const std::string body =
      transactRequest(plain, billing, acquisition({RecordVersion{"one"}}, FencingToken{42}, {true, {}}));
  EXPECT_NE(body.find(R"j("UpdateExpression":"SET #t=:t,#w=:w","ConditionExpression":)j"
                      R"j("attribute_exists(#k) AND attribute_not_exists(#t)")j"),
            std::string::npos)
      << body;
}

TEST(DynamoDbRequests, stepDownNamesTheTermAndLeavesTheVersion) {
  EXPECT_EQ(stepDownRequest(plain, billing, {mine()}, {mine(), FencingToken{7}}),
            R"j({"TableName":"locks","Key":{"key":{"S":"billing"}},"UpdateExpression":"SET #s=:s REMOVE #e",)j"
            R"j("ConditionExpression":"#t=:q AND attribute_not_exists(#r)",)j"
            R"j("ExpressionAttributeNames":{"#s":"tenureStepDown","#e":"tenureSuccessor","#t":"tenureToken",)j"
            R"j("#r":"isReleased"},"ExpressionAttributeValues":{":s":{"N":"7"},":q":{"N":"7"}},)j"
            R"j("ReturnValues":"UPDATED_NEW","ReturnValuesOnConditionCheckFailure":"ALL_OLD"})j");
}

TEST(DynamoDbRequests, theSuccessorIsStatedWithItsTermAndOnlyWhereOneIsNamed) {
  const Successor successor{"billing b", std::chrono::milliseconds{3'333}};
  LeaseRecord left = mine();
  left.successor = successor;
  const std::string asked = stepDownRequest(plain, billing, {mine()}, {left, FencingToken{7}});
  EXPECT_NE(asked.find(R"j("UpdateExpression":"SET #s=:s,#e=:e")j"), std::string::npos) << asked;
  EXPECT_NE(asked.find(R"j(":e":{"S":"7 3333 billing b"})j"), std::string::npos) << asked;
  Swap swap = release();
  swap.change.record->record.successor = successor;
  const std::string body = updateRequest(plain, billing, swap);
  EXPECT_NE(body.find(R"j(#s=if_not_exists(#s,:s),#e=:e REMOVE #b")j"), std::string::npos) << body;
  EXPECT_NE(body.find(R"j(":e":{"S":"7 3333 billing b"})j"), std::string::npos) << body;
}

TEST(DynamoDbRequests, listIsAConsistentScanThatTellsItsCost) {
  EXPECT_EQ(listRequest(plain, "", ""),
            R"j({"TableName":"locks","ConsistentRead":true,"ReturnConsumedCapacity":"TOTAL"})j");
  EXPECT_EQ(listRequest(plain, "bil", R"j({"key":{"S":"x"}})j"),
            R"j({"TableName":"locks","ConsistentRead":true,"ReturnConsumedCapacity":"TOTAL",)j"
            R"j("FilterExpression":"begins_with(#k,:p)",)j"
            R"j("ExpressionAttributeNames":{"#k":"key"},"ExpressionAttributeValues":{":p":{"S":"bil"}},)j"
            R"j("ExclusiveStartKey":{"key":{"S":"x"}}})j");
}

TEST(DynamoDbRequests, theLeasesOfANameAreAConsistentQueryOfItsPartition) {
  EXPECT_EQ(queryRequest(sorted, "it's \"b\"", ""),
            R"j({"TableName":"locks","ConsistentRead":true,"KeyConditionExpression":"#k=:k",)j"
            R"j("ExpressionAttributeNames":{"#k":"id"},"ExpressionAttributeValues":{":k":{"S":"it's \"b\""}}})j");
  EXPECT_EQ(queryRequest(plain, "b", R"j({"key":{"S":"b"}})j"),
            R"j({"TableName":"locks","ConsistentRead":true,"KeyConditionExpression":"#k=:k",)j"
            R"j("ExpressionAttributeNames":{"#k":"key"},"ExpressionAttributeValues":{":k":{"S":"b"}},)j"
            R"j("ExclusiveStartKey":{"key":{"S":"b"}}})j");
}

TEST(DynamoDbRequests, payloadReplacesAttributesWholeAndKeepsWhatIsNotBrought) {
  Swap write = renewal();
  (*write.seen.record)->record.attributes = {{"kept", "0"}, {"old", "0"}};
  LeaseRecord& next = write.change.record->record;
  next.data = std::string{"\0\xFF", 2};
  next.attributes = {{"kept", "1"}, {"new \"name\"", "2"}};
  next.livenessFile = LivenessFile{"id", "boot", 1, 2};
  const std::string body = updateRequest(plain, billing, write);
  EXPECT_NE(body.find(R"j(#d=:d,#u0=:u0,#u1=:u1 REMOVE #r,#u2")j"), std::string::npos) << body;
  EXPECT_NE(body.find(R"j("#u0":"kept","#u1":"new \"name\"","#u2":"old")j"), std::string::npos) << body;
  EXPECT_NE(body.find(R"j(":d":{"B":"AP8="},":u0":{"S":"1"},":u1":{"S":"2"})j"), std::string::npos) << body;
  EXPECT_NE(body.find(R"j(":b":{"S":"1 2 boot id"})j"), std::string::npos) << body;
}

TEST(DynamoDbRequests, timeToLiveIsEpochSecondsOnTheLockItemOnly) {
  Swap swap = release();
  swap.expiresAt = 1'795'604'800;
  EXPECT_NE(updateRequest(withTtl, billing, swap).find(R"j(":x":{"N":"1795604800"})j"), std::string::npos);
  const std::string body = transactRequest(withTtl, billing, acquisition({}, FencingToken{1}));
  EXPECT_NE(body.find(R"j("#x":"expires")j"), std::string::npos);
  EXPECT_EQ(body.find("#x", body.find("#fence")), std::string::npos) << "the counter outlasts the record";
}

TEST(DynamoDbRequests, moreVersionsThanOneListHolds) {
  std::vector<RecordVersion> many;
  for (int i = 0; i < 101; ++i) many.emplace_back(std::to_string(i));
  const std::string body = updateRequest(plain, billing, renewal(many));
  EXPECT_NE(body.find(":e99) OR #v IN (:e100)) AND #o=:h"), std::string::npos) << body;
}

}  // namespace
}  // namespace tenure::dynamodb_store
