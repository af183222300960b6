// Lock tokens over a store that loses requests and replies or refuses, with wrong options, and under eight callers.
#include <atomic>
#include <thread>
#include <vector>

#include <tenure/lockcore/stores/memory_store.hpp>

#include "lockcore/lock_tokens_world.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

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
  for (const auto none : {0ms, -5ms, std::chrono::milliseconds::min()}) {
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
