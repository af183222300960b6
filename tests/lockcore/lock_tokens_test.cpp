// Locks by token over real stores: memory, and SQLite files that several handles share as processes do.
#include <atomic>
#include <deque>
#include <future>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>

#include <tenure/lockcore/candidate_id.hpp>
#include <tenure/lockcore/lock_tokens.hpp>
#include <tenure/lockcore/runtime.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>
#include <tenure/lockcore/stores/sqlite_store.hpp>

#include "lockcore/token/lock_token_parts.hpp"
#include "support/forwarding_store.hpp"
#include "support/temp_dir.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

enum class Mishap { none, lostRequest, lostReply, throttled, denied };

/// Wraps a store: the next writes fail as planned, in order. Thread-safe.
class MishapStore final : public PolledStore {
 public:
  using PolledStore::PolledStore;

  void plan(std::deque<Mishap> mishaps) {
    const std::lock_guard lock{mutex_};
    planned_ = std::move(mishaps);
  }
  [[nodiscard]] int writes() const { return writes_; }
  [[nodiscard]] int reads() const { return reads_; }

  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override {
    ++reads_;
    behind_->read(key, options, std::move(handler));
  }
  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    ++writes_;
    switch (next()) {
      case Mishap::none:
        return behind_->write(std::move(request), options, std::move(handler));
      case Mishap::lostReply:
        return behind_->write(std::move(request), options, [handler = std::move(handler)](const WriteOutcome&) {
          handler(Unknown{{ErrorClass::transient, "the reply was lost"}});
        });
      case Mishap::lostRequest:
        return tell(std::move(handler), Unknown{{ErrorClass::transient, "the request was lost"}});
      case Mishap::throttled:
        return tell(std::move(handler), Rejected{{ErrorClass::throttled, "slow down"}});
      case Mishap::denied:
        return tell(std::move(handler), Rejected{{ErrorClass::credentials, "access denied"}});
    }
  }

 private:
  Mishap next() {
    const std::lock_guard lock{mutex_};
    if (planned_.empty()) return Mishap::none;
    const Mishap mishap = planned_.front();
    planned_.pop_front();
    return mishap;
  }
  static void tell(WriteHandler handler, WriteOutcome outcome) {
    sharedScheduler()->post([handler = std::move(handler), outcome = std::move(outcome)] { handler(outcome); });
  }

  std::mutex mutex_;
  std::deque<Mishap> planned_;  // guarded by mutex_
  std::atomic<int> writes_{0}, reads_{0};
};

class LockTokensTest : public ::testing::Test {
 protected:
  /// Another handle for the same file, as another process would have.
  [[nodiscard]] std::shared_ptr<LeaseStore> open() const { return makeSqliteStore({directory_.file("locks.db")}); }

  static TokenAcquireOptions lease(std::chrono::milliseconds duration, std::string owner = "tester") {
    TokenAcquireOptions options;
    options.lease = duration;
    options.owner = std::move(owner);
    options.waitFor = 0ms;
    return options;
  }
  /// For short leases. Their calls have so little time that a busy machine needs several.
  static TokenAcquireOptions patient(std::chrono::milliseconds duration, std::string owner = "tester") {
    TokenAcquireOptions options = lease(duration, std::move(owner));
    options.waitFor = 60s;
    return options;
  }
  [[nodiscard]] LeaseRecord record(const LeaseKey& key) const {
    std::promise<ReadOutcome> answer;
    store_->read(key, {10s}, [&](ReadOutcome outcome) { answer.set_value(std::move(outcome)); });
    return answer.get_future().get().value().value();
  }

  TempDir directory_;
  std::shared_ptr<MishapStore> store_{std::make_shared<MishapStore>(open())};
  LockTokens tokens_{store_};
  const LeaseKey key_{"customer/Moe"};
};

template <class T>
LockErrc codeOf(const LockResult<T>& result) {
  EXPECT_TRUE(result.has_error());
  return result.has_error() ? result.error().code : LockErrc::closed;
}

/// Why it is `lost`; empty for all else.
template <class T>
std::optional<RevokeReason> reasonOf(const LockResult<T>& result) {
  return codeOf(result) == LockErrc::lost ? result.error().reason : std::nullopt;
}

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

TEST_F(LockTokensTest, ALostReplyOfTheAcquiringWriteIsFoundAtOnce) {
  store_->plan({Mishap::lostReply});
  const Instant before = readClock();
  TokenAcquireOptions options = lease(30s);
  options.waitFor = 20s;
  const LockToken token = tokens_.acquire(key_, options).value();
  EXPECT_LT(elapsedForHolder(before, readClock()), 15s) << "not after a lease (S2-45, S3-40)";
  EXPECT_EQ(store_->writes(), 1) << "read back, not taken again";
  EXPECT_EQ(record(key_).version, token.version());
}

TEST_F(LockTokensTest, ALostRequestOfTheAcquiringWriteIsWrittenAgain) {
  store_->plan({Mishap::lostRequest, Mishap::lostRequest});
  TokenAcquireOptions options = lease(2s);
  options.waitFor = 60s;
  const LockToken token = tokens_.acquire(key_, options).value();
  EXPECT_EQ(record(key_).version, token.version());
  EXPECT_EQ(store_->writes(), 3);
}

TEST_F(LockTokensTest, ThrottlingIsWaitedOutWithinTheBudget) {
  store_->plan({Mishap::throttled, Mishap::throttled, Mishap::throttled});
  TokenAcquireOptions options = lease(2s);
  options.waitFor = 60s;
  ASSERT_TRUE(tokens_.acquire(key_, options).has_value());
  const LockToken token = tokens_.acquire({"another"}, lease(20s)).value();
  store_->plan({Mishap::throttled, Mishap::throttled});
  EXPECT_TRUE(tokens_.renew(token).has_value());
}

TEST_F(LockTokensTest, AnErrorIsNeverALock) {
  store_->plan({Mishap::denied});
  TokenAcquireOptions options = lease(10s);
  options.waitFor = 60s;
  const auto refused = tokens_.acquire(key_, options);
  ASSERT_EQ(codeOf(refused), LockErrc::accessDenied) << "told at once: waiting would not help";
  EXPECT_EQ(refused.error().store.value().errorClass, ErrorClass::credentials);
  EXPECT_NE(refused.error().message.find("access denied"), std::string::npos);
}

TEST_F(LockTokensTest, AnUnansweredAcquisitionAtTheEndOfTheWaitIsTakenBack) {
  store_->plan({Mishap::lostReply});
  TokenAcquireOptions options = lease(10s);  // one look: the first answer decides
  const auto result = tokens_.acquire(key_, options);
  // It was read back, or released again: it is never left behind without a bearer.
  if (result.has_value()) {
    EXPECT_EQ(record(key_).version, result->version());
  } else {
    EXPECT_TRUE(record(key_).released) << result.error().message;
  }
}

TEST_F(LockTokensTest, LostRepliesOfRenewAndReleaseAreReadBack) {
  const LockToken token = tokens_.acquire(key_, lease(20s)).value();
  store_->plan({Mishap::lostReply});
  const LockToken renewed = tokens_.renew(token).value();
  EXPECT_EQ(record(key_).version, renewed.version());
  store_->plan({Mishap::lostRequest, Mishap::lostReply});
  const LockToken again = tokens_.renew(renewed).value();
  EXPECT_EQ(record(key_).version, again.version());
  store_->plan({Mishap::lostReply});
  EXPECT_EQ(tokens_.release(again).value(), ReleaseResult::released);
  EXPECT_TRUE(record(key_).released);
}

TEST_F(LockTokensTest, AReleaseThatDidNotArriveIsSentAgainAndNeverToldAsReleased) {
  const LockToken token = tokens_.acquire(key_, lease(60s)).value();
  store_->plan({Mishap::lostRequest, Mishap::lostRequest});
  EXPECT_EQ(tokens_.release(token, 30s).value(), ReleaseResult::released);
  EXPECT_TRUE(record(key_).released);

  const LockToken stuck = tokens_.acquire(key_, lease(60s)).value();
  store_->plan(std::deque<Mishap>(10'000, Mishap::lostRequest));
  EXPECT_EQ(codeOf(tokens_.release(stuck, 100ms)), LockErrc::unknown);
  EXPECT_FALSE(record(key_).released);
}

TEST_F(LockTokensTest, ALostTokenIsResumedByItsOwnerText) {
  const LockToken lost = tokens_.acquire(key_, lease(20s)).value();
  const LockToken found = LockTokens{open()}.resume(key_, lost.owner()).value();
  EXPECT_EQ(found.fencingToken(), lost.fencingToken());
  EXPECT_EQ(codeOf(tokens_.renew(lost)), LockErrc::superseded);
  EXPECT_EQ(codeOf(tokens_.resume(key_, "tester")), LockErrc::lost) << "J-05: the name alone is nobody's proof";
  EXPECT_EQ(tokens_.release(found).value(), ReleaseResult::released);
  EXPECT_EQ(codeOf(tokens_.resume(key_, lost.owner())), LockErrc::notHeld);
}

TEST_F(LockTokensTest, WithoutTimeNothingIsSentAndTheErrorSaysSo) {
  const LockToken token = tokens_.acquire(key_, lease(20s)).value();
  const int sent = store_->writes() + store_->reads();
  for (const auto none : {0ms, -5ms}) {
    TokenRenewOptions options;
    options.budget = none;
    const auto renewed = tokens_.renew(token, options), resumed = tokens_.resume(key_, token.owner(), options);
    EXPECT_EQ(codeOf(renewed), LockErrc::storeUnavailable);
    EXPECT_EQ(renewed.error().message,
              "the renewal of lock customer/Moe was not sent, because its time was over before; allow it more");
    EXPECT_EQ(codeOf(resumed), LockErrc::storeUnavailable);
    EXPECT_EQ(resumed.error().message, renewed.error().message);
    const auto released = tokens_.release(token, none);
    EXPECT_EQ(codeOf(released), LockErrc::storeUnavailable);
    EXPECT_EQ(released.error().message,
              "the release of lock customer/Moe was not sent, because its time was over before; allow it more");
  }
  EXPECT_EQ(store_->writes() + store_->reads(), sent);
  EXPECT_TRUE(tokens_.isActive(token).value());
}

TEST_F(LockTokensTest, WrongOptionsAreRefusedBeforeAnyRequest) {
  EXPECT_EQ(codeOf(tokens_.acquire({""}, lease(20s))), LockErrc::invalidOptions);
  EXPECT_EQ(codeOf(tokens_.acquire({std::string(3000, 'a')}, lease(20s))), LockErrc::invalidOptions);
  EXPECT_EQ(codeOf(tokens_.acquire({"a#fence"}, lease(20s))), LockErrc::invalidOptions);
  for (const auto wrong : {0ms, -5ms, 99ms, std::chrono::milliseconds{24h} + 1ms}) {
    EXPECT_EQ(codeOf(tokens_.acquire(key_, lease(wrong))), LockErrc::invalidOptions);
  }
  EXPECT_EQ(codeOf(tokens_.acquire(key_, lease(20s, "a#b"))), LockErrc::invalidOptions);
  TokenAcquireOptions negative = lease(20s);
  negative.waitFor = -1ms;
  const auto refused = tokens_.acquire({""}, negative);
  ASSERT_EQ(codeOf(refused), LockErrc::invalidOptions);
  const OptionFaults faults = refused.error().faults;
  ASSERT_EQ(faults.size(), 2U) << "all of them";
  EXPECT_EQ(faults[0].field, "key");
  EXPECT_EQ(faults[1], (OptionFault{"waitFor", "the wait is negative"}));
  EXPECT_EQ(refused.error().message, faults[0].message + "; " + faults[1].message);
  EXPECT_EQ(store_->writes() + store_->reads(), 0);
  EXPECT_THROW(LockTokens{nullptr}, std::invalid_argument);
}

TEST_F(LockTokensTest, EightCallersNeverHoldOneLockAtOnce) {
  std::atomic<int> inside{0}, overlaps{0}, sections{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&] {
      LockTokens tokens{open()};
      TokenAcquireOptions options = lease(20s);
      options.waitFor = std::nullopt;
      for (int round = 0; round < 10; ++round) {
        const LockToken token = tokens.acquire(key_, options).value();
        if (++inside != 1) ++overlaps;
        ++sections;
        --inside;
        if (tokens.release(token).value() != ReleaseResult::released) ++overlaps;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sections, 80);
  EXPECT_EQ(overlaps, 0);
  EXPECT_EQ(record(key_).token, FencingToken{80}) << "one term each";
}

TEST(LockTokensInMemory, WorkOnAnyStore) {
  LockTokens tokens{makeMemoryStore()};
  const LockToken token = tokens.acquire({"a", "b"}).value();
  EXPECT_EQ(token.key(), (LeaseKey{"a", "b"}));
  EXPECT_TRUE(tokens.acquire({"ab"}).has_value()) << "J-27: structured keys";
  EXPECT_EQ(tokens.release(LockToken::from(token.text()).value()).value(), ReleaseResult::released);
}

}  // namespace
}  // namespace tenure::test
