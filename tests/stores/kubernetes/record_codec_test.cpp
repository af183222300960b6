// What an object says of its lease: records of ours, records of other clients, and none at all.
#include "lockcore/stores/kubernetes/src/record_codec.hpp"

#include <gtest/gtest.h>

#include "stores/kubernetes/lease_texts.hpp"

namespace tenure::kubernetes_store {
namespace {

using namespace std::chrono_literals;
using Annotations = std::map<std::string, std::string>;

const std::string where = "Kubernetes at https://a, namespace default";
const LeaseKey billing{"billing"};
const std::string ours =
    R"({"holderIdentity":"me#1","leaseDurationSeconds":4,"acquireTime":"2026-11-26T08:00:00.123456Z",)"
    R"("renewTime":"2026-11-26T08:00:01.654321Z","leaseTransitions":7})";
const std::string foreign =
    R"({"holderIdentity":"client-go-1","leaseDurationSeconds":15,"acquireTime":"2026-11-26T08:00:00.000000Z",)"
    R"("renewTime":"2026-11-26T08:00:09.000000Z","leaseTransitions":8})";
const std::string given = R"({"holderIdentity":"","leaseDurationSeconds":1,"renewTime":"2026-11-26T08:00:09.000000Z",)"
                          R"("leaseTransitions":8})";

Annotations record() {
  return {{"tenure.dev/layout", "1"},
          {"tenure.dev/spec", "2026-11-26T08:00:01.654321Z 7 me#1"},
          {"tenure.dev/holder", "me#1"},
          {"tenure.dev/version", "v-1"},
          {"tenure.dev/token", "41"},
          {"tenure.dev/lease-ms", "2500"},
          {"tenure.dev/acquired-ms", "1795680000123"},
          {"tenure.dev/renewed-ms", "-5"},
          {"tenure.dev/beacon", "1 2 boot id"},
          {"tenure.dev/data", "cGF5bG9hZA=="},
          {"tenure.dev/attributes", R"({"zone":"eu"})"},
          {"tenure.dev/counter", "42"},
          {"tenure.dev/open-lease-ms", "9000"}};
}

Annotations with(Annotations all, const std::string& name, const std::string& text) {
  all["tenure.dev/" + name] = text;
  return all;
}

Annotations without(Annotations all, const std::string& name) {
  all.erase("tenure.dev/" + name);
  return all;
}

stored::StoredLease read(const std::string& spec, const Annotations& annotations, const LeaseKey& key = billing) {
  return storedIn({where, key}, leaseOf("billing", spec, annotations));
}

/// Empty: there is no record.
std::optional<LeaseRecord> told(const std::string& spec, const Annotations& annotations) {
  const auto lease = read(spec, annotations);
  EXPECT_TRUE(lease.record.has_value()) << (lease.record.has_error() ? lease.record.error().message : "");
  return *lease.record ? std::optional{(*lease.record)->record} : std::nullopt;
}

TEST(KubernetesRecords, whatWeWrote) {
  const auto lease = read(ours, record());
  ASSERT_TRUE(lease.record.has_value()) << lease.record.error().message;
  LeaseRecord expected{"me#1", RecordVersion{"v-1"}, 2500ms, FencingToken{41}};
  expected.livenessFile = LivenessFile{"id", "boot", 1, 2};
  expected.data = "payload";
  expected.attributes = {{"zone", "eu"}};
  expected.acquiredAtMillis = 1795680000123;
  expected.renewedAtMillis = -5;
  EXPECT_EQ(**lease.record, (StoredRecord{expected}));
  EXPECT_EQ(*lease.counter, (Counter{FencingToken{42}, 9000ms}));
  EXPECT_EQ(lease.revision, 221U);
  EXPECT_FALSE(lease.nothing);
}

TEST(KubernetesRecords, released) {
  const std::string spec = R"({"holderIdentity":"","leaseDurationSeconds":1,"renewTime":"2026-11-26T08:00:01.654321Z",)"
                           R"("leaseTransitions":7})";
  const auto all = with(with(record(), "released", "true"), "spec", "2026-11-26T08:00:01.654321Z 7 ");
  const auto found = told(spec, all);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->released);
  EXPECT_EQ(found->holder, "me#1") << "who gave it back";
  EXPECT_EQ(found->token, FencingToken{41});
}

/// client-go writes the spec into the object that it has fetched, and keeps the annotations.
TEST(KubernetesRecords, ourAnnotationsDoNotCountForAnothersSpec) {
  for (const std::string& spec :
       {foreign,
        std::string{R"({"holderIdentity":"me#1","renewTime":"2026-11-26T08:00:02.654321Z","leaseTransitions":7})"},
        std::string{R"({"holderIdentity":"me#1","renewTime":"2026-11-26T08:00:01.654321Z","leaseTransitions":8})"},
        std::string{R"({"holderIdentity":"me#2","renewTime":"2026-11-26T08:00:01.654321Z","leaseTransitions":7})"}}) {
    const auto found = told(spec, record());
    ASSERT_TRUE(found) << spec;
    EXPECT_TRUE(found->token.isNone()) << spec;
    EXPECT_NE(found->version.text(), "v-1") << spec;
    EXPECT_FALSE(found->livenessFile) << "a process that is dead does not prove that another one is";
    EXPECT_EQ(found->data, "payload") << "they are the lease's";
    EXPECT_EQ(found->attributes, (std::map<std::string, std::string>{{"zone", "eu"}}));
    EXPECT_EQ(*read(spec, record()).counter, (Counter{FencingToken{42}, 9000ms}));
  }
}

TEST(KubernetesRecords, ofOtherClientsAreWaitedOutForWhatTheyState) {
  const auto found = told(foreign, {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->holder, "client-go-1");
  EXPECT_EQ(found->version.text(), "2026-11-26T08:00:09.000000Z 221 client-go-1");
  EXPECT_EQ(found->leaseDuration, 15s);
  EXPECT_TRUE(found->token.isNone());
  EXPECT_FALSE(found->released);
  EXPECT_EQ(found->acquiredAtMillis, 1'795'680'000'000);
  EXPECT_TRUE(found->keptAtRelease) << "if it vanishes, an operator has deleted it";
  EXPECT_EQ(told(R"({"holderIdentity":"x"})", {})->leaseDuration, unstatedLease) << "it states none";
  EXPECT_EQ(told(R"({"holderIdentity":"x"})", {})->version.text(), "- 221 x");
  EXPECT_EQ(told(R"({"holderIdentity":"x","leaseDurationSeconds":2147483647})", {})->leaseDuration, maxRecordLease);
}

TEST(KubernetesRecords, withoutAHolderOthersHaveReleasedIt) {
  const auto found = told(given, {});
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->released);
  EXPECT_FALSE(found->holder.empty());
  EXPECT_FALSE(found->version.isNone());
}

/// A candidate of client-go that stops gives a Lease back that it held once, whoever holds it now.
TEST(KubernetesRecords, oursThatAnotherClientGaveAwayIsWaitedOut) {
  const auto givenIn = [](int transitions) {
    return R"({"holderIdentity":"","leaseDurationSeconds":1,"renewTime":"2026-11-26T08:00:02.000000Z",)"
           R"("leaseTransitions":)" +
           std::to_string(transitions) + '}';
  };
  const auto away = told(givenIn(7), record());
  ASSERT_TRUE(away);
  EXPECT_FALSE(away->released) << "our holder may live";
  EXPECT_EQ(away->leaseDuration, 9000ms) << "the longest that our term has stated";
  EXPECT_EQ(away->holder, "me#1 (given away by another client)");
  EXPECT_TRUE(away->token.isNone());
  EXPECT_EQ(told(givenIn(7), without(without(record(), "lease-ms"), "open-lease-ms"))->leaseDuration, unstatedLease);
  EXPECT_TRUE(told(givenIn(8), record())->released) << "it had the Lease itself since";
  EXPECT_FALSE(told(givenIn(0), record())->released) << "somebody had emptied the spec before";
  EXPECT_TRUE(told(givenIn(7), with(record(), "spec", "by hand"))->released);
  EXPECT_TRUE(told(givenIn(7), {})->released) << "it was never ours";
  const Annotations over = with(with(record(), "released", "true"), "spec", "2026-11-26T08:00:01.654321Z 7 ");
  EXPECT_TRUE(told(givenIn(7), over)->released) << "ours was over";
  const Annotations removed = with(without(without(record(), "token"), "holder"), "removed", "true");
  EXPECT_FALSE(told(givenIn(7), removed)->released) << "removed while its holder may live";
}

TEST(KubernetesRecords, aBareSpecIsNoRecordAndTheCounterTells) {
  for (const char* spec : {"{}", R"({"holderIdentity":""})", R"({"leaseTransitions":7,"leaseDurationSeconds":15})"}) {
    EXPECT_FALSE(told(spec, {})) << spec;
    const auto lease = read(spec, record());
    const ReadOutcome outcome = lease.answer();
    ASSERT_TRUE(outcome.has_value() && *outcome) << spec;
    EXPECT_EQ(**outcome, vanishedRecord(FencingToken{42}, 9000ms)) << "somebody has emptied it";
  }
}

TEST(KubernetesRecords, removedOnesAreNoneAsLongAsNobodyElseWrites) {
  const Annotations all = with(without(record(), "version"), "removed", "true");
  EXPECT_FALSE(told(ours, all));
  const auto taken = told(foreign, all);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->holder, "client-go-1");
}

TEST(KubernetesRecords, whatThisReleaseCannotHaveWrittenIsCorrupt) {
  for (const Annotations& all : {with(record(), "layout", "2"),
                                 with(record(), "layout", ""),
                                 without(record(), "holder"),
                                 with(record(), "holder", "other"),
                                 without(record(), "version"),
                                 with(record(), "version", ""),
                                 without(record(), "token"),
                                 with(record(), "token", "0"),
                                 with(record(), "token", "-1"),
                                 with(record(), "token", "41x"),
                                 with(record(), "token", " 41"),
                                 with(record(), "token", "9007199254740992"),
                                 with(record(), "token", "99999999999999999999"),
                                 without(record(), "lease-ms"),
                                 with(record(), "lease-ms", "0"),
                                 with(record(), "lease-ms", "604800001"),
                                 with(record(), "lease-ms", "1.5"),
                                 with(record(), "released", "false"),
                                 with(record(), "released", "true"),
                                 with(record(), "step-down", "x"),
                                 with(record(), "data", "cGF5bG9hZA"),
                                 with(record(), "attributes", "[]"),
                                 with(record(), "attributes", R"({"a":1})")}) {
    const auto lease = read(ours, all);
    ASSERT_TRUE(lease.record.has_error());
    EXPECT_EQ(lease.record.error().errorClass, ErrorClass::corrupt) << lease.record.error().message;
    EXPECT_NE(lease.record.error().message.find("lease billing: annotation tenure.dev/"), std::string::npos);
    EXPECT_NE(lease.record.error().message.find("tenure fence recover"), std::string::npos);
    // The same under another client's spec is that client's record.
    EXPECT_EQ(told(foreign, all)->holder, "client-go-1");
  }
}

TEST(KubernetesRecords, aCounterThatIsNotUnderstoodLetsNobodyAcquire) {
  for (const Annotations& all : {with(record(), "counter", "x"), with(record(), "counter", "9007199254740992"),
                                 with(record(), "open-lease-ms", "-1"), with(record(), "layout", "2")}) {
    const auto lease = read(foreign, all);
    EXPECT_TRUE(lease.record.has_value()) << "a record of others is never corrupt";
    ASSERT_TRUE(lease.counter.has_error());
    EXPECT_EQ(lease.counter.error().errorClass, ErrorClass::corrupt);
  }
  EXPECT_EQ(*read(foreign, {}).counter, Counter{}) << "none";
}

TEST(KubernetesRecords, thingsForPeopleDecideNothing) {
  const auto found = told(ours, with(with(without(record(), "renewed-ms"), "acquired-ms", "x"), "beacon", "1 2"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->acquiredAtMillis, 0);
  EXPECT_EQ(found->renewedAtMillis, 0);
  EXPECT_FALSE(found->livenessFile);
}

TEST(KubernetesRecords, electionsByKubernetesItselfAreRefusedByName) {
  for (const std::string& rest : {std::string{"}"}, ours.substr(1), foreign.substr(1)}) {
    const std::string spec = R"({"strategy":"OldestEmulationVersion")" + (rest == "}" ? rest : "," + rest);
    const auto lease = read(spec, record());
    ASSERT_TRUE(lease.record.has_error()) << spec;
    EXPECT_EQ(lease.record.error().errorClass, ErrorClass::corrupt);
    EXPECT_NE(lease.record.error().message.find("spec.strategy \"OldestEmulationVersion\""), std::string::npos)
        << lease.record.error().message;
    EXPECT_TRUE(tokensIn({where, billing}, leaseOf("billing", spec, record())).has_error());
  }
}

TEST(KubernetesRecords, aPreferredHolderIsAWishToStepDown) {
  const auto stepDown = [](const std::string& preferred) {
    const std::string spec = ours.substr(0, ours.size() - 1) + R"(,"preferredHolder":")" + preferred + "\"}";
    return (*read(spec, record()).record)->stepDown;
  };
  EXPECT_EQ(stepDown("other"), FencingToken{41});
  EXPECT_EQ(stepDown("me#1"), FencingToken{}) << "the holder itself";
  EXPECT_EQ((*read(ours, with(record(), "step-down", "41")).record)->stepDown, FencingToken{41});
}

TEST(KubernetesRecords, anObjectThatIsAnotherLeasesByItsAnnotationIsRefused) {
  const std::string object = "billing-12345678";
  const LeaseObject other = leaseOf(object, foreign, {{"tenure.dev/name", "Billing"}});
  for (const LeaseKey& key : {LeaseKey{object}, LeaseKey{"BILLING"}}) {
    const auto lease = storedIn({where, key}, other);
    ASSERT_TRUE(lease.record.has_error());
    EXPECT_NE(lease.record.error().message.find("lease \"Billing\""), std::string::npos)
        << lease.record.error().message;
  }
  EXPECT_FALSE(leaseIn(other)) << "and it is not in the object of that name";
  EXPECT_EQ(leaseIn(leaseOf("billing", "{}")), billing);
}

TEST(KubernetesRecords, transitionsCountWhereTheyAreAboveEveryRevision) {
  EXPECT_EQ(read(R"({"holderIdentity":"x","leaseTransitions":2147483647})", {}).revision, 2147483647U);
}

TEST(KubernetesRecords, termsAreToldApart) {
  const auto termOf = [](const std::string& spec, const Annotations& all) {
    const LeaseObject object = leaseOf("billing", spec, all);
    return termIn(object, storedIn({where, billing}, object));
  };
  EXPECT_EQ(termOf(ours, record()), "41");
  EXPECT_EQ(termOf(foreign, record()), "client-go-1 8");
  EXPECT_EQ(termOf(given, {}), "");
  EXPECT_EQ(termOf("{}", {}), "");
  EXPECT_EQ(termOf(ours, with(record(), "token", "x")), "") << "nobody knows";
}

TEST(KubernetesRecords, aLeaseOfAllTimeIsTheLongestOneToAnOperator) {
  for (const char* millis : {"604800001", "9223372036854775807", "99999999999999999999"}) {
    const LeaseObject object = leaseOf("billing", ours, with(record(), "lease-ms", millis));
    EXPECT_EQ(tokensIn({where, billing}, object)->lease, maxRecordLease) << millis;
  }
  const std::string forEver = R"({"holderIdentity":"other","leaseDurationSeconds":9223372036854775807})";
  EXPECT_EQ(tokensIn({where, billing}, leaseOf("billing", forEver, {}))->lease, maxRecordLease);
}

TEST(KubernetesRecords, operatorsSeeTokensAsTheyAreWritten) {
  const auto tokensOf = [](const std::string& spec, const Annotations& all) {
    return tokensIn({where, billing}, leaseOf("billing", spec, all));
  };
  EXPECT_EQ(*tokensOf(ours, with(record(), "token", "4611686018427387904")),
            (StoredTokens{"42", "4611686018427387904", "v-1", "me#1", false, 9000ms}));
  EXPECT_EQ(*tokensOf(foreign, {}),
            (StoredTokens{"", "", "2026-11-26T08:00:09.000000Z 221 client-go-1", "client-go-1", false, 15s}));
  EXPECT_EQ(*tokensOf("{}", record()), (StoredTokens{"42", "", "", "", false, 9000ms}));
  EXPECT_EQ(tokensOf("{}", with({}, "counter", ""))->counter, "(empty)");
  EXPECT_TRUE(tokensOf(ours, without(record(), "version")).has_error()) << "no version to condition a change on";
}

}  // namespace
}  // namespace tenure::kubernetes_store
