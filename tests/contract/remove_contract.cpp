// Removing abandoned records: only a record that was seen, and never the fencing counter (invariant I7).
#include <thread>

#include "contract/store_contract.hpp"

namespace tenure::contract {

TEST_P(StoreRemoveContract, removesTheVersionThatWasSeenAndNoOther) {
  const LeaseKey key{"lease"};
  store().apply(acquire(key, "a"));
  const LeaseRecord seen = store().record(key);
  store().apply(renew(key, "a", {seen.version}));
  const LeaseRecord current = store().record(key);
  EXPECT_TRUE(isConflictWith(other().remove(key, seen.version), current)) << "its holder has shown life since";
  EXPECT_TRUE(isConflictWith(other().remove(key, RecordVersion{}), current));
  EXPECT_TRUE(isConflictWith(other().remove({"another"}, current.version), std::nullopt));
  EXPECT_TRUE(sameRecord(store().record(key), current));
  const WriteOutcome outcome = other().remove(key, current.version);
  ASSERT_TRUE(std::holds_alternative<Applied>(outcome)) << describe(outcome);
  EXPECT_EQ(std::get<Applied>(outcome).token, current.token);
}

TEST_P(StoreRemoveContract, aHolderWhoseRecordWasRemovedIsToldAndCreatesNone) {
  const LeaseKey key{"lease"};
  store().apply(acquire(key, "a"));
  const LeaseRecord record = store().record(key);
  ASSERT_TRUE(std::holds_alternative<Applied>(other().remove(key, record.version)));
  const LeaseRecord vanished = vanishedRecord(record.token, record.leaseDuration);
  EXPECT_TRUE(isConflictWith(store().write(renew(key, "a", {record.version})), vanished));
  EXPECT_TRUE(isConflictWith(store().write(release(key, "a", {record.version})), vanished));
  EXPECT_TRUE(isConflictWith(other().remove(key, record.version), vanished));
  EXPECT_TRUE(sameRecord(store().record(key), vanished));
  EXPECT_EQ(other().listKeys(""), std::vector<LeaseKey>{});
}

TEST_P(StoreRemoveContract, tokensGoOnRisingAfterRemovals) {
  const LeaseKey key{"lease", "it's"};
  const LeaseKey neighbour{"lease-2"};
  const FencingToken others = store().apply(acquire(neighbour, "n")).token;
  FencingToken last;
  for (int round = 0; round < 5; ++round) {
    const Applied taken = store().apply(acquire(key, "a"));
    EXPECT_GT(taken.token, last);
    EXPECT_EQ(taken.warning, "") << "nothing was lost";
    last = taken.token;
    store().apply(release(key, "a", {store().record(key).version}));
    ASSERT_TRUE(std::holds_alternative<Applied>(other().remove(key, store().record(key).version)));
    ASSERT_EQ(other().read(key), std::nullopt);
  }
  EXPECT_EQ(store().record(neighbour).token, others);
}

TEST_P(StoreRemoveContract, aRemovalAndATakeoverOfOneVersionNeverBothHappen) {
  const LeaseKey key{"lease"};
  FencingToken last;
  for (int round = 0; round < 20; ++round) {
    store().apply(acquire(key, "a"));
    const RecordVersion seen = store().record(key).version;
    store().apply(release(key, "a", {seen}));
    const RecordVersion version = store().record(key).version;
    std::optional<WriteOutcome> removal;
    std::thread remover{[&] { removal = other().remove(key, version); }};
    const WriteOutcome takeover = store().write(acquire(key, "b", {version}));
    remover.join();
    const bool removed = std::holds_alternative<Applied>(*removal);
    const bool taken = std::holds_alternative<Applied>(takeover);
    EXPECT_FALSE(removed && taken) << describe(*removal) << "; " << describe(takeover);
    const std::optional<LeaseRecord> left = store().read(key);
    EXPECT_EQ(left.has_value(), !removed);
    if (left) {
      EXPECT_GT(left->token, last);
      last = left->token;
      // The remaining record is removed, so that each round begins without a record.
      if (taken) store().apply(release(key, "b", {left->version}));
      ASSERT_TRUE(std::holds_alternative<Applied>(other().remove(key, store().record(key).version)));
    }
  }
}

// A renewal does not move the counter, so the version alone must decide.
TEST_P(StoreRemoveContract, aRemovalAndARenewalOfOneVersionNeverBothHappen) {
  const LeaseKey key{"lease"};
  for (int round = 0; round < 40; ++round) {
    const auto found = store().read(key);
    if (!found) store().apply(acquire(key, "a"));
    if (found && found->vanished) store().apply(acquire(key, "a", {found->version}));
    const RecordVersion version = store().record(key).version;
    std::optional<WriteOutcome> removal;
    std::thread remover{[&] { removal = other().remove(key, version); }};
    const WriteOutcome renewal = store().write(renew(key, "a", {version}));
    remover.join();
    const bool removed = std::holds_alternative<Applied>(*removal);
    const bool renewed = std::holds_alternative<Applied>(renewal);
    EXPECT_FALSE(removed && renewed) << describe(*removal) << "; " << describe(renewal);
  }
}

}  // namespace tenure::contract
