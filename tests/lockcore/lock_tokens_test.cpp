// What a lock token can do, and for how long.
#include <future>
#include <thread>

#include <tenure/lockcore/candidate_id.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>

#include "lockcore/lock_tokens_world.hpp"
#include "lockcore/token/lock_token_parts.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

TEST_F(LockTokensTest, AcquireGivesATokenThatSaysWhatTheRecordSays) {
  TokenAcquireOptions options = lease(20s, "job");
  options.data = "payload";
  options.attributes = {{"team", "billing"}};
  const LockToken token = tokens_.acquire(key_, options).value();
  const LeaseRecord stored = record(key_);
  EXPECT_EQ(token.owner(), stored.holder);
  EXPECT_EQ(nameOf(token.owner()), "job");
  EXPECT_EQ(token.version(), stored.version);
  EXPECT_EQ(token.fencingToken(), stored.token);
  EXPECT_EQ(stored.leaseDuration, 20s);
  EXPECT_EQ(stored.data, "payload");
  EXPECT_EQ(stored.attributes.at("team"), "billing");
  EXPECT_EQ(stored.livenessFile, std::nullopt) << "its process may end while the lock is held";
  EXPECT_GT(token.remaining().value(), 0s);
  EXPECT_LT(token.remaining().value(), 20s);
  EXPECT_EQ(store_->writes(), 1);
}

TEST_F(LockTokensTest, TheTextIsEnoughForAnotherProcess) {
  const std::string text = tokens_.acquire(key_, lease(20s)).value().text();
  LockTokens other{open()};
  const LockToken renewed = other.renew(LockToken::from(text).value()).value();
  EXPECT_TRUE(LockTokens{open()}.isActive(renewed).value());
  EXPECT_EQ(LockTokens{open()}.release(renewed).value(), ReleaseResult::released);
  EXPECT_TRUE(record(key_).released);
}

TEST_F(LockTokensTest, AbsentReleasedAndHeldAndDeadAreFourOutcomes) {
  const LockToken first = tokens_.acquire(key_, patient(300ms)).value();  // absent
  const auto held = LockTokens{open()}.acquire(key_, lease(20s));
  EXPECT_EQ(codeOf(held), LockErrc::held);
  const Instant before = readClock();
  const LockToken second = LockTokens{open()}.acquire(key_, patient(20s)).value();  // dead: nobody renews it
  EXPECT_GE(elapsedForHolder(before, readClock()), 300ms) << "never before a whole lease was watched";
  EXPECT_EQ(tokens_.release(second).value(), ReleaseResult::released);
  const LockToken third = tokens_.acquire(key_, lease(20s)).value();  // released: at once
  EXPECT_LT(first.fencingToken(), second.fencingToken());
  EXPECT_LT(second.fencingToken(), third.fencingToken());
}

TEST_F(LockTokensTest, HeldNamesTheOwnerAndItsTerm) {
  const LockToken token = tokens_.acquire(key_, lease(20s, "alice")).value();
  const auto refused = LockTokens{open()}.acquire(key_, lease(20s, "bob"));
  ASSERT_EQ(codeOf(refused), LockErrc::held);
  ASSERT_TRUE(refused.error().holder.has_value());
  EXPECT_EQ(refused.error().holder->holder, token.owner());
  EXPECT_EQ(refused.error().holder->token, token.fencingToken());
  EXPECT_EQ(refused.error().holder->lease, 20s);
  EXPECT_EQ(refused.error().holder->acquiredAtMillis, token.acquiredAtMillis());
  EXPECT_EQ(refused.error().message, "lock customer/Moe is held by alice (" + token.owner() + ") with fencing token 1");
}

TEST_F(LockTokensTest, TheWaitEndsOnTimeWhileTheLockIsHeld) {
  const LockToken token = tokens_.acquire(key_, lease(20s)).value();
  TokenAcquireOptions options = lease(20s);
  options.waitFor = 300ms;
  const Instant before = readClock();
  EXPECT_EQ(codeOf(LockTokens{open()}.acquire(key_, options)), LockErrc::held);
  EXPECT_GE(elapsedForHolder(before, readClock()), 300ms);
  EXPECT_TRUE(tokens_.isActive(token).value()) << "its lock was not touched";
}

TEST_F(LockTokensTest, AHolderThatRenewsWhileItIsWatchedIsNotTakenOver) {
  LockToken token = tokens_.acquire(key_, lease(2s)).value();
  std::atomic<bool> waiting{true};
  std::optional<LockResult<LockToken>> taken;
  std::thread challenger{[&] {
    TokenAcquireOptions options = lease(2s);
    options.waitFor = 3s;  // longer than a lease
    taken.emplace(LockTokens{open()}.acquire(key_, options));
    waiting = false;
  }};
  while (waiting) {
    auto renewed = tokens_.renew(token);
    if (!renewed) break;
    token = *renewed;
  }
  challenger.join();
  EXPECT_EQ(codeOf(*taken), LockErrc::held);
}

TEST_F(LockTokensTest, FencingTokensRiseWithEveryAcquisition) {
  FencingToken last;
  for (int round = 0; round < 20; ++round) {
    const LockToken token = tokens_.acquire(key_, lease(20s)).value();
    EXPECT_GT(token.fencingToken(), last);
    last = token.fencingToken();
    EXPECT_EQ(tokens_.renew(token).value().fencingToken(), last) << "a renewal is no new term";
    EXPECT_EQ(LockTokens{open()}.release(tokens_.resume(key_, token.owner()).value()).value(), ReleaseResult::released);
  }
}

TEST_F(LockTokensTest, RenewGivesANewTokenAndMayChangeTheLease) {
  const LockToken first = tokens_.acquire(key_, lease(5s)).value();
  TokenRenewOptions longer;
  longer.lease = 60s;
  const LockToken second = tokens_.renew(first, longer).value();
  EXPECT_NE(second.version(), first.version());
  EXPECT_EQ(record(key_).version, second.version());
  EXPECT_EQ(record(key_).leaseDuration, 60s);
  EXPECT_GT(second.remaining().value(), 5s);
  EXPECT_EQ(second.acquiredAtMillis(), first.acquiredAtMillis());
  const LockToken third = tokens_.renew(second).value();
  EXPECT_EQ(record(key_).leaseDuration, 60s) << "J-47: the changed lease stays";
  EXPECT_EQ(third.lease(), 60s);
}

/// In nanoseconds such a wait would be a time in the past.
TEST_F(LockTokensTest, TheLongestWaitThereIsIsAWait) {
  constexpr auto forEver = std::chrono::milliseconds::max();
  auto token = tokens_.acquire(key_, {.lease = 10s, .waitFor = forEver});
  ASSERT_TRUE(token) << token.error().message;
  token = tokens_.renew(*token, {.budget = forEver});
  ASSERT_TRUE(token) << token.error().message;
  EXPECT_EQ(tokens_.release(*token, forEver).value(), ReleaseResult::released);
}

TEST_F(LockTokensTest, OfTwoThatRenewOneTokenOneWinsAndTheOtherIsTold) {
  LockToken token = tokens_.acquire(key_, lease(20s)).value();
  for (int round = 0; round < 20; ++round) {
    LockTokens a{open()}, b{open()};
    std::optional<LockResult<LockToken>> ofA, ofB;
    std::thread other{[&] { ofB.emplace(b.renew(token)); }};
    ofA.emplace(a.renew(token));
    other.join();
    ASSERT_NE(ofA->has_value(), ofB->has_value());
    const auto& refused = ofA->has_value() ? *ofB : *ofA;
    EXPECT_EQ(codeOf(refused), LockErrc::superseded) << refused.error().message;
    token = ofA->has_value() ? **ofA : **ofB;
    EXPECT_TRUE(a.isActive(token).value());
  }
}

TEST_F(LockTokensTest, AnExpiredTokenNeverRevivesEvenIfNobodyTookTheLock) {
  const LockToken token = tokens_.acquire(key_, patient(100ms)).value();
  while (token.remaining().value() > 0s) std::this_thread::yield();
  const int writes = store_->writes();
  EXPECT_EQ(reasonOf(tokens_.renew(token)), RevokeReason::expired);
  EXPECT_EQ(store_->writes(), writes) << "not even a request";
  const TokenView view = tokens_.check(token).value();
  EXPECT_FALSE(view.active);
  EXPECT_EQ(view.why.value().reason, RevokeReason::expired);
}

TEST_F(LockTokensTest, AStaleHolderNeitherStealsTheLockBackNorReleasesTheSuccessors) {
  const LockToken stale = tokens_.acquire(key_, patient(200ms, "a")).value();
  const LockToken token = tokens_.acquire(key_, patient(20s, "b")).value();
  EXPECT_EQ(reasonOf(tokens_.renew(stale)), RevokeReason::expired);
  // As another machine sees it, where no clock can decide.
  LockTokenParts elsewhere = LockTokenAccess::partsOf(stale);
  elsewhere.clockDomain = "another machine";
  const auto renewed = tokens_.renew(LockTokenAccess::make(elsewhere));
  ASSERT_EQ(reasonOf(renewed), RevokeReason::lost);
  EXPECT_EQ(renewed.error().holder->holder, token.owner());
  EXPECT_EQ(reasonOf(tokens_.release(stale)), RevokeReason::lost) << "S1-57, S3-34";
  EXPECT_EQ(record(key_).version, token.version());
  EXPECT_TRUE(tokens_.isActive(token).value());
}

TEST_F(LockTokensTest, AHolderThatDoesNotRenewLosesTheLockAfterItsLeaseAndNotBefore) {
  // A renewal shortens the lease, so that a busy machine has time for the acquisition.
  TokenRenewOptions shorter;
  shorter.lease = 500ms;
  const LockToken token = tokens_.renew(tokens_.acquire(key_, lease(20s, "inactive")).value(), shorter).value();
  const Instant lastSign = readClock();
  std::optional<LockResult<LockToken>> taken;
  std::thread waiting{[&] { taken.emplace(LockTokens{open()}.acquire(key_, patient(20s, "successor"))); }};
  bool active = true;
  while (active && token.remaining().value() > 0s) active = tokens_.isActive(token).value();
  EXPECT_EQ(token.remaining().value(), 0s) << "not before the lease is over";
  EXPECT_FALSE(tokens_.isActive(token).value()) << "and not a moment longer, whoever has it by then";
  waiting.join();
  EXPECT_GE(elapsedForHolder(lastSign, readClock()), 500ms);
  ASSERT_TRUE(taken->has_value()) << taken->error().message;
  EXPECT_GT((*taken)->fencingToken(), token.fencingToken());
  EXPECT_EQ(reasonOf(tokens_.renew(token)), RevokeReason::expired);
  EXPECT_EQ(tokens_.check(token).value().holder->holder, (*taken)->owner());
  EXPECT_EQ(reasonOf(tokens_.release(token)), RevokeReason::lost);
  EXPECT_TRUE(tokens_.isActive(**taken).value()) << "its successor's lock was not touched";
}

TEST_F(LockTokensTest, ATokenOfAnotherMachineIsJudgedByTheStoreOnly) {
  LockTokenParts parts = LockTokenAccess::partsOf(tokens_.acquire(key_, patient(100ms)).value());
  parts.clockDomain = "another machine";
  parts.sentAt = {};
  const LockToken token = LockTokenAccess::make(parts);
  EXPECT_EQ(token.remaining(), std::nullopt);
  const TokenView view = tokens_.check(token).value();
  EXPECT_TRUE(view.active) << "nobody has taken it";
  EXPECT_EQ(view.remaining, std::nullopt);
  const LockToken here = tokens_.renew(token).value();
  EXPECT_TRUE(here.remaining().has_value()) << "from its renewal on the clocks of this machine count";
}

TEST_F(LockTokensTest, ReleaseIsIdempotent) {
  const LockToken token = tokens_.acquire(key_, lease(20s)).value();
  EXPECT_EQ(tokens_.release(token).value(), ReleaseResult::released);
  EXPECT_EQ(tokens_.release(token).value(), ReleaseResult::notHeld);
  EXPECT_EQ(tokens_.release(token).value(), ReleaseResult::notHeld);
}

TEST_F(LockTokensTest, RenewAfterReleaseIsRefused) {
  const LockToken token = tokens_.acquire(key_, lease(20s)).value();
  static_cast<void>(tokens_.release(token).value());
  EXPECT_EQ(codeOf(tokens_.renew(token)), LockErrc::notHeld);
  EXPECT_EQ(tokens_.check(token).value().why.value().code, LockErrc::notHeld);
}

TEST_F(LockTokensTest, AnOldTokenHasNoPowerOverTheNewer) {
  const LockToken old = tokens_.acquire(key_, lease(20s)).value();
  const LockToken token = tokens_.renew(old).value();
  EXPECT_EQ(codeOf(tokens_.release(old)), LockErrc::superseded);
  EXPECT_EQ(tokens_.check(old).value().why.value().code, LockErrc::superseded);
  EXPECT_TRUE(tokens_.isActive(token).value());
}

TEST_F(LockTokensTest, IsActiveIsTrueWhileTheTokenHoldsTheLockAndForNobodyElse) {
  const LockToken token = tokens_.acquire(key_, lease(20s, "a")).value();
  EXPECT_TRUE(LockTokens{open()}.isActive(token).value()) << "whoever asks";
  const TokenView view = tokens_.check(token).value();
  EXPECT_EQ(view.holder->holder, token.owner());
  EXPECT_GT(view.remaining.value(), 0s);
  static_cast<void>(tokens_.release(token).value());
  EXPECT_FALSE(tokens_.isActive(token).value());
  EXPECT_EQ(tokens_.check(token).value().holder, std::nullopt) << "nobody";
  const LockToken next = tokens_.acquire(key_, lease(20s, "b")).value();
  EXPECT_FALSE(tokens_.isActive(token).value());
  EXPECT_EQ(tokens_.check(token).value().why.value().code, LockErrc::lost);
  EXPECT_EQ(tokens_.check(token).value().holder->holder, next.owner());
}

TEST_F(LockTokensTest, ATokenOfAnotherStoreFindsNothingToTouch) {
  const LockToken token = LockTokens{makeSqliteStore({directory_.file("other.db")})}.acquire(key_, lease(20s)).value();
  static_cast<void>(tokens_.acquire({"another"}, lease(20s)).value());
  const auto renewed = tokens_.renew(token);
  ASSERT_EQ(reasonOf(renewed), RevokeReason::recordMissing);
  EXPECT_NE(renewed.error().message.find("other.db"), std::string::npos) << renewed.error().message;
  EXPECT_EQ(tokens_.release(token).value(), ReleaseResult::notHeld);
  const LockToken mine = tokens_.acquire(key_, lease(20s)).value();
  EXPECT_EQ(codeOf(tokens_.renew(token)), LockErrc::lost);
  EXPECT_EQ(reasonOf(tokens_.release(token)), RevokeReason::lost);
  EXPECT_TRUE(tokens_.isActive(mine).value());
}

}  // namespace
}  // namespace tenure::test
