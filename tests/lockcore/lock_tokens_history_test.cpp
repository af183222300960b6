// Lock tokens over a store that may have lost the term of another owner: a standby without it was promoted.
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <tenure/lockcore/stores/memory_store.hpp>

#include "lockcore/lock_tokens_world.hpp"
#include "lockcore/token/lock_token_parts.hpp"
#include "support/timelines.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

/// Counts the writes, and lets the test act when one is sent.
class PromotedStore final : public Timelines {
 public:
  PromotedStore() : Timelines{std::make_shared<PolledStore>(makeMemoryStore())} {}

  std::function<Mishap()> atAWrite{};
  int writes{0};
  std::vector<RecordVersion> expected{};  ///< by the last write

  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    ++writes;
    expected = request.expected;
    if (atAWrite && std::exchange(atAWrite, nullptr)() == Mishap::lostRequest) {
      return sharedScheduler()->post([handler = std::move(handler)] {
        handler(Unknown{{ErrorClass::transient, "the request was lost"}});
      });
    }
    Timelines::write(std::move(request), options, std::move(handler));
  }
};

class LockTokensAfterAPromotion : public testing::Test {
 protected:
  [[nodiscard]] LockToken acquired(std::chrono::milliseconds lease) {
    const auto token = tokens_.acquire(key_, {.lease = lease, .waitFor = 30s, .owner = "a"});
    EXPECT_TRUE(token.has_value()) << token.error().message;
    store_->writes = 0;
    return *token;
  }
  /// As another machine has it, where no clock knows how long it holds.
  [[nodiscard]] static LockToken elsewhere(const LockToken& token) {
    LockTokenParts parts = LockTokenAccess::partsOf(token);
    parts.clockDomain = "another machine";
    return LockTokenAccess::make(std::move(parts));
  }
  static void expectLostToThePromotion(const LockResult<LockToken>& renewed) {
    ASSERT_EQ(reasonOf(renewed), RevokeReason::lost);
    EXPECT_NE(renewed.error().message.find("history has changed since"), std::string::npos) << renewed.error().message;
  }

  const std::shared_ptr<PromotedStore> store_{std::make_shared<PromotedStore>()};
  LockTokens tokens_{store_};
  const LeaseKey key_{"orders"};
};

/// After its lease another owner may have acquired the lock, in a term that the standby did not have.
TEST_F(LockTokensAfterAPromotion, whereNoClockKnowsItsTokenTheLockIsLost) {
  const LockToken token = acquired(60s);
  store_->promote();
  expectLostToThePromotion(tokens_.renew(elsewhere(token)));
  expectLostToThePromotion(tokens_.resume(key_, token.owner()));
  EXPECT_EQ(store_->writes, 0) << "nothing is sent that might revive it";
  const TokenView view = tokens_.check(elsewhere(token)).value();
  EXPECT_FALSE(view.active);
  EXPECT_EQ(view.why.value().reason, RevokeReason::lost);
  EXPECT_TRUE(tokens_.isActive(token).value()) << "by this machine's clock its lease cannot be over anywhere";
  EXPECT_TRUE(tokens_.renew(token).has_value());
}

/// A pause, or a lock that is renewed only to be released: nobody works under it.
TEST_F(LockTokensAfterAPromotion, whoseWorkIsOverEndsTheLockInAnyHistory) {
  const LockToken token = acquired(60s);
  store_->promote();
  const auto resumed = tokens_.resume(key_, token.owner(), {.lease = 1s, .anyHistory = true});
  ASSERT_TRUE(resumed.has_value()) << resumed.error().message;
  EXPECT_EQ(tokens_.release(*resumed).value(), ReleaseResult::released);
}

TEST_F(LockTokensAfterAPromotion, aRenewalThatNoClockJudgesRequiresTheHistoryThatWasRead) {
  LockToken token = tokens_.renew(elsewhere(acquired(60s))).value();
  ASSERT_EQ(store_->expected.size(), 1U);
  EXPECT_EQ(store_->expected[0].history(), "7/1");
  token = tokens_.resume(key_, token.owner()).value();
  EXPECT_EQ(store_->expected[0].history(), "7/1");
  token = tokens_.renew(token).value();
  EXPECT_EQ(store_->expected[0].history(), "") << "the clock judges it";
  store_->atAWrite = [&] { return store_->promote(), Mishap::none; };
  expectLostToThePromotion(tokens_.renew(elsewhere(token)));
}

/// All copies of an unanswered renewal count as well: each may be what is stored.
TEST_F(LockTokensAfterAPromotion, alsoOfAnUnansweredRenewalTheHistoryIsRequired) {
  const LockToken token = acquired(60s);
  store_->atAWrite = [] { return Mishap::lostRequest; };
  EXPECT_TRUE(tokens_.renew(elsewhere(token)).has_value());
  ASSERT_EQ(store_->expected.size(), 2U);
  for (const RecordVersion& version : store_->expected) EXPECT_EQ(version.history(), "7/1");
}

TEST_F(LockTokensAfterAPromotion, aLeaseThatEndsBetweenTwoAttemptsIsNotRevived) {
  const LockToken token = acquired(1s);
  bool wasHeld = false;
  store_->atAWrite = [&] {
    wasHeld = token.remaining().value() > 0ns;
    while (token.remaining().value() > 0ns) std::this_thread::yield();
    store_->promote();
    return Mishap::lostRequest;
  };
  const auto renewed = tokens_.renew(token, {.budget = 30s});
  EXPECT_TRUE(wasHeld) << "this machine is too slow for the test to tell anything";
  expectLostToThePromotion(renewed);
  EXPECT_EQ(store_->writes, 1) << "the first attempt";
}

/// Where nothing was lost, the record itself shows that nobody has taken the lock.
TEST_F(LockTokensAfterAPromotion, withoutAPromotionSuchALeaseIsRenewed) {
  const LockToken token = acquired(1s);
  store_->atAWrite = [&] {
    while (token.remaining().value() > 0ns) std::this_thread::yield();
    return Mishap::lostRequest;
  };
  EXPECT_TRUE(tokens_.renew(token, {.lease = 60s, .budget = 30s}).has_value());
}

}  // namespace
}  // namespace tenure::test
