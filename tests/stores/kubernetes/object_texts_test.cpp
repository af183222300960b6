// The bodies that the store writes, byte for byte.
#include "lockcore/stores/kubernetes/src/object_texts.hpp"

#include <gtest/gtest.h>

#include "lockcore/stores/kubernetes/src/record_codec.hpp"
#include "stores/kubernetes/lease_texts.hpp"

namespace tenure::kubernetes_store {
namespace {

using namespace std::chrono_literals;
using stored::Change;

const std::string where = "Kubernetes at https://a, namespace default";
const LeaseKey billing{"billing"};
const Settings settings{"default", {{"team", "payments"}}};
constexpr Instant later{1h, 2h, 3h};

const std::string start = R"({"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"billing",)"
                          R"("namespace":"default","uid":"u-1","resourceVersion":"221",)";
const std::string labels = R"("labels":{"app.kubernetes.io/managed-by":"tenure","team":"payments"}},)";

StoredRecord taken() {
  LeaseRecord record{"me#1", RecordVersion{"v-1"}, 2500ms, FencingToken{222}};
  record.acquiredAtMillis = record.renewedAtMillis = 1'795'680'000'123;
  return {record};
}

Edited edit(const LeaseObject& seen, const Change& change, const std::optional<RenewClock>& clock = {}) {
  return changeText(settings, billing, seen, storedIn({where, billing}, seen), change, {clock, later});
}

LeaseObject parsed(const std::string& text, const std::string& resourceVersion) {
  boost::json::value value = boost::json::parse(text);
  value.get_object()["metadata"].get_object()["resourceVersion"] = resourceVersion;
  return leaseObjectFrom(std::move(value)).value();
}

/// An object that we hold.
LeaseObject held() {
  const Change acquisition{.record = taken(), .counter = Counter{FencingToken{222}, 2500ms}};
  return parsed(edit(leaseOf("billing", "{}"), acquisition).text, "222");
}

const std::string spec =
    R"("spec":{"leaseTransitions":1,"acquireTime":"2026-11-26T08:00:00.123000Z","holderIdentity":"me#1",)"
    R"("leaseDurationSeconds":4,"renewTime":"2026-11-26T08:00:00.123000Z"}})";

TEST(KubernetesTexts, aCreationHasNoRecord) {
  EXPECT_EQ(
      creationText(settings, billing, {}),
      R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"billing","namespace":"default",)"
      R"("labels":{"app.kubernetes.io/managed-by":"tenure","team":"payments"},)"
      R"("annotations":{"tenure.dev/layout":"1","tenure.dev/counter":"0"}},"spec":{}})");
  const std::string mapped = creationText(settings, {"Billing", "0"}, {FencingToken{7}, 2500ms});
  EXPECT_NE(mapped.find(R"("annotations":{"tenure.dev/layout":"1","tenure.dev/name":"Billing",)"
                        R"("tenure.dev/sort-key":"0","tenure.dev/counter":"7","tenure.dev/open-lease-ms":"2500"})"),
            std::string::npos)
      << mapped;
}

TEST(KubernetesTexts, anAcquisition) {
  const Change change{.record = taken(), .counter = Counter{FencingToken{222}, 2500ms}};
  const Edited edited = edit(leaseOf("billing", "{}"), change);
  EXPECT_EQ(edited.text,
            start +
                R"("labels":{"app.kubernetes.io/managed-by":"tenure","team":"payments"},)"
                R"("annotations":{"tenure.dev/layout":"1","tenure.dev/holder":"me#1","tenure.dev/version":"v-1",)"
                R"("tenure.dev/token":"222","tenure.dev/lease-ms":"2500","tenure.dev/acquired-ms":"1795680000123",)"
                R"("tenure.dev/renewed-ms":"1795680000123","tenure.dev/spec":"2026-11-26T08:00:00.123000Z 1 me#1",)"
                R"("tenure.dev/counter":"222","tenure.dev/open-lease-ms":"2500"}},)" +
                spec);
  EXPECT_EQ(edited.renewMicros, 1'795'680'000'123'000);
}

TEST(KubernetesTexts, aRenewalMovesTheTimeAlone) {
  const LeaseObject seen = held();
  StoredRecord next = taken();
  next.record.version = RecordVersion{"v-2"};
  next.record.renewedAtMillis = 1;  // the wall clock was set back
  const Edited edited = edit(seen, {.record = next}, RenewClock{1'795'680'000'123'000, later + -500ms});
  const LeaseObject after = parsed(edited.text, "223");
  LeaseSpec expected = seen.spec;
  expected.renewTime = "2026-11-26T08:00:00.623000Z";
  EXPECT_EQ(after.spec, expected);
  const auto lease = storedIn({where, billing}, after);
  ASSERT_TRUE(lease.record.has_value()) << lease.record.error().message;
  EXPECT_EQ(**lease.record, next);
  EXPECT_EQ(lease.counter.value(), (Counter{FencingToken{222}, 2500ms})) << "it stays";
}

TEST(KubernetesTexts, aReleaseIsWrittenAsClientGoGivesALeaseBack) {
  StoredRecord next = taken();
  next.record.version = RecordVersion{"v-2"};
  next.record.released = true;
  const LeaseObject after = parsed(edit(held(), {.record = next}).text, "223");
  EXPECT_EQ(after.spec.holder, "");
  EXPECT_EQ(after.spec.leaseSeconds, 1);
  EXPECT_EQ(after.spec.transitions, 1);
  EXPECT_GT(after.spec.renewTime, held().spec.renewTime);
  EXPECT_EQ(**storedIn({where, billing}, after).record, next) << "and ours know who it was";
}

TEST(KubernetesTexts, othersWaitForTheWholeLeaseAndASecondMore) {
  for (const auto& [lease, seconds] : std::map<std::chrono::milliseconds, std::int64_t>{
           {1ms, 2}, {999ms, 2}, {1000ms, 2}, {1001ms, 3}, {2000ms, 3}, {10s, 11}, {maxRecordLease, 604'801}}) {
    StoredRecord next = taken();
    next.record.leaseDuration = lease;
    const Change change{.record = next};
    EXPECT_EQ(parsed(edit(leaseOf("billing", "{}"), change).text, "222").spec.leaseSeconds, seconds) << lease.count();
  }
}

/// A wish is no sign of the holder's life, nor may it change what the annotations belong to.
TEST(KubernetesTexts, aWishToStepDownLeavesTheSpec) {
  const LeaseObject seen = held();
  StoredRecord next = taken();
  next.stepDown = FencingToken{222};
  const Edited edited = edit(seen, {.record = next});
  EXPECT_EQ(edited.renewMicros, 0);
  const LeaseObject after = parsed(edited.text, "223");
  EXPECT_EQ(after.spec, seen.spec);
  EXPECT_EQ(**storedIn({where, billing}, after).record, next);
}

TEST(KubernetesTexts, aTakeoverCountsTheTermAndKeepsWhatOthersWrote) {
  LeaseObject seen = leaseOf("billing",
                             R"({"holderIdentity":"client-go-1","leaseDurationSeconds":15,"renewTime":)"
                             R"("2026-11-26T09:00:00.000000Z","leaseTransitions":8,"future":{"a":[1]}})",
                             {{"example.com/x", "y"}});
  boost::json::object& metadata = seen.whole["metadata"].get_object();
  metadata["ownerReferences"] = boost::json::parse(R"([{"kind":"Deployment","name":"d","uid":"u"}])");
  metadata["labels"] = boost::json::parse(R"({"mine":"1"})");
  metadata["finalizers"] = boost::json::parse(R"(["example.com/f"])");
  const Edited edited = edit(seen, {.record = taken(), .counter = Counter{FencingToken{222}, 2500ms}});
  EXPECT_NE(edited.text.find(R"("annotations":{"example.com/x":"y",)"), std::string::npos) << edited.text;
  EXPECT_NE(edited.text.find(R"("ownerReferences":[{"kind":"Deployment","name":"d","uid":"u"}])"), std::string::npos);
  EXPECT_NE(edited.text.find(R"("labels":{"mine":"1","app.kubernetes.io/managed-by":"tenure","team":"payments"})"),
            std::string::npos);
  EXPECT_NE(edited.text.find(R"("finalizers":["example.com/f"])"), std::string::npos);
  EXPECT_NE(edited.text.find(R"("future":{"a":[1]})"), std::string::npos);
  const LeaseObject after = parsed(edited.text, "222");
  EXPECT_EQ(after.spec.transitions, 9);
  EXPECT_EQ(after.spec.holder, "me#1");
  EXPECT_EQ(**storedIn({where, billing}, after).record, taken());
}

TEST(KubernetesTexts, transitionsStayWithinWhatTheServerTakes) {
  const LeaseObject seen = leaseOf("billing", R"({"holderIdentity":"x","leaseTransitions":2147483647})");
  const LeaseObject after = parsed(edit(seen, {.record = taken()}).text, "222");
  EXPECT_EQ(after.spec.transitions, 2147483647);
}

TEST(KubernetesTexts, anAcquisitionDropsTheWishForAnother) {
  const LeaseObject seen = leaseOf("billing", R"({"holderIdentity":"x","preferredHolder":"me#1"})");
  EXPECT_EQ(parsed(edit(seen, {.record = taken()}).text, "222").spec.preferredHolder, "");
}

TEST(KubernetesTexts, aRemovalLeavesTheCounterAndNothingOfTheTerm) {
  StoredRecord full = taken();
  full.record.data = "payload";
  full.record.attributes = {{"a", "b"}};
  full.record.livenessFile = LivenessFile{"id", "boot", 1, 2};
  full.record.successor = {"b", std::chrono::seconds{3}};
  const LeaseObject seen = parsed(edit(leaseOf("billing", "{}"), {.record = full}).text, "222");
  EXPECT_TRUE(seen.hasAnnotation("tenure.dev/successor"));
  const Edited edited = edit(seen, {.counter = Counter{FencingToken{222}}});
  const LeaseObject after = parsed(edited.text, "223");
  EXPECT_NE(edited.text.find(R"("annotations":{"tenure.dev/layout":"1","tenure.dev/)"), std::string::npos);
  for (const char* name : {"holder", "version", "token", "lease-ms", "released", "step-down", "successor",
                           "acquired-ms", "renewed-ms", "beacon", "data", "attributes", "open-lease-ms"}) {
    EXPECT_FALSE(after.hasAnnotation(std::string{"tenure.dev/"} + name)) << name;
  }
  const auto lease = storedIn({where, billing}, after);
  EXPECT_FALSE(lease.record.value());
  EXPECT_EQ(lease.counter.value(), Counter{FencingToken{222}});
  EXPECT_EQ(after.spec.holder, "") << "other clients may take it at once";
}

/// Other clients have to wait for it as ours do.
TEST(KubernetesTexts, theRemovalOfARecordWhoseHolderMayLiveLeavesTheSpec) {
  const LeaseObject seen = held();
  const LeaseObject after = parsed(edit(seen, {.counter = Counter{FencingToken{222}, 2500ms}}).text, "223");
  EXPECT_EQ(after.spec, seen.spec);
  const auto lease = storedIn({where, billing}, after);
  EXPECT_FALSE(lease.record.value());
  EXPECT_EQ(**lease.answer(), vanishedRecord(FencingToken{222}, 2500ms));
}

TEST(KubernetesTexts, aCorrectionFreesTheRecordAndKeepsTheData) {
  StoredRecord full = taken();
  full.record.data = "payload";
  full.stepDown = FencingToken{222};
  const LeaseObject seen = parsed(edit(leaseOf("billing", "{}"), {.record = full}).text, "222");
  const Change change{.counter = Counter{FencingToken{17}},
                      .keepsRecord = true,
                      .correction = stored::Correction{FencingToken{17}, "v-9"}};
  const LeaseObject after = parsed(edit(seen, change).text, "223");
  EXPECT_EQ(after.spec.holder, "");
  const auto lease = storedIn({where, billing}, after);
  ASSERT_TRUE(lease.record.has_value() && *lease.record);
  EXPECT_TRUE((*lease.record)->record.released);
  EXPECT_EQ((*lease.record)->record.token, FencingToken{17});
  EXPECT_EQ((*lease.record)->record.data, "payload");
  EXPECT_EQ((*lease.record)->stepDown, FencingToken{});
  EXPECT_TRUE(isCorrected(after, FencingToken{17}, "v-9"));
  EXPECT_FALSE(isCorrected(after, FencingToken{18}, "v-9"));
  EXPECT_FALSE(isCorrected(seen, FencingToken{17}, "v-9"));
}

TEST(KubernetesTexts, aCorrectionOfWhatIsNotUnderstoodChangesTheTokenAlone) {
  LeaseObject seen = held();
  seen.whole["metadata"].get_object()["annotations"].get_object()["tenure.dev/token"] = "4611686018427387904";
  seen.whole["metadata"].get_object()["annotations"].get_object()["tenure.dev/data"] = "cGF5bG9hZA==";
  const Change change{.counter = Counter{FencingToken{17}},
                      .keepsRecord = true,
                      .correction = stored::Correction{FencingToken{17}, "v-9"}};
  const auto lease = storedIn({where, billing}, parsed(edit(seen, change).text, "223"));
  ASSERT_TRUE(lease.record.has_value() && *lease.record) << lease.record.error().message;
  EXPECT_EQ((*lease.record)->record.token, FencingToken{17});
  EXPECT_EQ((*lease.record)->record.data, "payload");
  EXPECT_EQ((*lease.record)->record.holder, "me#1");
}

TEST(KubernetesTexts, aCorrectionOfAnotherClientsRecordMakesItOneOfOurs) {
  const LeaseObject seen =
      leaseOf("billing", R"({"holderIdentity":"client-go-1","leaseDurationSeconds":15,"renewTime":)"
                         R"("2026-11-26T09:00:00.000000Z","leaseTransitions":8})");
  const Change change{.counter = Counter{FencingToken{17}},
                      .keepsRecord = true,
                      .correction = stored::Correction{FencingToken{17}, "v-9"}};
  const auto lease = storedIn({where, billing}, parsed(edit(seen, change).text, "223"));
  ASSERT_TRUE(lease.record.has_value() && *lease.record) << lease.record.error().message;
  EXPECT_TRUE((*lease.record)->record.released);
  EXPECT_EQ((*lease.record)->record.holder, "client-go-1");
  EXPECT_EQ((*lease.record)->record.leaseDuration, 15s);
}

}  // namespace
}  // namespace tenure::kubernetes_store
