// The bodies of requests, byte for byte: the server ignores what it does not know, so a misspelt condition would be
// none. What a real member does with them is in tests/etcd/requests_live_test.cpp.
#include "lockcore/stores/etcd/src/requests.hpp"

#include <gtest/gtest.h>

#include "lockcore/stores/etcd/src/keys.hpp"
#include "lockcore/stores/etcd/src/state.hpp"

namespace tenure::etcd_store {
namespace {

TEST(EtcdRequests, aReadOfBothKeysHasNoConditionAndIsNotSerializable) {
  Txn txn;
  txn.read("/t/lease/a");
  txn.read("/t/fence/a");
  EXPECT_EQ(
      txn.body(),
      R"({"success":[{"request_range":{"key":"L3QvbGVhc2UvYQ=="}},{"request_range":{"key":"L3QvZmVuY2UvYQ=="}}]})");
}

TEST(EtcdRequests, aReadOfThePastNamesItsRevision) {
  Txn txn;
  txn.read("/t/fence/a", 7);
  EXPECT_EQ(txn.body(), R"({"success":[{"request_range":{"key":"L3QvZmVuY2UvYQ==","revision":"7"}}]})");
}

TEST(EtcdRequests, aPageIsARangeWithALimit) {
  Txn txn;
  txn.readRange("/t/lease/", endOf("/t/lease/"), 101);
  EXPECT_EQ(txn.body(),
            R"({"success":[{"request_range":{"key":"L3QvbGVhc2Uv","range_end":"L3QvbGVhc2Uw","limit":"101"}}]})");
}

TEST(EtcdRequests, theProbeOfWritesRequiresWhatNoKeyHas) {
  EXPECT_EQ(probeOfWrites("/t/lease/", "/t/fence/"),
            std::string{R"({"compare":[{"result":"EQUAL","target":"MOD","key":"L3QvZmVuY2Uv","mod_revision":"-1"}],)"} +
                R"("success":[{"request_put":{"key":"L3QvbGVhc2Uv","value":""}},)" +
                R"({"request_put":{"key":"L3QvZmVuY2Uv","value":""}}],)" +
                R"("failure":[{"request_range":{"key":"L3QvbGVhc2Uv","range_end":"L3QvbGVhc2Uw","limit":"1"}}]})");
}

TEST(EtcdRequests, aWatchCoversEveryKeyOfTheStore) {
  EXPECT_EQ(watchRequest("/t/"), R"({"create_request":{"key":"L3Qv","range_end":"L3Qw","progress_notify":true}})");
}

constexpr const char* elseBoth =
    R"("failure":[{"request_range":{"key":"L3QvbGVhc2UvYQ=="}},{"request_range":{"key":"L3QvZmVuY2UvYQ=="}}])";

Slot slotAt(std::int64_t revision) { return revision == 0 ? Slot{} : Slot{revision, "{}"}; }
State seen(std::int64_t record, std::int64_t counter) { return {{9}, slotAt(record), slotAt(counter)}; }

constexpr const char* recordAsSeen =
    R"({"compare":[{"result":"EQUAL","target":"MOD","key":"L3QvbGVhc2UvYQ==","mod_revision":"8"},)"
    R"({"result":"EQUAL","target":"VALUE","key":"L3QvbGVhc2UvYQ==","value":"e30="})";
constexpr const char* counterAsSeen =
    R"(,{"result":"EQUAL","target":"MOD","key":"L3QvZmVuY2UvYQ==","mod_revision":"5"},)"
    R"({"result":"EQUAL","target":"VALUE","key":"L3QvZmVuY2UvYQ==","value":"e30="})";

TEST(EtcdRequests, anAcquisitionComparesBothKeysAndWritesBoth) {
  Change change;
  change.record =
      StoredRecord{{.holder = "h", .version = RecordVersion{"v"}, .leaseDuration = std::chrono::seconds{1}}};
  change.record->record.token = FencingToken{3};
  change.counter = Counter{FencingToken{3}, std::chrono::seconds{1}};
  const std::string body = bodyOf(Keys{"/t"}, {"a"}, seen(0, 5), change);
  EXPECT_EQ(
      body,
      std::string{R"({"compare":[{"result":"EQUAL","target":"MOD","key":"L3QvbGVhc2UvYQ==","mod_revision":"0"})"} +
          counterAsSeen + R"(],"success":[)" +
          R"({"request_put":{"key":"L3QvbGVhc2UvYQ==","value":"eyJ0ZW51cmVMYXlvdXQiOjEsIm93bmVyTmFtZSI6ImgiLCJsZW)" +
          R"(FzZUR1cmF0aW9uIjoxMDAwLCJyZWNvcmRWZXJzaW9uTnVtYmVyIjoidiIsInRlbnVyZVRva2VuIjozLCJ0ZW51cmVBY3F1aXJlZE1p)" +
          R"(bGxpcyI6MCwidGVudXJlUmVuZXdlZE1pbGxpcyI6MH0="}},)" +
          R"({"request_put":{"key":"L3QvZmVuY2UvYQ==","value":"eyJ0ZW51cmVMYXlvdXQiOjEsInRlbnVyZVRva2VuIjozLCJ0ZW)" +
          R"(51cmVPcGVuTGVhc2UiOjEwMDB9"}}],)" + elseBoth + "}");
}

TEST(EtcdRequests, aReleaseThatRemovesDeletesTheRecordAndKeepsTheCounter) {
  Change change;
  change.counter = Counter{FencingToken{3}};
  EXPECT_EQ(
      bodyOf(Keys{"/t"}, {"a"}, seen(8, 5), change),
      std::string{recordAsSeen} + counterAsSeen + R"(],"success":[)" +
          R"({"request_delete_range":{"key":"L3QvbGVhc2UvYQ=="}},)" +
          R"({"request_put":{"key":"L3QvZmVuY2UvYQ==","value":"eyJ0ZW51cmVMYXlvdXQiOjEsInRlbnVyZVRva2VuIjozLCJ0ZW)" +
          R"(51cmVPcGVuTGVhc2UiOjB9"}}],)" + elseBoth + "}");
}

TEST(EtcdRequests, aRenewalComparesTheRecordAlone) {
  Change change;
  change.record = StoredRecord{{.holder = "h", .version = RecordVersion{"v"}}};
  const std::string body = bodyOf(Keys{"/t"}, {"a"}, seen(8, 5), change);
  EXPECT_TRUE(body.starts_with(std::string{recordAsSeen} + R"(],"success":[{"request_put")")) << body;
  EXPECT_TRUE(body.ends_with(std::string{elseBoth} + "}")) << body;
}

TEST(EtcdKeys, leasesDoNotShareKeysAndKeepTheirOrder) {
  const Keys keys{"/t"};
  const LeaseKey plain{"ab"};
  const LeaseKey sorted{"a", "b"};
  EXPECT_EQ(keys.recordOf(plain), "/t/lease/ab");
  EXPECT_NE(keys.recordOf(plain), keys.recordOf(sorted));
  EXPECT_LT(keys.recordOf(sorted), keys.recordOf(plain)) << "as the leases themselves";
  for (const LeaseKey& key : {plain, sorted, LeaseKey{"a/b", "c/d"}, LeaseKey{"lease/x"}}) {
    EXPECT_EQ(keys.leaseAtRecord(keys.recordOf(key)), key);
    EXPECT_EQ(keys.leaseAtCounter(keys.counterOf(key)), key);
    EXPECT_EQ(keys.leaseAtRecord(keys.counterOf(key)), std::nullopt);
  }
  EXPECT_EQ(keys.leaseAtRecord("/t/lease/"), std::nullopt);
}

}  // namespace
}  // namespace tenure::etcd_store
