// Who owns a lease: conditional writes, and the complete state after each of them.
#include <barrier>
#include <thread>

#include "contract/store_contract.hpp"

namespace tenure::contract {
namespace {

/// Sends two writes through two handles from two threads at the same moment.
std::array<WriteOutcome, 2> race(const StoreCalls& a, const WriteRequest& first, const StoreCalls& b,
                                 const WriteRequest& second) {
  std::barrier start{2};
  std::array<WriteOutcome, 2> outcomes;
  std::thread rival{[&] {
    start.arrive_and_wait();
    outcomes[1] = b.write(second);
  }};
  start.arrive_and_wait();
  outcomes[0] = a.write(first);
  rival.join();
  return outcomes;
}

/// Turned away because the other one was being written: certainly not applied, and worth another try.
bool isBusy(const WriteOutcome& outcome) {
  const auto* rejected = std::get_if<Rejected>(&outcome);
  return rejected != nullptr && rejected->error.errorClass == ErrorClass::transient;
}

/// Exactly one was applied and is stored; the other one got a conflict that shows it, or did not get that far.
testing::AssertionResult oneWon(const std::array<WriteOutcome, 2>& outcomes,
                                const std::array<RecordVersion, 2>& versions, const LeaseRecord& stored) {
  const bool firstWon = std::holds_alternative<Applied>(outcomes[0]);
  if (firstWon == std::holds_alternative<Applied>(outcomes[1])) {
    return testing::AssertionFailure() << describe(outcomes[0]) << " and " << describe(outcomes[1]);
  }
  if (stored.version != versions[firstWon ? 0 : 1]) {
    return testing::AssertionFailure() << "the loser's write is stored: " << describe(stored);
  }
  const WriteOutcome& lost = outcomes[firstWon ? 1 : 0];
  return isBusy(lost) ? testing::AssertionSuccess() : isConflictWith(lost, stored);
}

}  // namespace

TEST_P(StoreContract, createsARecordWhereThereIsNone) {
  const LeaseKey key{"lease"};
  WriteRequest request = acquire(key, "a");
  LeaseRecord expected = request.record;
  const Applied applied = store().apply(std::move(request));
  EXPECT_FALSE(applied.token.isNone());
  EXPECT_FALSE(applied.stepDownRequested);
  EXPECT_EQ(applied.warning, "");
  expected.token = applied.token;
  EXPECT_TRUE(sameRecord(other().record(key), expected));
}

TEST_P(StoreContract, doesNotCreateARecordOverAnother) {
  const LeaseKey key{"lease"};
  store().apply(acquire(key, "a"));
  const LeaseRecord before = store().record(key);
  EXPECT_TRUE(isConflictWith(other().write(acquire(key, "b")), before));
  EXPECT_TRUE(sameRecord(store().record(key), before));
}

TEST_P(StoreContract, doesNotCreateOverAReleasedRecordEither) {
  const LeaseKey key{"lease"};
  store().apply(acquire(key, "a"));
  store().apply(release(key, "a", {store().record(key).version}));
  EXPECT_TRUE(isConflictWith(other().write(acquire(key, "b")), store().record(key)));
}

TEST_P(StoreContract, letsExactlyOneOfTwoCreatorsWinThousandTimes) {
  for (int round = 0; round < 1'000; ++round) {
    const LeaseKey key{"lease", std::to_string(round)};
    const WriteRequest first = acquire(key, "a");
    const WriteRequest second = acquire(key, "b");
    const auto outcomes = race(store(), first, other(), second);
    ASSERT_TRUE(oneWon(outcomes, {first.record.version, second.record.version}, store().record(key)))
        << "round " << round;
  }
}

TEST_P(StoreContract, letsExactlyOneOfTwoChallengersWin) {
  const LeaseKey key{"lease"};
  store().apply(acquire(key, "z"));
  for (int round = 0; round < 200; ++round) {
    const RecordVersion seen = store().record(key).version;
    const WriteRequest first = acquire(key, "a", {seen});
    const WriteRequest second = acquire(key, "b", {seen});
    const auto outcomes = race(store(), first, other(), second);
    ASSERT_TRUE(oneWon(outcomes, {first.record.version, second.record.version}, store().record(key)))
        << "round " << round;
  }
}

TEST_P(StoreContract, letsEitherTheHolderOrTheChallengerWin) {
  const LeaseKey key{"lease"};
  store().apply(acquire(key, "a"));
  for (int round = 0; round < 200; ++round) {
    const LeaseRecord seen = store().record(key);
    const WriteRequest heartbeat = renew(key, seen.holder, {seen.version});
    const WriteRequest takeover = acquire(key, seen.holder == "a" ? "b" : "a", {seen.version});
    const auto outcomes = race(store(), heartbeat, other(), takeover);
    ASSERT_TRUE(oneWon(outcomes, {heartbeat.record.version, takeover.record.version}, store().record(key)))
        << "round " << round;
  }
}

TEST_P(StoreContract, takesOverOnlyTheVersionThatWasSeen) {
  const LeaseKey key{"lease"};
  store().apply(acquire(key, "a"));
  const RecordVersion seen = store().record(key).version;
  store().apply(renew(key, "a", {seen}));
  const LeaseRecord live = store().record(key);
  EXPECT_TRUE(isConflictWith(other().write(acquire(key, "b", {seen})), live));
  EXPECT_TRUE(sameRecord(store().record(key), live));
  other().apply(acquire(key, "b", {live.version}));
  EXPECT_EQ(store().record(key).holder, "b");
}

TEST_P(StoreContract, acceptsAnyOfTheExpectedVersions) {
  const LeaseKey key{"lease"};
  store().apply(acquire(key, "a"));
  for (std::size_t place = 0; place < 9; ++place) {
    std::vector<RecordVersion> expected;
    for (int i = 0; i < 9; ++i) expected.push_back(newVersion());
    const LeaseRecord before = store().record(key);
    EXPECT_TRUE(isConflictWith(store().write(renew(key, "a", expected)), before));
    EXPECT_TRUE(isConflictWith(store().write(release(key, "a", expected)), before));
    EXPECT_TRUE(isConflictWith(store().write(acquire(key, "b", expected)), before));
    expected[place] = before.version;
    store().apply(renew(key, "a", expected));
  }
}

TEST_P(StoreContract, doesNotCreateARecordThatWasExpectedToBeThere) {
  const LeaseKey key{"lease"};
  const std::vector<RecordVersion> expected{newVersion()};
  EXPECT_TRUE(isConflictWith(store().write(acquire(key, "a", expected)), std::nullopt));
  EXPECT_TRUE(isConflictWith(store().write(renew(key, "a", expected)), std::nullopt));
  EXPECT_TRUE(isConflictWith(store().write(release(key, "a", expected)), std::nullopt));
  EXPECT_EQ(store().read(key), std::nullopt);
  EXPECT_TRUE(store().list("").empty());
}

TEST_P(StoreContract, neverRenewsOrReleasesWithoutAnExpectation) {
  const LeaseKey key{"lease"};
  EXPECT_TRUE(isConflictWith(store().write(renew(key, "a", {})), std::nullopt));
  EXPECT_TRUE(isConflictWith(store().write(release(key, "a", {})), std::nullopt));
  EXPECT_EQ(store().read(key), std::nullopt);
  store().apply(acquire(key, "a"));
  const LeaseRecord before = store().record(key);
  EXPECT_TRUE(isConflictWith(store().write(renew(key, "a", {})), before));
  EXPECT_TRUE(isConflictWith(store().write(release(key, "a", {})), before));
  EXPECT_TRUE(sameRecord(store().record(key), before));
}

TEST_P(StoreContract, renewsAndReleasesForTheExactHolderOnly) {
  const LeaseKey key{"lease"};
  store().apply(acquire(key, "host#0123"));
  const LeaseRecord before = store().record(key);
  for (const char* stranger : {"host", "host#01234", "host#012", "HOST#0123", " host#0123", "host#0123 ", "%", "*"}) {
    EXPECT_TRUE(isConflictWith(other().write(renew(key, stranger, {before.version})), before)) << stranger;
    EXPECT_TRUE(isConflictWith(other().write(release(key, stranger, {before.version})), before)) << stranger;
  }
  EXPECT_TRUE(sameRecord(store().record(key), before));
}

TEST_P(StoreContract, renewSetsTheWholeStateAndKeepsTheToken) {
  const LeaseKey key{"lease"};
  const Applied taken = store().apply(acquire(key, "a"));
  WriteRequest request = renew(key, "a", {store().record(key).version});
  request.record.leaseDuration = std::chrono::milliseconds{2'500};
  request.record.livenessFile.reset();
  request.record.renewedAtMillis += 3'000;
  LeaseRecord expected = request.record;
  expected.token = taken.token;
  const Applied renewed = store().apply(std::move(request));
  EXPECT_EQ(renewed.token, taken.token);
  EXPECT_FALSE(renewed.stepDownRequested);
  EXPECT_TRUE(sameRecord(other().record(key), expected));
}

TEST_P(StoreContract, releaseKeepsTheRecordWithItsToken) {
  const LeaseKey key{"lease"};
  const Applied taken = store().apply(acquire(key, "a"));
  WriteRequest request = release(key, "a", {store().record(key).version});
  LeaseRecord expected = request.record;
  expected.token = taken.token;
  expected.released = true;
  EXPECT_EQ(store().apply(std::move(request)).token, taken.token);
  EXPECT_TRUE(sameRecord(other().record(key), expected));
}

TEST_P(StoreContract, acquisitionAfterAReleaseLeavesNothingOfIt) {
  const LeaseKey key{"lease"};
  store().apply(acquire(key, "a"));
  store().apply(release(key, "a", {store().record(key).version}));
  WriteRequest request = acquire(key, "b", {store().record(key).version});
  request.record.livenessFile.reset();
  request.record.leaseDuration = std::chrono::milliseconds{3'000};
  LeaseRecord expected = request.record;
  expected.token = other().apply(std::move(request)).token;
  EXPECT_TRUE(sameRecord(store().record(key), expected)) << "not released, no liveness file of the former holder";
  EXPECT_TRUE(isConflictWith(store().write(acquire(key, "c")), expected)) << "a live lock looked free";
}

TEST_P(StoreContract, writesWhoseAnswersWereLostMayBeRepeated) {
  const LeaseKey key{"lease"};
  store().apply(acquire(key, "a"));
  const RecordVersion first = store().record(key).version;
  const WriteRequest landed = renew(key, "a", {first});
  store().apply(landed);  // the answer is lost
  const RecordVersion neverSent = newVersion();
  store().apply(renew(key, "a", {first, landed.record.version, neverSent}));
  const RecordVersion second = store().record(key).version;
  const WriteRequest let = release(key, "a", {second});
  store().apply(let);  // lost again
  const Applied again = store().apply(release(key, "a", {second, let.record.version}));
  EXPECT_EQ(again.token, store().record(key).token);
  EXPECT_TRUE(store().record(key).released);
}

TEST_P(StoreContract, aFormerHolderCanNeitherRenewNorRelease) {
  const LeaseKey key{"lease"};
  store().apply(acquire(key, "a"));
  const RecordVersion own = store().record(key).version;
  other().apply(acquire(key, "b", {own}));
  const LeaseRecord successor = other().record(key);
  EXPECT_TRUE(isConflictWith(store().write(renew(key, "a", {own})), successor));
  EXPECT_TRUE(isConflictWith(store().write(release(key, "a", {own})), successor));
  EXPECT_TRUE(isConflictWith(store().write(renew(key, "a", {successor.version})), successor));
  EXPECT_TRUE(isConflictWith(store().write(release(key, "a", {successor.version})), successor));
  EXPECT_TRUE(sameRecord(other().record(key), successor));
}

}  // namespace tenure::contract
