// Beside client-go and others on one Lease.

#include <tenure/testing/manual_runtime.hpp>

#include "stores/kubernetes/store_case.hpp"

namespace tenure::kubernetes_store {
namespace {

using namespace std::chrono_literals;

const std::string nine = "2026-11-26T09:00:00.000000Z";
const std::string nineAndTwo = "2026-11-26T09:00:02.000000Z";

class KubernetesForeign : public KubernetesStoreCase {
 protected:
  [[nodiscard]] boost::json::object spec() {
    const std::lock_guard lock{api_->mutex};
    return api_->server.leases().at("lease")->at("spec").get_object();
  }
};

TEST_F(KubernetesForeign, aTakeoverByClientGoEndsOurTermAndOursComesAfterIt) {
  const RecordVersion version = take();
  const FencingToken own = store_.record(key_).token;
  takeAsClientGo("client-go-1", nine);
  const WriteOutcome beat = store_.write(renew(key_, "a", {version}));
  const auto* conflict = std::get_if<Conflict>(&beat);
  ASSERT_NE(conflict, nullptr) << contract::describe(beat);
  const LeaseRecord theirs = **conflict->current;
  EXPECT_EQ(theirs.holder, "client-go-1");
  EXPECT_TRUE(theirs.token.isNone());
  const Applied taken = store_.apply(acquire(key_, "a", {theirs.version}));
  EXPECT_GT(taken.token, own);
  EXPECT_GT(taken.token, FencingToken{40}) << "the transitions that it had counted";
  EXPECT_EQ(taken.warning, "") << "the counter was never lost";
}

TEST_F(KubernetesForeign, eachOfItsRenewalsIsAnotherVersion) {
  static_cast<void>(take());
  takeAsClientGo("client-go-1", nine);
  const RecordVersion seen = store_.record(key_).version;
  takeAsClientGo("client-go-1", nineAndTwo);
  EXPECT_NE(store_.record(key_).version, seen);
  EXPECT_TRUE(std::holds_alternative<Conflict>(store_.write(acquire(key_, "a", {seen}))));
}

/// Its spec may be as it was and its holder alive: nothing else tells its renewals apart than the resourceVersion.
TEST_F(KubernetesForeign, aLabelThatSomebodyWroteMeanwhilePostponesATakeover) {
  static_cast<void>(take());
  takeAsClientGo("client-go-1", nine);
  const RecordVersion seen = store_.record(key_).version;
  label("1");
  EXPECT_TRUE(std::holds_alternative<Conflict>(store_.write(acquire(key_, "a", {seen}))));
  store_.apply(acquire(key_, "a", {store_.record(key_).version}));
}

TEST_F(KubernetesForeign, whatItGivesBackIsFree) {
  static_cast<void>(take());
  takeAsClientGo("", nine);
  const LeaseRecord given = store_.record(key_);
  EXPECT_TRUE(given.released);
  store_.apply(acquire(key_, "a", {given.version}));
}

/// client-go 0.37 gives a Lease back that another one holds by now, if it has held it once.
TEST_F(KubernetesForeign, whatItGivesAwayOfOursIsNotTakenBeforeOurLeaseIsOver) {
  const RecordVersion version = take();
  const std::int64_t transitions = spec().at("leaseTransitions").as_int64();
  takeAsClientGo("", nine);
  edit([&](auto& lease) { lease["spec"].get_object()["leaseTransitions"] = transitions; });
  const LeaseRecord seen = store_.record(key_);
  EXPECT_FALSE(seen.released);
  EXPECT_EQ(seen.leaseDuration, 10s);
  EXPECT_TRUE(contract::isConflictWith(store_.write(renew(key_, "a", {version})), seen)) << "its holder is told";
  store_.apply(acquire(key_, "b", {seen.version}));
}

TEST_F(KubernetesForeign, nobodyHoldsATermByAnothersRecord) {
  static_cast<void>(take());
  takeAsClientGo("a", nine);  // the very name of ours
  const LeaseRecord theirs = store_.record(key_);
  EXPECT_TRUE(contract::isConflictWith(store_.write(renew(key_, "a", {theirs.version})), theirs));
  EXPECT_TRUE(contract::isConflictWith(store_.write(release(key_, "a", {theirs.version})), theirs));
  EXPECT_TRUE(contract::isConflictWith(store_.requestStepDown(key_, FencingToken{}), theirs));
}

TEST_F(KubernetesForeign, aLeaseThatItMadeIsOursWhenItsTimeIsOver) {
  {
    const std::lock_guard lock{api_->mutex};
    const std::string made = R"({"metadata":{"name":"lease"},"spec":{"holderIdentity":"client-go-1",)"
                             R"("leaseDurationSeconds":15,"renewTime":"2026-11-26T09:00:00.000000Z",)"
                             R"("leaseTransitions":3}})";
    static_cast<void>(api_->server.handle("POST", "/apis/coordination.k8s.io/v1/namespaces/default/leases", made));
  }
  EXPECT_TRUE(store_.listKeys("").empty()) << "it has no label of ours";
  const LeaseRecord theirs = store_.record(key_);
  EXPECT_EQ(theirs.leaseDuration, 15s);
  EXPECT_TRUE(std::holds_alternative<Conflict>(store_.write(acquire(key_, "a")))) << "there is a record";
  store_.apply(acquire(key_, "a", {theirs.version}));
  EXPECT_EQ(store_.listKeys(""), std::vector<LeaseKey>{key_});
  EXPECT_EQ(spec().at("leaseTransitions").as_int64(), 4);
}

TEST_F(KubernetesForeign, thePayloadOutlivesItsTerms) {
  WriteRequest mine = acquire(key_, "a");
  mine.record.data = "payload";
  store_.apply(mine);
  takeAsClientGo("client-go-1", nine);
  store_.apply(acquire(key_, "b", {store_.record(key_).version}));
  EXPECT_EQ(store_.record(key_).data, "payload");
}

TEST_F(KubernetesForeign, aRecordOfItsIsRemovedLikeAnyOther) {
  static_cast<void>(take());
  takeAsClientGo("client-go-1", nine);
  ASSERT_TRUE(std::holds_alternative<Applied>(store_.remove(key_, store_.record(key_).version)));
  const auto left = store_.read(key_);
  ASSERT_TRUE(left && left->vanished) << "its holder may live";
  EXPECT_EQ(left->leaseDuration, 15s);
  EXPECT_EQ(spec().at("holderIdentity").as_string(), "client-go-1") << "other candidates of client-go wait for it";
}

TEST_F(KubernetesForeign, electionsByKubernetesItselfAreRefusedByName) {
  const RecordVersion version = take();
  edit([](auto& lease) { lease["spec"].get_object()["strategy"] = "OldestEmulationVersion"; });
  for (const WriteOutcome& outcome : {store_.write(acquire(key_, "b")), store_.write(renew(key_, "a", {version})),
                                      store_.remove(key_, version), store_.requestStepDown(key_, FencingToken{1})}) {
    const auto* rejected = std::get_if<Rejected>(&outcome);
    ASSERT_NE(rejected, nullptr) << contract::describe(outcome);
    EXPECT_NE(rejected->error.message.find("coordinated leader election"), std::string::npos);
  }
}

TEST_F(KubernetesForeign, aLeaseWhoseNameIsWrittenAsAnothersIsRefused) {
  const LeaseKey odd{"Lease!"};
  store_.apply(acquire(odd, "a"));
  std::string object;
  {
    const std::lock_guard lock{api_->mutex};
    object = api_->server.leases().begin()->first;
  }
  const WriteOutcome outcome = store_.write(acquire({object}, "b"));
  const auto* rejected = std::get_if<Rejected>(&outcome);
  ASSERT_NE(rejected, nullptr) << contract::describe(outcome);
  EXPECT_NE(rejected->error.message.find("lease \"Lease!\""), std::string::npos) << rejected->error.message;
  EXPECT_EQ(store_.listKeys(""), std::vector<LeaseKey>{odd});
}

/// client-go compares whole seconds, and counts its own clock from when it saw another one. So between any two renewals
/// that are a second or more apart the seconds differ, whatever the wall clock does.
TEST(KubernetesRenewals, areSeenByClientGoWhateverTheWallClockDoes) {
  const auto api = std::make_shared<test::SharedApiServer>();
  const auto scheduler = std::make_shared<test::ManualScheduler>();
  const auto store = makeStore({"default"}, {std::make_shared<test::MemoryApiGateway>(api, scheduler), {}, scheduler});
  const LeaseKey key{"lease"};
  RecordVersion last;
  const auto write = [&](WriteRequest request) {
    std::optional<WriteOutcome> outcome;
    last = request.record.version;
    store->write(std::move(request), {10s}, [&](WriteOutcome given) { outcome = std::move(given); });
    scheduler->runReady();
    ASSERT_TRUE(outcome && std::holds_alternative<Applied>(*outcome)) << contract::describe(*outcome);
  };
  const auto renewTime = [&] {
    const std::lock_guard lock{api->mutex};
    return std::string{api->server.leases().at("lease")->at("spec").at("renewTime").as_string()};
  };
  WriteRequest first = acquire(key, "a");
  first.record.leaseDuration = 2s;
  first.record.renewedAtMillis = 1'795'680'318'900;
  write(first);
  std::vector<std::string> times{renewTime()};
  for (int beat = 1; beat <= 8; ++beat) {
    scheduler->advance(500ms);
    WriteRequest request = renew(key, "a", {last});
    request.record.leaseDuration = 2s;
    request.record.renewedAtMillis = 1'000'000'000'000 + beat;  // set back by decades
    write(request);
    times.push_back(renewTime());
  }
  EXPECT_EQ(times[0], "2026-11-26T08:05:18.900000Z");
  EXPECT_EQ(times[1], "2026-11-26T08:05:19.400000Z");
  EXPECT_EQ(times[8], "2026-11-26T08:05:22.900000Z");
  for (std::size_t i = 2; i < times.size(); ++i) {
    EXPECT_NE(times[i].substr(0, 19), times[i - 2].substr(0, 19)) << "client-go would take it for no renewal";
  }
  const std::lock_guard lock{api->mutex};
  EXPECT_EQ(api->server.leases().at("lease")->at("spec").at("leaseDurationSeconds").as_int64(), 3);
}

}  // namespace
}  // namespace tenure::kubernetes_store
