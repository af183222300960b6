// What the leases in a store's records mean: a holder that renews keeps the lock, one that does not loses it. With the
// real clock.
#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/lock_tokens.hpp>

#include "contract/store_contract.hpp"

namespace tenure::contract {
namespace {

using namespace std::chrono_literals;

TokenAcquireOptions patientOptions(std::string owner) {
  TokenAcquireOptions options;
  options.waitFor = patience;
  options.owner = std::move(owner);
  return options;
}

/// A long lease that was shortened, so that a slow store has time for the acquisition.
LockToken shortened(LockTokens& locks, const LockToken& token) {
  TokenRenewOptions options;
  options.lease = 1s;
  return locks.renew(token, options).value();
}

}  // namespace

TEST_P(StoreContract, whoDoesNotRenewLosesTheLockAfterItsLeaseAndNotBefore) {
  const LeaseKey key{"lease"};
  LockTokens inactive{fixture().open()}, waiting{fixture().open()};
  const LockToken token = shortened(inactive, inactive.acquire(key, patientOptions("inactive")).value());
  const Instant lastSign = readClock();
  std::optional<LockResult<LockToken>> taken;
  std::thread successor{[&] { taken.emplace(waiting.acquire(key, patientOptions("successor"))); }};
  bool active = true;
  while (active && token.remaining().value() > 0s) active = inactive.isActive(token).value();
  EXPECT_EQ(token.remaining().value(), 0s) << "not before the lease is over";
  EXPECT_FALSE(inactive.isActive(token).value()) << "and no longer, whoever has it by then";
  successor.join();
  EXPECT_GE(elapsedForHolder(lastSign, readClock()), token.lease());
  ASSERT_TRUE(taken->has_value()) << taken->error().message;
  EXPECT_GT((*taken)->fencingToken(), token.fencingToken());
  EXPECT_EQ(inactive.renew(token).error().reason, RevokeReason::expired);
  EXPECT_EQ(inactive.release(token).error().code, LockErrc::lost);
  EXPECT_TRUE(waiting.isActive(**taken).value()) << "its successor's lock was not touched";
}

TEST_P(StoreContract, whoRenewsKeepsTheLockThroughAWaitThatIsLongerThanTheLease) {
  const LeaseKey key{"lease"};
  LockTokens active{fixture().open()}, waiting{fixture().open()};
  TokenRenewOptions same;
  same.lease = 5s;
  LockToken token = active.renew(active.acquire(key, patientOptions("active")).value(), same).value();
  TokenAcquireOptions longer = patientOptions("waiting");
  longer.waitFor = 6s;
  longer.poll = 1s;  // as its header says for a long lease that waits for a short one
  std::optional<LockResult<LockToken>> refused;
  std::atomic<bool> isOver{false};
  std::thread challenger{[&] {
    refused.emplace(waiting.acquire(key, longer));
    isOver = true;
  }};
  while (!isOver) {
    auto renewed = active.renew(token);
    EXPECT_TRUE(renewed.has_value()) << renewed.error().message;
    if (!renewed) break;
    token = *renewed;
  }
  challenger.join();
  ASSERT_TRUE(refused->has_error());
  EXPECT_EQ(refused->error().code, LockErrc::held) << refused->error().message;
  EXPECT_TRUE(active.isActive(token).value());
  EXPECT_EQ(active.release(token).value(), ReleaseResult::released);
}

}  // namespace tenure::contract
