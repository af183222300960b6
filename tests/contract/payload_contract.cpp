// The contents of a record: the user's data and attributes, and every field up to its limits.
#include <cstdint>
#include <limits>

#include "contract/store_contract.hpp"

namespace tenure::contract {
namespace {

const std::map<std::string, std::string> oddAttributes{
    {"region", "eu-central-1"},  {"empty", ""},       {"it's \"quoted\"", "'; DROP TABLE leases; --"},
    {"new\nline", "tab\tand\\"}, {"кириллица", "値"}, {"😀", "e\xCC\x81 is not \xC3\xA9"},
    {"a=b,c", "{\"json\": [1]}"}};

WriteRequest withPayload(WriteRequest request, std::string data, std::map<std::string, std::string> attributes) {
  request.record.data = std::move(data);
  request.record.attributes = std::move(attributes);
  return request;
}

}  // namespace

TEST_P(StoreContract, keepsDataAndAttributesThatAWriteLeavesEmpty) {
  const LeaseKey key{"lease"};
  store().apply(withPayload(acquire(key, "a"), "payload", oddAttributes));
  const auto isKept = [&] {
    const LeaseRecord record = other().record(key);
    return record.data == "payload" && record.attributes == oddAttributes;
  };
  EXPECT_TRUE(isKept());
  store().apply(renew(key, "a", {store().record(key).version}));
  EXPECT_TRUE(isKept()) << "after a renewal";
  store().apply(release(key, "a", {store().record(key).version}));
  EXPECT_TRUE(isKept()) << "after a release";
  store().apply(acquire(key, "b", {store().record(key).version}));
  EXPECT_TRUE(isKept()) << "after an acquisition";
}

TEST_P(StoreContract, replacesDataAndAttributesThatAWriteBrings) {
  const LeaseKey key{"lease"};
  using Attributes = std::map<std::string, std::string>;
  store().apply(withPayload(acquire(key, "a"), "first", {{"one", "1"}, {"two", "2"}}));
  store().apply(withPayload(renew(key, "a", {store().record(key).version}), "second", {{"three", "3"}}));
  EXPECT_EQ(store().record(key).data, "second");
  EXPECT_EQ(store().record(key).attributes, (Attributes{{"three", "3"}})) << "replaced whole, not merged";
  store().apply(withPayload(release(key, "a", {store().record(key).version}), "third", {}));
  EXPECT_EQ(store().record(key).data, "third");
  EXPECT_EQ(store().record(key).attributes, (Attributes{{"three", "3"}})) << "each of the two by itself";
  store().apply(withPayload(acquire(key, "b", {store().record(key).version}), "", oddAttributes));
  EXPECT_EQ(store().record(key).data, "third");
  EXPECT_EQ(store().record(key).attributes, oddAttributes);
}

TEST_P(StoreContract, mergesDataByTheRuleOfTheWrite) {
  const LeaseKey key{"lease"};
  const auto ruled = [](WriteRequest request, DataRule rule) {
    request.dataRule = rule;
    return request;
  };
  const auto version = [&] { return store().record(key).version; };
  store().apply(ruled(withPayload(acquire(key, "a"), "first", oddAttributes), DataRule::keepIfAny));
  EXPECT_EQ(store().record(key).data, "first") << "there was nothing to keep";
  store().apply(ruled(withPayload(renew(key, "a", {version()}), "", {}), DataRule::replace));
  EXPECT_EQ(store().record(key).data, "") << "cleared";
  EXPECT_EQ(store().record(key).attributes, oddAttributes) << "and nothing else";
  store().apply(ruled(withPayload(release(key, "a", {version()}), "second", {}), DataRule::replace));
  EXPECT_EQ(store().record(key).data, "second");
  store().apply(ruled(withPayload(acquire(key, "b", {version()}), "third", {}), DataRule::keepIfAny));
  EXPECT_EQ(store().record(key).data, "second") << "kept";
  store().apply(ruled(withPayload(acquire(key, "c", {version()}), "", {}), DataRule::replace));
  EXPECT_EQ(other().record(key).data, "") << "cleared by an acquisition";
}

TEST_P(StoreContract, aReleaseMayRemoveTheRecordAndTheCounterStays) {
  const LeaseKey key{"lease"};
  const auto removing = [&](const std::string& holder, const RecordVersion& expected) {
    WriteRequest request = release(key, holder, {expected});
    request.removes = true;
    return request;
  };
  store().apply(acquire(key, "a"));
  const RecordVersion first = store().record(key).version;
  EXPECT_TRUE(std::holds_alternative<Conflict>(store().write(removing("b", first)))) << "not another's";
  EXPECT_TRUE(std::holds_alternative<Conflict>(store().write(removing("a", RecordVersion{"x"}))))
      << "not another version";
  const FencingToken held = store().apply(removing("a", first)).token;
  EXPECT_EQ(other().read(key), std::nullopt);
  const WriteOutcome again = store().write(removing("a", first));
  ASSERT_TRUE(std::holds_alternative<Conflict>(again));
  ASSERT_TRUE(std::get<Conflict>(again).current.has_value());
  EXPECT_EQ(*std::get<Conflict>(again).current, std::nullopt);
  store().apply(acquire(key, "b"));
  EXPECT_TRUE(isNextToken(other().record(key).token, held)) << "I7";
  EXPECT_EQ(other().record(key).data, "");
}

TEST_P(StoreContract, keepsAnyBytesOfData) {
  std::string allBytes;
  for (int byte = 0; byte < 256; ++byte) allBytes += static_cast<char>(byte);
  const std::string large = [&] {
    std::string text;
    while (text.size() < 65'536) text += allBytes;
    return text;
  }();
  int number = 0;
  for (const std::string& data : {allBytes, std::string(1, '\0'), std::string{"1e5"}, std::string{"NULL"}, large}) {
    const LeaseKey key{"lease", std::to_string(++number)};
    store().apply(withPayload(acquire(key, "a"), data, {}));
    EXPECT_EQ(other().record(key).data, data) << "case " << number;
  }
}

TEST_P(StoreContract, keepsEachFieldOfTheRecordToItsLimits) {
  WriteRequest least = acquire({"least"}, "x");
  least.record.leaseDuration = std::chrono::milliseconds{1};
  least.record.livenessFile = LivenessFile{"0", "0", 0, 0};
  least.record.acquiredAtMillis = 0;
  least.record.renewedAtMillis = std::numeric_limits<std::int64_t>::min();
  WriteRequest greatest = acquire({"greatest"}, std::string(1'000, 'h') + "#😀'\"\n");
  greatest.record.version = RecordVersion{"<a version> as '1' \"other\" writers may make it: 1700000000:ABCD"};
  greatest.record.leaseDuration = maxRecordLease;
  greatest.record.livenessFile->device = std::numeric_limits<std::uint64_t>::max();
  greatest.record.livenessFile->inode = std::numeric_limits<std::uint64_t>::max() - 1;
  greatest.record.acquiredAtMillis = std::numeric_limits<std::int64_t>::max();
  greatest.record.renewedAtMillis = std::numeric_limits<std::int64_t>::max();
  for (const WriteRequest& request : {least, greatest}) {
    LeaseRecord expected = request.record;
    expected.token = store().apply(request).token;
    EXPECT_TRUE(sameRecord(other().record(request.key), expected));
    WriteRequest next = renew(request.key, expected.holder, {expected.version});
    EXPECT_EQ(store().apply(std::move(next)).token, expected.token);
  }
}

TEST_P(StoreContract, refusesWhatIsNoRecordWholeAndChangesNothing) {
  const LeaseKey key{"lease"};
  store().apply(acquire(key, "a"));
  const LeaseRecord before = store().record(key);
  std::vector<WriteRequest> bad(9, acquire(key, "b", {before.version}));
  bad[0].record.holder.clear();
  bad[1].record.version = RecordVersion{};
  bad[2].record.leaseDuration = std::chrono::milliseconds{0};
  bad[3].record.leaseDuration = std::chrono::milliseconds{-1};
  bad[4].record.leaseDuration = maxRecordLease + std::chrono::milliseconds{1};
  bad[5].record.holder = "not UTF-8: \xFF";
  bad[6].record.attributes[""] = "an attribute without a name";
  bad[7].expected.emplace_back();
  bad[8].tokenFloor = FencingToken{std::numeric_limits<std::uint64_t>::max()};
  for (std::size_t i = 0; i < bad.size(); ++i) {
    const WriteOutcome outcome = store().write(bad[i]);
    const auto* rejected = std::get_if<Rejected>(&outcome);
    ASSERT_NE(rejected, nullptr) << "case " << i << ": " << describe(outcome);
    EXPECT_EQ(rejected->error.errorClass, ErrorClass::misconfigured) << describe(outcome);
    EXPECT_NE(rejected->error.message.find("lease"), std::string::npos) << describe(outcome);
  }
  EXPECT_TRUE(sameRecord(store().record(key), before));
}

}  // namespace tenure::contract
