// A record vanishes while its term may still run. The fencing counter states the lease of that term until the term ends
// cleanly, so that a later candidate waits as it would for the record.
#include <barrier>
#include <thread>

#include "contract/store_contract.hpp"

namespace tenure::contract {
namespace {

using std::chrono::milliseconds;

WriteRequest renewFor(const LeaseKey& key, const RecordVersion& seen, milliseconds lease, bool lengthens) {
  WriteRequest request = renew(key, "a", {seen});
  request.record.leaseDuration = lease;
  request.lengthens = lengthens;
  return request;
}

}  // namespace

TEST_P(StoreRemoveContract, aRemovedRecordOfAHolderIsToldAsVanished) {
  const LeaseKey key{"lease"};
  store().apply(acquire(key, "a"));
  const LeaseRecord record = store().record(key);
  ASSERT_TRUE(std::holds_alternative<Applied>(other().remove(key, record.version)));
  const LeaseRecord vanished = vanishedRecord(record.token, record.leaseDuration);
  EXPECT_TRUE(sameRecord(store().record(key), vanished));
  EXPECT_EQ(other().listKeys(""), std::vector<LeaseKey>{}) << "a listing has records only";
  EXPECT_TRUE(isConflictWith(store().write(renew(key, "a", {record.version})), vanished));
  EXPECT_TRUE(isConflictWith(store().write(renew(key, vanished.holder, {vanished.version})), vanished));
  EXPECT_TRUE(isConflictWith(store().write(release(key, "a", {record.version})), vanished));
  EXPECT_TRUE(isConflictWith(store().requestStepDown(key, record.token), vanished));
  EXPECT_TRUE(isConflictWith(other().remove(key, vanished.version), vanished));
  EXPECT_TRUE(sameRecord(other().record(key), vanished));
}

TEST_P(StoreRemoveContract, aVanishedRecordIsAcquiredByItsVersionOnly) {
  const LeaseKey key{"lease"};
  const FencingToken first = store().apply(acquire(key, "a")).token;
  const LeaseRecord record = store().record(key);
  ASSERT_TRUE(std::holds_alternative<Applied>(other().remove(key, record.version)));
  const LeaseRecord vanished = vanishedRecord(first, record.leaseDuration);
  const std::vector<std::vector<RecordVersion>> wrong{{},
                                                      {record.version},
                                                      {vanishedVersion(first.next(), record.leaseDuration)},
                                                      {vanishedVersion(FencingToken{}, record.leaseDuration)},
                                                      {vanishedVersion(first, record.leaseDuration + milliseconds{1})},
                                                      {vanishedVersion(first, milliseconds{0})}};
  for (const auto& expected : wrong) {
    EXPECT_TRUE(isConflictWith(other().write(acquire(key, "b", expected)), vanished));
  }
  const Applied taken = other().apply(acquire(key, "b", {vanished.version}));
  EXPECT_GT(taken.token, first);
  EXPECT_EQ(taken.warning, "") << "the counter was never lost";
  EXPECT_EQ(store().record(key).holder, "b");
  EXPECT_FALSE(store().record(key).vanished);
  EXPECT_TRUE(isConflictWith(other().write(acquire(key, "c", {vanished.version})), store().record(key)));
}

TEST_P(StoreRemoveContract, oneOfTwoWinsAVanishedLease) {
  const LeaseKey key{"lease"};
  store().apply(acquire(key, "a"));
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(std::holds_alternative<Applied>(other().remove(key, store().record(key).version)));
    const RecordVersion seen = store().record(key).version;
    std::barrier start{2};
    std::optional<WriteOutcome> rivals;
    std::thread rival{[&] {
      start.arrive_and_wait();
      rivals = other().write(acquire(key, "c", {seen}));
    }};
    start.arrive_and_wait();
    const WriteOutcome own = store().write(acquire(key, "b", {seen}));
    rival.join();
    ASSERT_NE(std::holds_alternative<Applied>(own), std::holds_alternative<Applied>(*rivals))
        << describe(own) << "; " << describe(*rivals);
  }
}

TEST_P(StoreRemoveContract, aReleasedRecordThatIsRemovedLeavesNoOpenTerm) {
  const LeaseKey key{"lease"};
  const FencingToken first = store().apply(acquire(key, "a")).token;
  store().apply(release(key, "a", {store().record(key).version}));
  ASSERT_TRUE(std::holds_alternative<Applied>(other().remove(key, store().record(key).version)));
  EXPECT_EQ(store().read(key), std::nullopt);
  EXPECT_TRUE(isConflictWith(store().write(acquire(key, "b", {vanishedVersion(first, milliseconds{10'000})})), {}));
  EXPECT_GT(other().apply(acquire(key, "b")).token, first);
}

TEST_P(StoreContract, aReleaseThatRemovesLeavesNoOpenTerm) {
  const LeaseKey key{"lease"};
  FencingToken last;
  for (const bool lengthened : {false, true}) {
    last = store().apply(acquire(key, "a")).token;
    if (lengthened) store().apply(renewFor(key, store().record(key).version, milliseconds{40'000}, true));
    WriteRequest removing = release(key, "a", {store().record(key).version});
    removing.removes = true;
    EXPECT_EQ(store().apply(removing).token, last);
    EXPECT_EQ(other().read(key), std::nullopt);
    EXPECT_TRUE(isConflictWith(store().write(removing), std::nullopt));
  }
  EXPECT_GT(other().apply(acquire(key, "b")).token, last);
}

TEST_P(StoreContract, aRenewalThatLengthensKeepsTheTermAndItsPayload) {
  const LeaseKey key{"lease"};
  WriteRequest first = acquire(key, "a");
  first.record.data = "payload";
  const FencingToken token = store().apply(first).token;
  ASSERT_TRUE(std::holds_alternative<Applied>(other().requestStepDown(key, token)));
  WriteRequest longer = renewFor(key, first.record.version, milliseconds{30'000}, true);
  LeaseRecord expected = longer.record;
  const Applied applied = store().apply(longer);
  EXPECT_EQ(applied.token, token);
  EXPECT_TRUE(applied.stepDownRequested) << "it is a heartbeat like any other";
  expected.token = token;
  expected.data = "payload";
  EXPECT_TRUE(sameRecord(other().record(key), expected));
  EXPECT_TRUE(isConflictWith(store().write(longer), expected)) << "its own first copy";
  WriteRequest foreign = longer;
  foreign.record.holder = "b";
  foreign.expected = {expected.version};
  foreign.record.version = newVersion();
  EXPECT_TRUE(isConflictWith(other().write(foreign), expected)) << "not the holder";
  const LeaseKey nobody{"nobody"};
  EXPECT_TRUE(isConflictWith(store().write(renewFor(nobody, newVersion(), milliseconds{30'000}, true)), std::nullopt));
  EXPECT_EQ(store().read(nobody), std::nullopt);
}

TEST_P(StoreOperatorContract, anErasedRecordOfAHolderIsToldAsVanished) {
  const LeaseKey key{"lease"};
  const FencingToken token = store().apply(acquire(key, "a")).token;
  const LeaseRecord record = store().record(key);
  fixture().eraseRecord(key);
  const LeaseRecord vanished = vanishedRecord(token, record.leaseDuration);
  EXPECT_TRUE(sameRecord(store().record(key), vanished));
  EXPECT_TRUE(isConflictWith(other().write(acquire(key, "b")), vanished)) << "its holder may live";
  EXPECT_TRUE(isConflictWith(store().write(renew(key, "a", {record.version})), vanished));
  EXPECT_EQ(other().listKeys(""), std::vector<LeaseKey>{});
  EXPECT_GT(other().apply(acquire(key, "b", {vanished.version})).token, token);
}

TEST_P(StoreOperatorContract, theCounterStatesTheLongestLeaseOfTheTerm) {
  const LeaseKey key{"lease"};
  const FencingToken token = store().apply(acquire(key, "a")).token;
  store().apply(renewFor(key, store().record(key).version, milliseconds{25'000}, true));
  store().apply(renewFor(key, store().record(key).version, milliseconds{5'000}, false));
  store().apply(renewFor(key, store().record(key).version, milliseconds{6'000}, true));
  EXPECT_EQ(store().record(key).leaseDuration, milliseconds{6'000});
  fixture().eraseRecord(key);
  EXPECT_TRUE(sameRecord(other().record(key), vanishedRecord(token, milliseconds{25'000})));
  const FencingToken next = other().apply(acquire(key, "b", {vanishedVersion(token, milliseconds{25'000})})).token;
  fixture().eraseRecord(key);
  EXPECT_TRUE(sameRecord(other().record(key), vanishedRecord(next, milliseconds{10'000}))) << "of the new term";
}

}  // namespace tenure::contract
