// A store that has to wait: it answers within the time limit, and tells the truth about what it could not do.
#include <algorithm>
#include <chrono>

#include <tenure/lockcore/clock.hpp>

#include "contract/store_contract.hpp"

namespace tenure::contract {
namespace {

using namespace std::chrono_literals;

/// How much later than the limit an answer may come on a loaded machine.
constexpr auto lateness = 5s;

}  // namespace

TEST_P(StoreStallContract, answersWritesWithinTheirTimeLimit) {
  const LeaseKey key{"lease"};
  store().apply(acquire(key, "a"));
  const LeaseRecord before = store().record(key);
  auto stalled = fixture().stall();
  std::vector<Pending<WriteOutcome>> pending;
  const Instant start = readClock();
  for (const auto timeout : {0ms, 1ms, 100ms, 300ms}) {
    pending.push_back(store().startWrite(renew(key, "a", {before.version}), timeout));
  }
  for (const auto& write : pending) {
    const WriteOutcome outcome = write->get();
    EXPECT_TRUE(std::holds_alternative<Rejected>(outcome) || std::holds_alternative<Unknown>(outcome))
        << describe(outcome);
  }
  EXPECT_LT(elapsedForChallenger(start, readClock()), 300ms + lateness);
  const bool provenNotApplied = std::all_of(
      pending.begin(), pending.end(), [](const auto& write) { return std::holds_alternative<Rejected>(write->get()); });
  stalled.reset();
  if (provenNotApplied) {
    EXPECT_TRUE(sameRecord(other().record(key), before)) << "a rejected write was applied later";
  }
  // Each of them that is not refused may still come between a read and a renewal, once.
  bool renewed = false;
  for (std::size_t tries = 0; tries <= pending.size() && !renewed; ++tries) {
    const RecordVersion version = other().record(key).version;
    renewed = std::holds_alternative<Applied>(store().write(renew(key, "a", {version})));
  }
  EXPECT_TRUE(renewed);
}

TEST_P(StoreStallContract, servesAWriteThatOutlivesTheStall) {
  const LeaseKey key{"lease"};
  store().apply(acquire(key, "a"));
  auto stalled = fixture().stall();
  const auto write = store().startWrite(renew(key, "a", {store().record(key).version}));
  EXPECT_EQ(write->answers(), 0U);
  stalled.reset();
  EXPECT_TRUE(std::holds_alternative<Applied>(write->get())) << describe(write->get());
}

TEST_P(StoreStallContract, answersEveryCallWhenDestroyedWhileStalled) {
  const LeaseKey key{"lease"};
  store().apply(acquire(key, "a"));
  const LeaseRecord before = store().record(key);
  auto stalled = fixture().stall();
  StoreCalls doomed = openMore();
  std::vector<Pending<WriteOutcome>> pending;
  for (int i = 0; i < 10; ++i) pending.push_back(doomed.startWrite(renew(key, "a", {before.version}), 2s));
  const Instant start = readClock();
  doomed.drop();
  for (const auto& write : pending) {
    const WriteOutcome outcome = write->get();
    EXPECT_TRUE(std::holds_alternative<Rejected>(outcome) || std::holds_alternative<Unknown>(outcome))
        << describe(outcome);
  }
  EXPECT_LT(elapsedForChallenger(start, readClock()), 2s + lateness);
  stalled.reset();
}

}  // namespace tenure::contract
