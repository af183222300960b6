// Why a lock token was not granted: what the caller is told when looks and acquisitions failed and others did not. The
// store hints, so that a look follows at once and no time decides which call is the last one.
#include <functional>
#include <mutex>
#include <utility>

#include "lockcore/lock_tokens_world.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

/// Refuses writes and reads as planned, and tells after each call that the record may have changed, so many times.
class HintingStore final : public MishapStore {
 public:
  using MishapStore::MishapStore;

  std::optional<StoreError> writesFail{};  ///< set before the store is used, as is what follows
  int readsBeforeTheyFail{1'000'000};
  std::optional<StoreError> readsFail{};
  int hints{1'000'000};

  [[nodiscard]] std::shared_ptr<void> watch(const LeaseKey& /*key*/, std::function<void()> hint) override {
    const std::lock_guard lock{mutex_};
    hint_ = std::move(hint);
    return nullptr;
  }
  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override {
    if (readsBeforeTheyFail-- > 0) {
      MishapStore::read(key, options, std::move(handler));
    } else {
      tell(std::move(handler), ReadOutcome{*readsFail});
    }
    hintOnce();
  }
  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    if (!writesFail) return MishapStore::write(std::move(request), options, std::move(handler));
    tell(std::move(handler), WriteOutcome{Rejected{*writesFail}});
    hintOnce();
  }

 private:
  void hintOnce() {
    const std::lock_guard lock{mutex_};
    if (hints-- > 0) hint_();
  }

  std::mutex mutex_;
  std::function<void()> hint_{};  // guarded by mutex_
};

class LockTokensReasonTest : public LockTokensTest {
 protected:
  LockError refused(TokenAcquireOptions options, std::chrono::milliseconds wait) {
    options.waitFor = wait;
    auto result = LockTokens{hinting_}.acquire(key_, options);
    EXPECT_TRUE(result.has_error()) << "it was granted";
    return result.has_error() ? result.error() : LockError{LockErrc::closed, "it was granted"};
  }
  LockToken heldByAnother(std::chrono::milliseconds duration) {
    return LockTokens{open()}.acquire(key_, patient(duration, "holder")).value();
  }

  std::shared_ptr<HintingStore> hinting_{std::make_shared<HintingStore>(open())};
  const StoreError locked_{ErrorClass::transient, "the database is locked"};
  const StoreError silent_{ErrorClass::transient, "no answer"};
};

TEST_F(LockTokensReasonTest, ARefusedAcquisitionIsItHoweverManyLooksSucceedAfterIt) {
  hinting_->writesFail = locked_;
  const LockError error = refused(lease(2s), 1s);
  EXPECT_EQ(error.code, LockErrc::storeUnavailable) << error.message;
  EXPECT_EQ(error.store.value().message, locked_.message);
}

TEST_F(LockTokensReasonTest, SoItIsIfTheHolderThatIsStillInTheRecordIsDead) {
  static_cast<void>(heldByAnother(200ms));
  hinting_->writesFail = locked_;
  const LockError error = refused(lease(2s), 2s);
  EXPECT_EQ(error.code, LockErrc::storeUnavailable) << error.message;
  EXPECT_EQ(error.store.value().message, locked_.message);
}

TEST_F(LockTokensReasonTest, OneFailedLookDoesNotHideTheHolderAndIsToldToo) {
  const LockToken held = heldByAnother(60s);
  hinting_->readsBeforeTheyFail = 1;
  hinting_->readsFail = silent_;
  hinting_->hints = 1;  // the look after that comes with the next poll, which is after the wait
  const LockError error = refused(lease(60s), 1s);
  ASSERT_EQ(error.code, LockErrc::held) << error.message;
  EXPECT_EQ(error.holder.value().holder, held.owner());
  EXPECT_EQ(error.store.value().message, silent_.message);
  EXPECT_NE(error.message.find("; the last read of it failed: no answer"), std::string::npos) << error.message;
}

TEST_F(LockTokensReasonTest, AStoreThatIsSilentForLongerIsIt) {
  static_cast<void>(heldByAnother(60s));
  hinting_->readsBeforeTheyFail = 1;
  hinting_->readsFail = silent_;
  hinting_->hints = 2;
  const LockError error = refused(lease(60s), 1s);
  EXPECT_EQ(error.code, LockErrc::storeUnavailable) << error.message;
  EXPECT_EQ(error.message, silent_.message);
}

TEST_F(LockTokensReasonTest, WhatHasToBeMendedIsToldAtOnce) {
  static_cast<void>(heldByAnother(60s));
  hinting_->readsBeforeTheyFail = 1;
  hinting_->readsFail = {ErrorClass::credentials, "access denied"};
  hinting_->hints = 1;
  const Instant before = readClock();
  EXPECT_EQ(refused(lease(60s), 60s).code, LockErrc::accessDenied);
  EXPECT_LT(elapsedForHolder(before, readClock()), 30s) << "waiting would not help";
}

TEST_F(LockTokensReasonTest, AnOutcomeThatIsNotKnownIsToldWithWhatTheStoreSaid) {
  hinting_->plan(std::deque<Mishap>(10'000, Mishap::lostRequest));
  hinting_->readsBeforeTheyFail = 1;
  hinting_->readsFail = {ErrorClass::credentials, "access denied"};
  hinting_->hints = 0;
  TokenAcquireOptions forEver = lease(60s);
  forEver.waitFor.reset();
  const auto result = LockTokens{hinting_}.acquire(key_, forEver);
  ASSERT_EQ(codeOf(result), LockErrc::unknown);
  EXPECT_EQ(result.error().store.value().message, "access denied");
  EXPECT_NE(result.error().message.find(": access denied"), std::string::npos) << result.error().message;
}

TEST_F(LockTokensReasonTest, OneRejectionDoesNotMakeALongLeaseWaitForMinutes) {
  store_->plan({Mishap::lostRequest});
  TokenAcquireOptions options = lease(std::chrono::hours{1});
  options.waitFor = 60s;
  EXPECT_TRUE(tokens_.acquire(key_, options).has_value()) << "a quarter of its heartbeat is five minutes";
}

TEST_F(LockTokensReasonTest, TheIntervalOfTheLooksIsThatOfTheAttemptsToo) {
  store_->plan({Mishap::throttled, Mishap::throttled});
  TokenAcquireOptions options = lease(std::chrono::hours{1});
  options.poll = 50ms;
  options.waitFor = 60s;
  const Instant before = readClock();
  ASSERT_TRUE(tokens_.acquire(key_, options).has_value());
  EXPECT_LT(elapsedForHolder(before, readClock()), 3s);
}

}  // namespace
}  // namespace tenure::test
