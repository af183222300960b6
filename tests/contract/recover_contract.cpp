// Correcting the tokens of a lease: the only operation that may lower a counter, for an operator.
#include "contract/store_contract.hpp"

namespace tenure::contract {
namespace {

testing::AssertionResult isApplied(const WriteOutcome& outcome) {
  if (std::holds_alternative<Applied>(outcome)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << describe(outcome);
}

}  // namespace

TEST_P(StoreRecoverContract, showsWhatIsStoredOfALease) {
  const LeaseKey key{"lease", "it's"};
  EXPECT_EQ(store().tokens(key), StoredTokens{});
  store().apply(acquire(key, "a"));
  const LeaseRecord record = store().record(key);
  EXPECT_TRUE(isNextToken(record.token, FencingToken{}));
  const std::string token = toString(record.token);
  StoredTokens shown{token, token, record.version.text(), "a", false, record.leaseDuration};
  EXPECT_EQ(other().tokens(key), shown);
  store().apply(release(key, "a", {record.version}));
  shown.version = store().record(key).version.text();
  shown.released = true;
  EXPECT_EQ(other().tokens(key), shown);
  EXPECT_EQ(other().tokens({"lease"}), StoredTokens{}) << "another lease";
}

TEST_P(StoreRecoverContract, theNextTermCountsOnFromTheTokenThatWasSetUpOrDown) {
  const LeaseKey key{"lease"};
  const LeaseKey neighbour{"lease-2"};
  const FencingToken others = store().apply(acquire(neighbour, "n")).token;
  store().apply(acquire(key, "a"));
  for (const std::uint64_t token : {maxFencingToken.value() - 1, std::uint64_t{17}}) {
    // Through the handle that held the lease: a store may know that another process lives, and refuse.
    ASSERT_TRUE(isApplied(store().setTokens(key, store().tokens(key), token)));
    const LeaseRecord freed = store().record(key);
    EXPECT_TRUE(freed.released) << "whoever held it has no term any more";
    EXPECT_EQ(freed.token, FencingToken{token});
    EXPECT_EQ(store().tokens(key).counter, std::to_string(token));
    const FencingToken next = store().apply(acquire(key, "b", {freed.version})).token;
    EXPECT_TRUE(isNextToken(next, FencingToken{token})) << next;
  }
  EXPECT_EQ(store().record(neighbour).token, others);
}

TEST_P(StoreRecoverContract, aFormerHolderCanDoNothingMoreAndTheDataStays) {
  const LeaseKey key{"lease"};
  WriteRequest taken = acquire(key, "a");
  taken.record.data = "payload";
  taken.record.attributes = {{"zone", "eu"}};
  store().apply(std::move(taken));
  const LeaseRecord held = store().record(key);
  ASSERT_TRUE(isApplied(store().setTokens(key, store().tokens(key), 5)));
  EXPECT_TRUE(std::holds_alternative<Conflict>(store().write(renew(key, "a", {held.version}))));
  EXPECT_TRUE(std::holds_alternative<Conflict>(store().write(acquire(key, "b", {held.version}))));
  EXPECT_EQ(store().record(key).data, "payload");
  EXPECT_EQ(store().record(key).attributes, held.attributes);
}

TEST_P(StoreRecoverContract, changesNothingOnceAnybodyHasWritten) {
  const LeaseKey key{"lease"};
  const StoredTokens none = store().tokens(key);
  store().apply(acquire(key, "a"));
  EXPECT_TRUE(std::holds_alternative<Conflict>(other().setTokens(key, none, 17)));
  const StoredTokens before = store().tokens(key);
  store().apply(renew(key, "a", {store().record(key).version}));
  const LeaseRecord renewed = store().record(key);
  EXPECT_TRUE(std::holds_alternative<Conflict>(other().setTokens(key, before, 17)));
  EXPECT_TRUE(sameRecord(store().record(key), renewed));
  EXPECT_EQ(store().tokens(key).counter, toString(renewed.token));
}

TEST_P(StoreRecoverContract, setsALeaseWithoutARecordToo) {
  const LeaseKey key{"lease"};
  ASSERT_TRUE(isApplied(store().setTokens(key, StoredTokens{}, 4'000'000'000'000'000)));
  EXPECT_EQ(store().read(key), std::nullopt);
  StoredTokens found = store().tokens(key);
  EXPECT_EQ(found.counter, "4000000000000000");
  ASSERT_TRUE(isApplied(other().setTokens(key, found, 8)));
  EXPECT_TRUE(isNextToken(store().apply(acquire(key, "a")).token, FencingToken{8}));
}

TEST_P(StoreRecoverContract, refusesATokenAfterWhichThereIsNone) {
  const LeaseKey key{"lease"};
  for (const std::uint64_t token : {std::uint64_t{0}, maxFencingToken.value(), maxFencingToken.value() + 1}) {
    const WriteOutcome outcome = store().setTokens(key, StoredTokens{}, token);
    EXPECT_TRUE(std::holds_alternative<Rejected>(outcome)) << token << ": " << describe(outcome);
  }
  EXPECT_EQ(store().tokens(key), StoredTokens{});
}

}  // namespace tenure::contract
