// What others do to the data without the store: the counter never restarts silently (invariant I7), and a record that
// is not understood is never overwritten (invariant I11).
#include "contract/store_contract.hpp"

namespace tenure::contract {
namespace {

/// Not applied, with a reason. A network may have delivered a copy of the request before, and the record does not show
/// that.
bool isRefused(const WriteOutcome& outcome) {
  if (std::holds_alternative<Conflict>(outcome)) return true;
  if (const auto* unknown = std::get_if<Unknown>(&outcome)) return unknown->error.errorClass == ErrorClass::corrupt;
  const auto* rejected = std::get_if<Rejected>(&outcome);
  return rejected != nullptr && rejected->error.errorClass == ErrorClass::corrupt;
}

}  // namespace

TEST_P(StoreOperatorContract, tokensGoOnRisingAfterTheRecordWasDeleted) {
  const LeaseKey key{"lease"};
  FencingToken last = store().apply(acquire(key, "a")).token;
  for (int round = 0; round < 3; ++round) {
    const LeaseRecord record = store().record(key);
    StoreCalls& holder = round == 0 ? store() : other();
    fixture().eraseRecord(key);
    const LeaseRecord vanished = vanishedRecord(last, record.leaseDuration);
    EXPECT_TRUE(isConflictWith(holder.write(renew(key, record.holder, {record.version})), vanished));
    const Applied taken = other().apply(acquire(key, "b", {vanished.version}));
    EXPECT_GT(taken.token, last);
    last = taken.token;
  }
}

TEST_P(StoreOperatorContract, aHolderWhoseRecordWasDeletedIsToldAndCreatesNone) {
  const LeaseKey key{"lease"};
  const Applied term = store().apply(acquire(key, "a"));
  const LeaseRecord record = store().record(key);
  fixture().eraseRecord(key);
  const LeaseRecord vanished = vanishedRecord(term.token, record.leaseDuration);
  EXPECT_TRUE(isConflictWith(store().write(renew(key, "a", {record.version})), vanished));
  EXPECT_TRUE(isConflictWith(store().write(release(key, "a", {record.version})), vanished));
  EXPECT_TRUE(isConflictWith(store().requestStepDown(key, term.token), vanished));
  EXPECT_TRUE(sameRecord(store().record(key), vanished));
}

TEST_P(StoreOperatorContract, aDeletedCounterIsRestoredFromTheRecordAndSaidSo) {
  const LeaseKey key{"lease"};
  WriteRequest first = acquire(key, "a");
  first.tokenFloor = FencingToken{41};
  const FencingToken before = store().apply(std::move(first)).token;
  fixture().eraseCounter(key);
  store().apply(renew(key, "a", {store().record(key).version}));
  const Applied taken = other().apply(acquire(key, "b", {store().record(key).version}));
  EXPECT_GT(taken.token, before);
  EXPECT_NE(taken.warning, "") << "a lost counter must not be restored in silence";
  EXPECT_EQ(other().apply(acquire(key, "c", {store().record(key).version})).warning, "") << "once is enough";
}

TEST_P(StoreOperatorContract, whenRecordAndCounterAreGoneTheFloorHolds) {
  const LeaseKey key{"lease"};
  const FencingToken before = store().apply(acquire(key, "a")).token;
  const RecordVersion version = store().record(key).version;
  fixture().eraseRecord(key);
  fixture().eraseCounter(key);
  EXPECT_TRUE(isConflictWith(store().write(renew(key, "a", {version})), std::nullopt));
  WriteRequest again = acquire(key, "b");
  again.tokenFloor = before;
  EXPECT_GT(store().apply(std::move(again)).token, before);
}

TEST_P(StoreOperatorContract, aRemovalKeepsTheTokenAlsoWhereTheCounterWasErased) {
  const LeaseKey key{"lease"};
  WriteRequest first = acquire(key, "a");
  first.tokenFloor = FencingToken{41};
  const FencingToken before = store().apply(std::move(first)).token;
  store().apply(release(key, "a", {store().record(key).version}));
  fixture().eraseCounter(key);
  const WriteOutcome outcome = other().remove(key, store().record(key).version);
  ASSERT_TRUE(std::holds_alternative<Applied>(outcome)) << describe(outcome);
  EXPECT_GT(store().apply(acquire(key, "b")).token, before) << "the record was the last to know";
}

TEST_P(StoreOperatorContract, refusesAnAcquisitionRatherThanWrapTheCounter) {
  const LeaseKey key{"lease"};
  store().apply(acquire(key, "a"));
  fixture().setToken(key, maxFencingToken.value() - 1);
  EXPECT_EQ(store().apply(acquire(key, "b", {store().record(key).version})).token, maxFencingToken);
  const LeaseRecord before = store().record(key);
  const WriteOutcome outcome = store().write(acquire(key, "c", {before.version}));
  const auto* rejected = std::get_if<Rejected>(&outcome);
  ASSERT_NE(rejected, nullptr) << describe(outcome);
  EXPECT_NE(rejected->error.message.find("tenure fence recover"), std::string::npos) << describe(outcome);
  EXPECT_TRUE(sameRecord(store().record(key), before));
  store().apply(renew(key, "b", {before.version}));
}

// Nothing in this library gives out such a token; somebody wrote it, or an older release believed a report.
TEST_P(StoreOperatorContract, aTokenAboveTheGreatestIsMalformed) {
  for (const std::uint64_t token : {maxFencingToken.value() + 1, std::uint64_t{1} << 62U}) {
    const LeaseKey key{"lease-" + std::to_string(token)};
    store().apply(acquire(key, "a"));
    const RecordVersion version = store().record(key).version;
    fixture().setToken(key, token);
    const ReadOutcome read = other().startRead(key)->get();
    ASSERT_TRUE(read.has_error());
    EXPECT_EQ(read.error().errorClass, ErrorClass::corrupt) << read.error().message;
    EXPECT_NE(read.error().message.find("tenure fence recover"), std::string::npos) << read.error().message;
    EXPECT_TRUE(isRefused(other().write(acquire(key, "b", {version}))));
    fixture().eraseRecord(key);
    EXPECT_TRUE(isRefused(other().write(acquire(key, "b")))) << "the counter alone";
  }
}

TEST_P(StoreOperatorContract, aRecordThatIsNotUnderstoodIsNamedAndNeverOverwritten) {
  const LeaseKey key{"lease-bad", "it's"};
  const Applied term = store().apply(acquire(key, "a"));
  const RecordVersion version = store().record(key).version;
  store().apply(acquire({"lease-a"}, "a"));
  store().apply(acquire({"lease-c"}, "a"));
  fixture().corruptRecord(key);
  for (int round = 0; round < 2; ++round) {
    const ReadOutcome read = other().startRead(key)->get();
    ASSERT_TRUE(read.has_error());
    EXPECT_EQ(read.error().errorClass, ErrorClass::corrupt) << read.error().message;
    EXPECT_NE(read.error().message.find("lease-bad"), std::string::npos) << read.error().message;
    for (const WriteOutcome& outcome :
         {other().write(acquire(key, "b")), other().write(acquire(key, "b", {version})),
          store().write(renew(key, "a", {version})), store().write(release(key, "a", {version})),
          other().requestStepDown(key, term.token), other().remove(key, version)}) {
      EXPECT_TRUE(isRefused(outcome)) << describe(outcome);
    }
  }
  const std::vector<ListedLease> listed = other().list("lease-");
  ASSERT_EQ(listed.size(), 3U) << "one bad record must not hide the good ones";
  EXPECT_TRUE(listed[0].record.has_value());
  ASSERT_EQ(listed[1].key, key);
  ASSERT_TRUE(listed[1].record.has_error());
  EXPECT_EQ(listed[1].record.error().errorClass, ErrorClass::corrupt);
  EXPECT_TRUE(listed[2].record.has_value());
}

}  // namespace tenure::contract
