// Writes through the store under answers that a real cluster gives rarely: what is believed, and what is asked.
#include <gtest/gtest.h>

#include "contract/store_calls.hpp"
#include "lockcore/stores/etcd/src/keys.hpp"
#include "lockcore/stores/etcd/src/store.hpp"
#include "stores/etcd/memory_gateway.hpp"

namespace tenure::etcd_store {
namespace {

using contract::acquire;
using contract::release;
using contract::renew;
using test::EtcdAnswer;

class EtcdWrites : public testing::Test {
 protected:
  Outcome replied(const EtcdAnswer& answer, bool copiesOut = false) {
    return Reply{answer.status, answer.body, "http://member", copiesOut};
  }
  /// Each request is answered so, and carried out before if `applied`.
  void answerWith(EtcdAnswer answer, bool applied, bool copiesOut = false) {
    gateway_->setFault([this, answer, applied, copiesOut](const std::string&, const auto& cluster) {
      if (applied) static_cast<void>(cluster());
      return replied(answer, copiesOut);
    });
  }
  RecordVersion take() {
    store_.apply(acquire(key_, "a"));
    return store_.record(key_).version;
  }

  const LeaseKey key_{"lease"};
  const std::shared_ptr<test::SharedEtcd> etcd_ = std::make_shared<test::SharedEtcd>();
  const std::shared_ptr<test::MemoryGateway> gateway_ = std::make_shared<test::MemoryGateway>(etcd_);
  const std::shared_ptr<contract::CallLedger> ledger_ = std::make_shared<contract::CallLedger>();
  const contract::StoreCalls store_{makeStore("/tenure", {gateway_, {}, sharedScheduler()}), ledger_};
};

/// A renewal sends the record twice, and has room for it.
TEST_F(EtcdWrites, aPayloadIsMeasuredAsItIsSent) {
  const std::string lines(std::size_t{150} << 10U, '\n');
  EXPECT_FALSE(store_.raw().faultsOfPayload(key_, {}, {{"ids", lines + std::string(lines.size(), '\x01')}}).empty());
  const std::map<std::string, std::string> most{{"ids", std::string(std::size_t{499} << 10U, 'x')}};
  EXPECT_TRUE(store_.raw().faultsOfPayload(key_, {}, most).empty());
  EXPECT_TRUE(store_.raw().faultsOfPayload(key_, std::string(std::size_t{500} << 10U, 'x'), {}).empty());
}

TEST_F(EtcdWrites, aHeartbeatIsOneRequestAndAnAcquisitionTwoAndTheFirstThree) {
  const contract::StoreCalls first{makeStore("/tenure", {gateway_, {}, sharedScheduler()}), ledger_};
  first.apply(acquire(key_, "x"));
  EXPECT_EQ(gateway_->bodies().size(), 3U);
  store_.apply(acquire(key_, "a", {store_.record(key_).version}));
  EXPECT_EQ(gateway_->bodies().size(), 3U + 1 + 2) << "the record was read above";
  const RecordVersion version = store_.record(key_).version;
  WriteRequest beat = renew(key_, "a", {version});
  const std::size_t before = gateway_->bodies().size();
  store_.apply(beat);
  EXPECT_EQ(gateway_->bodies().size(), before + 1);
  WriteRequest longer = renew(key_, "a", {beat.record.version});
  longer.record.leaseDuration *= 2;
  longer.lengthens = true;
  store_.apply(longer);
  EXPECT_EQ(gateway_->bodies().size(), before + 2);
  store_.apply(release(key_, "a", {longer.record.version}));
  EXPECT_EQ(gateway_->bodies().size(), before + 3);
}

TEST_F(EtcdWrites, theAcquisitionOfAReleasedLeaseThatIsWatchedIsOneRequest) {
  const auto watching = store_.raw().watch(key_, [] {});
  const RecordVersion version = take();
  const WriteRequest end = release(key_, "a", {version});
  store_.apply(end);
  static_cast<void>(store_.record(key_));
  const std::size_t before = gateway_->bodies().size();
  store_.apply(acquire(key_, "b", {end.record.version}));
  EXPECT_EQ(gateway_->bodies().size(), before + 1);
}

TEST_F(EtcdWrites, tokensRiseWhereEveryKeyWasMadeAnewSinceAReleasedLeaseWasRead) {
  const contract::StoreCalls other{
      makeStore("/tenure", {std::make_shared<test::MemoryGateway>(etcd_), {}, sharedScheduler()}), ledger_};
  const auto watching = store_.raw().watch(key_, [] {});
  const WriteRequest end = release(key_, "a", {take()});
  store_.apply(end);
  static_cast<void>(store_.record(key_));
  {
    const std::lock_guard lock{etcd_->mutex};
    etcd_->cluster.erase("/tenure/lease/lease");
    etcd_->cluster.erase("/tenure/fence/lease");
  }
  const FencingToken between = other.apply(acquire(key_, "b")).token;
  {
    const std::lock_guard lock{etcd_->mutex};
    etcd_->cluster.erase("/tenure/lease/lease");
    etcd_->cluster.erase("/tenure/fence/lease");
  }
  EXPECT_FALSE(std::holds_alternative<Applied>(store_.write(acquire(key_, "c", {end.record.version}))));
  EXPECT_GT(store_.apply(acquire(key_, "c")).token, between);
}

TEST_F(EtcdWrites, anotherProcessMayHaveAskedForAStepDownInBetween) {
  const RecordVersion version = take();
  const contract::StoreCalls operatorStore{
      makeStore("/tenure", {std::make_shared<test::MemoryGateway>(etcd_), {}, sharedScheduler()}), ledger_};
  const FencingToken token = store_.record(key_).token;
  ASSERT_TRUE(std::holds_alternative<Applied>(operatorStore.requestStepDown(key_, token)));
  const std::size_t before = gateway_->bodies().size();
  EXPECT_TRUE(store_.apply(renew(key_, "a", {version})).stepDownRequested);
  EXPECT_EQ(gateway_->bodies().size(), before + 2) << "the first one met another revision";
}

TEST_F(EtcdWrites, aSuccessThatDoesNotShowTheWriteIsUnknown) {
  const RecordVersion version = take();
  const std::string header = R"({"header":{"revision":"99"},"succeeded":true)";
  const std::string put = R"({"response_put":{"header":{"revision":"99"}}})";
  for (const std::string& body : {std::string{"{}"}, std::string{}, std::string{"ok"}, header + "}",
                                  header + R"(,"responses":[]})", header + R"(,"responses":[)" + put + "," + put + "]}",
                                  header + R"(,"responses":[{"response_range":{"header":{"revision":"99"}}}]})",
                                  header + R"(,"responses":[{"response_delete_range":{"header":{},"deleted":"1"}}]})",
                                  R"({"header":{"revision":"1"},"succeeded":true,"responses":[)" + put + "]}",
                                  R"({"header":{"revision":"99"},"responses":[)" + put + "]}"}) {
    answerWith({200, body}, false);
    const WriteOutcome outcome = store_.write(renew(key_, "a", {version}));
    EXPECT_TRUE(std::holds_alternative<Unknown>(outcome)) << body << ": " << contract::describe(outcome);
  }
  gateway_->setFault({});
  EXPECT_EQ(store_.record(key_).version, version);
}

/// The store neither believes it nor takes a key for absent.
TEST_F(EtcdWrites, anAnswerToAReadThatIsNoneIsNotUnderstood) {
  static_cast<void>(take());
  const std::string put = R"({"response_put":{"header":{"revision":"99"}}})";
  const std::string absent = R"({"response_range":{"header":{"revision":"99"}}})";
  const std::string other =
      R"({"response_range":{"header":{"revision":"99"},"kvs":[{"key":"L290aGVy","create_revision":"9",)"
      R"("mod_revision":"9","version":"1","value":"e30="}],"count":"1"}})";
  for (const std::string& parts :
       {put + "," + put, absent + "," + put, put + "," + absent, absent + "," + other, other + "," + absent, absent}) {
    answerWith({200, R"({"header":{"revision":"99"},"succeeded":true,"responses":[)" + parts + "]}"}, false);
    EXPECT_TRUE(store_.startRead(key_)->get().has_error()) << parts;
  }
}

TEST_F(EtcdWrites, withoutAnAnswerAWriteIsUnknownUnlessNothingWasSent) {
  const RecordVersion version = take();
  for (const bool sent : {true, false}) {
    gateway_->setFault([sent](const std::string&, const auto&) -> Outcome {
      return CallFault{{ErrorClass::transient, "no member answered"}, sent};
    });
    const WriteOutcome outcome = store_.write(renew(key_, "a", {version}));
    EXPECT_EQ(std::holds_alternative<Unknown>(outcome), sent) << contract::describe(outcome);
    EXPECT_EQ(std::holds_alternative<Rejected>(outcome), !sent) << contract::describe(outcome);
  }
}

TEST_F(EtcdWrites, rejectionsAndDoubtAreToldApart) {
  const RecordVersion version = take();
  const auto outcomeOf = [&](const EtcdAnswer& answer, bool copiesOut) {
    answerWith(answer, false, copiesOut);
    return store_.write(renew(key_, "a", {version}));
  };
  const EtcdAnswer denied = test::EtcdCluster::error(403, 7, "etcdserver: permission denied");
  EXPECT_TRUE(std::holds_alternative<Rejected>(outcomeOf(denied, false)));
  EXPECT_TRUE(std::holds_alternative<Unknown>(outcomeOf(denied, true))) << "a copy is out";
  const EtcdAnswer late = test::EtcdCluster::error(503, 14, "etcdserver: request timed out");
  EXPECT_TRUE(std::holds_alternative<Unknown>(outcomeOf(late, false)));
}

TEST_F(EtcdWrites, theOneThatFillsTheDatabaseMayBeCarriedOut) {
  const RecordVersion version = take();
  gateway_->setFault([this](const std::string&, const auto& cluster) {
    static_cast<void>(cluster());
    return replied(test::EtcdCluster::error(429, 8, "etcdserver: mvcc: database space exceeded"), false);
  });
  const WriteOutcome outcome = store_.write(renew(key_, "a", {version}));
  EXPECT_TRUE(std::holds_alternative<Unknown>(outcome)) << contract::describe(outcome);
  gateway_->setFault(nullptr);
  const WriteOutcome next = store_.write(renew(key_, "a", {version}));
  EXPECT_TRUE(std::holds_alternative<Conflict>(next)) << "it was written: " << contract::describe(next);
}

TEST_F(EtcdWrites, aCopyThatWasCarriedOutIsSeenByItsVersion) {
  const RecordVersion version = take();
  bool first = true;
  // The first member carries it out and does not answer; the second one answers.
  gateway_->setFault([&](const std::string&, const auto& cluster) {
    if (std::exchange(first, false)) static_cast<void>(cluster());
    return replied(cluster(), true);
  });
  WriteRequest beat = renew(key_, "a", {version});
  const WriteOutcome outcome = store_.write(beat);
  const auto* conflict = std::get_if<Conflict>(&outcome);
  ASSERT_NE(conflict, nullptr) << contract::describe(outcome);
  EXPECT_EQ((*conflict->current)->version, beat.record.version) << "its holder knows it as its own";
}

/// Both keys deleted by hand while a copy of an acquisition is out: it must not be carried out as if it were the first.
TEST_F(EtcdWrites, aLateAcquisitionIsNotCarriedOutIfBothKeysWereDeleted) {
  std::vector<std::string> copies;
  gateway_->setFault([&](const std::string& body, const auto& cluster) {
    copies.push_back(body);
    return replied(cluster());
  });
  const FencingToken token = store_.apply(acquire(key_, "a")).token;
  gateway_->setFault({});
  const std::lock_guard lock{etcd_->mutex};
  etcd_->cluster.erase("/tenure/lease/lease");
  etcd_->cluster.erase("/tenure/fence/lease");
  for (const std::string& body : copies) static_cast<void>(etcd_->cluster.txn(body));
  EXPECT_FALSE(etcd_->cluster.keys().contains("/tenure/lease/lease")) << "the term " << toString(token) << " again";
}

TEST_F(EtcdWrites, aCopyAndARecordThatIsNotUnderstoodLeaveTheWriteUnknown) {
  const RecordVersion version = take();
  {
    const std::lock_guard lock{etcd_->mutex};
    etcd_->cluster.put("/tenure/lease/lease", "{}");
  }
  EXPECT_TRUE(std::holds_alternative<Rejected>(store_.write(renew(key_, "a", {version}))));
  gateway_->setFault([&](const std::string&, const auto& cluster) { return replied(cluster(), true); });
  EXPECT_FALSE(std::holds_alternative<Applied>(store_.write(renew(key_, "a", {version}))));
}

TEST_F(EtcdWrites, tokensGoOnFromTheRevisionWhenEveryKeyIsGone) {
  static_cast<void>(take());
  const FencingToken before = store_.record(key_).token;
  {
    const std::lock_guard lock{etcd_->mutex};
    etcd_->cluster.erase("/tenure/lease/lease");
    etcd_->cluster.erase("/tenure/fence/lease");
  }
  EXPECT_GT(store_.apply(acquire(key_, "b")).token, before);
}

/// What a candidate believed when the keys were there must not keep it from the lease when they are gone.
TEST_F(EtcdWrites, aReportedTokenIsMeasuredFromTheRevisionWhenEveryKeyIsGone) {
  const FencingToken token = store_.apply(acquire(key_, "a")).token;
  {
    const std::lock_guard lock{etcd_->mutex};
    etcd_->cluster.erase("/tenure/lease/lease");
    etcd_->cluster.erase("/tenure/fence/lease");
  }
  WriteRequest next = acquire(key_, "b");
  next.tokenFloor = FencingToken{token.value() + maxReportedStep};
  EXPECT_EQ(store_.apply(next).token, next.tokenFloor.next());
}

TEST_F(EtcdWrites, listsManyLeasesInPages) {
  for (int i = 0; i < 230; ++i) store_.apply(acquire({"lease-" + std::to_string(1000 + i)}, "a"));
  const auto pages = store_.listPages("lease-");
  ASSERT_EQ(pages.size(), 3U);
  EXPECT_EQ(pages[0].leases.size(), 100U);
  EXPECT_EQ(pages[2].leases.size(), 30U);
  EXPECT_EQ(store_.listKeys("lease-").size(), 230U);
  {
    const std::lock_guard lock{etcd_->mutex};
    etcd_->cluster.erase("/tenure/fence/lease-1007");
  }
  for (const ListedLease& lease : store_.list("lease-100")) {
    EXPECT_EQ(lease.warning.empty(), lease.key.name != "lease-1007") << lease.key.name << lease.warning;
  }
}

}  // namespace
}  // namespace tenure::etcd_store
