// The decisions of one renewal or release of a token, without a store: what follows from each answer.
#include "lockcore/token/token_write.hpp"

#include <gtest/gtest.h>

#include "support/seeded_random.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using Next = TokenWrite::Next;

class TokenWriteTest : public ::testing::Test {
 protected:
  static LockTokenParts token() {
    LockTokenParts parts;
    parts.key = {"lock"};
    parts.owner = "a#1";
    parts.version = RecordVersion{"v0"};
    parts.lease = 10s;
    parts.token = FencingToken{3};
    parts.clockDomain = "here";
    parts.acquiredAtMillis = 77;
    return parts;
  }
  TokenWrite renewal(std::chrono::milliseconds lease = 10s) {
    return {token(), TokenWrite::Kind::renew, lease, random_};
  }
  TokenWrite release() { return {token(), TokenWrite::Kind::release, 10s, random_}; }
  /// What the store contains after `request` arrived.
  static LeaseRecord after(const WriteRequest& request) { return request.record; }
  static LeaseRecord stored() {
    LeaseRecord record;
    record.holder = "a#1";
    record.version = RecordVersion{"v0"};
    record.token = FencingToken{3};
    return record;
  }
  static LeaseRecord rivals() {
    LeaseRecord record;
    record.holder = "b#2";
    record.version = RecordVersion{"w0"};
    record.token = FencingToken{4};
    return record;
  }
  static WriteOutcome conflictWith(std::optional<LeaseRecord> record) { return Conflict{std::move(record)}; }
  static StoreError injected(ErrorClass c = ErrorClass::transient) { return {c, "injected"}; }

  SeededRandom random_{1};
  const Instant t0_{100s, 100s, 100s};
};

TEST_F(TokenWriteTest, ARenewalCarriesTheWholeStateAndTheNewLease) {
  TokenWrite write = renewal(25s);
  const WriteRequest request = write.nextWrite(t0_, 88);
  EXPECT_EQ(request.purpose, WriteRequest::Purpose::renew);
  EXPECT_EQ(request.expected, std::vector{RecordVersion{"v0"}});
  EXPECT_EQ(request.record.holder, "a#1");
  EXPECT_EQ(request.record.leaseDuration, 25s);
  EXPECT_EQ(request.record.acquiredAtMillis, 77);
  EXPECT_EQ(request.record.renewedAtMillis, 88);
  EXPECT_FALSE(request.record.released);
  EXPECT_EQ(request.record.livenessFile, std::nullopt) << "no process is behind it whose death would prove anything";
  ASSERT_EQ(write.answered(Applied{FencingToken{3}}), Next::done);
  EXPECT_EQ(write.landed().version, request.record.version);
  EXPECT_EQ(write.landed().lease, 25s);
  EXPECT_EQ(write.landed().sentAt, t0_) << "the right counts from before the write was sent (I2)";
}

TEST_F(TokenWriteTest, AnUnansweredRenewalThatLandedIsFoundAndCountsFromItsOwnSending) {
  TokenWrite write = renewal();
  const WriteRequest first = write.nextWrite(t0_, 0);
  ASSERT_EQ(write.answered(Unknown{injected()}), Next::read);
  ASSERT_EQ(write.readBack(injected()), Next::read);
  ASSERT_EQ(write.readBack(std::optional{after(first)}), Next::done);
  EXPECT_EQ(write.landed().version, first.record.version);
  EXPECT_EQ(write.landed().sentAt, t0_);
}

TEST_F(TokenWriteTest, AnUnansweredRenewalIsWrittenAgainAndMayStillLand) {
  TokenWrite write = renewal();
  const WriteRequest first = write.nextWrite(t0_, 0);
  ASSERT_EQ(write.answered(Unknown{injected()}), Next::read);
  ASSERT_EQ(write.readBack(std::optional{stored()}), Next::write);
  const WriteRequest second = write.nextWrite(t0_ + 1s, 0);
  EXPECT_EQ(second.expected, (std::vector{RecordVersion{"v0"}, first.record.version}));
  EXPECT_NE(second.record.version, first.record.version);
  // The first one arrived after the second was refused: the record is ours all the same.
  ASSERT_EQ(write.answered(conflictWith(after(first))), Next::done);
  EXPECT_EQ(write.landed().sentAt, t0_);
}

TEST_F(TokenWriteTest, AnUnansweredReleaseThatIsNotThereYetIsWrittenAgain) {
  TokenWrite write = release();
  const WriteRequest first = write.nextWrite(t0_, 0);
  ASSERT_EQ(write.answered(Unknown{injected()}), Next::read);
  ASSERT_EQ(write.readBack(std::optional{stored()}), Next::write) << "the record shows that the lock is still held";
  const WriteRequest second = write.nextWrite(t0_ + 1s, 0);
  EXPECT_TRUE(second.record.released);
  EXPECT_EQ(second.expected, (std::vector{RecordVersion{"v0"}, first.record.version}));
  ASSERT_EQ(write.answered(conflictWith(stored())), Next::write) << "neither of the two has arrived";
  EXPECT_EQ(write.giveUp().code, LockErrc::unknown);
  EXPECT_TRUE(write.nextWrite(t0_ + 2s, 0).record.released);
  ASSERT_EQ(write.answered(Applied{FencingToken{3}}), Next::done);
  EXPECT_EQ(write.release(), ReleaseResult::released);
}

/// Somebody marked it by hand and left the version unchanged.
TEST_F(TokenWriteTest, AnUnansweredRenewalThatIsMarkedAsReleasedIsNoRenewal) {
  TokenWrite write = renewal();
  LeaseRecord marked = after(write.nextWrite(t0_, 0));
  marked.released = true;
  ASSERT_EQ(write.answered(Unknown{injected()}), Next::read);
  ASSERT_EQ(write.readBack(std::optional{marked}), Next::failed);
  EXPECT_EQ(write.error().code, LockErrc::notHeld);
}

TEST_F(TokenWriteTest, AConflictThatShowsTheRecordDecides) {
  struct Case {
    std::optional<LeaseRecord> record;
    LockErrc code;
    std::optional<RevokeReason> reason{};
  };
  LeaseRecord newer = stored(), released = stored();
  newer.version = RecordVersion{"v1"};
  released.version = RecordVersion{"v1"};
  released.released = true;
  for (const Case& c : {Case{rivals(), LockErrc::lost, RevokeReason::lost},
                        Case{std::nullopt, LockErrc::lost, RevokeReason::recordMissing},
                        Case{newer, LockErrc::superseded}, Case{released, LockErrc::notHeld}}) {
    TokenWrite write = renewal();
    static_cast<void>(write.nextWrite(t0_, 0));
    ASSERT_EQ(write.answered(conflictWith(c.record)), Next::failed);
    EXPECT_EQ(write.error().code, c.code) << write.error().message;
    EXPECT_EQ(write.error().reason, c.reason) << write.error().message;
  }
}

TEST_F(TokenWriteTest, AConflictThatHidesTheRecordIsReadBack) {
  TokenWrite write = renewal();
  const WriteRequest first = write.nextWrite(t0_, 0);
  ASSERT_EQ(write.answered(Conflict{}), Next::read);
  EXPECT_EQ(write.readBack(std::optional{after(first)}), Next::done)
      << "a write that was delivered twice conflicts with its own first copy";
}

TEST_F(TokenWriteTest, ReleasedNotHeldAndLostAreThreeAnswers) {
  {
    TokenWrite write = release();
    EXPECT_TRUE(write.nextWrite(t0_, 0).record.released);
    ASSERT_EQ(write.answered(Applied{FencingToken{3}}), Next::done);
    EXPECT_EQ(write.release(), ReleaseResult::released);
  }
  {
    LeaseRecord released = stored();
    released.released = true;
    TokenWrite write = release();
    static_cast<void>(write.nextWrite(t0_, 0));
    ASSERT_EQ(write.answered(conflictWith(released)), Next::done);
    EXPECT_EQ(write.release(), ReleaseResult::notHeld);
  }
  {
    TokenWrite write = release();
    static_cast<void>(write.nextWrite(t0_, 0));
    ASSERT_EQ(write.answered(conflictWith(std::nullopt)), Next::done);
    EXPECT_EQ(write.release(), ReleaseResult::notHeld);
  }
  TokenWrite write = release();
  static_cast<void>(write.nextWrite(t0_, 0));
  ASSERT_EQ(write.answered(conflictWith(rivals())), Next::failed);
  EXPECT_EQ(write.error().code, LockErrc::lost);
}

TEST_F(TokenWriteTest, AReleaseWithAnOldTokenDoesNotTouchTheNewer) {
  LeaseRecord newer = stored();
  newer.version = RecordVersion{"v1"};
  TokenWrite write = release();
  static_cast<void>(write.nextWrite(t0_, 0));
  ASSERT_EQ(write.answered(conflictWith(newer)), Next::failed);
  EXPECT_EQ(write.error().code, LockErrc::superseded);
}

TEST_F(TokenWriteTest, WhatMayPassIsTriedAgainAndWhatMayNotIsTold) {
  for (const ErrorClass passing : {ErrorClass::transient, ErrorClass::throttled}) {
    TokenWrite write = renewal();
    static_cast<void>(write.nextWrite(t0_, 0));
    ASSERT_EQ(write.answered(Rejected{injected(passing)}), Next::write);
    EXPECT_EQ(write.nextWrite(t0_, 0).expected.size(), 1U) << "what was rejected cannot be in the record";
    EXPECT_EQ(write.giveUp().code, LockErrc::unknown) << "one is under way";
  }
  for (const auto& [lasting, code] : {std::pair{ErrorClass::credentials, LockErrc::accessDenied},
                                      std::pair{ErrorClass::misconfigured, LockErrc::storeMisconfigured},
                                      std::pair{ErrorClass::corrupt, LockErrc::recordCorrupt}}) {
    TokenWrite write = renewal();
    static_cast<void>(write.nextWrite(t0_, 0));
    ASSERT_EQ(write.answered(Rejected{injected(lasting)}), Next::failed);
    EXPECT_EQ(write.error().code, code);
    EXPECT_EQ(write.error().store.value().errorClass, lasting);
  }
}

TEST_F(TokenWriteTest, WhenTheTimeIsOverAnUnansweredWriteIsUnknownAndNeverASuccess) {
  TokenWrite write = renewal();
  static_cast<void>(write.nextWrite(t0_, 0));
  ASSERT_EQ(write.answered(Unknown{injected()}), Next::read);
  const LockError error = write.giveUp();
  EXPECT_EQ(error.code, LockErrc::unknown);
  EXPECT_NE(error.message.find("resume it by its owner a#1"), std::string::npos) << error.message;
  ASSERT_EQ(write.readBack(injected(ErrorClass::credentials)), Next::failed);
  EXPECT_EQ(write.error().code, LockErrc::unknown) << "an error of the read says nothing of the write";
}

/// The record may state the shorter lease, and the old token cannot know.
TEST_F(TokenWriteTest, AnUnansweredShorterLeaseSaysForHowLongTheOldTokenCounts) {
  const auto says = [](TokenWrite write) {
    static_cast<void>(write.nextWrite({}, 0));
    const LockError error = write.giveUp();
    EXPECT_EQ(error.code, LockErrc::unknown);
    return error.message.find("the old token counts only for 2000 ms from the call on") != std::string::npos;
  };
  EXPECT_TRUE(says(renewal(2s)));
  EXPECT_FALSE(says(renewal(10s)));
  EXPECT_FALSE(says(renewal(20s)));
  EXPECT_FALSE(says(release()));
}

/// The record may have the shorter lease since, and another owner after it.
TEST_F(TokenWriteTest, AfterAnUnansweredShorterLeaseTheClockIsSureForThatLeaseOnly) {
  LockTokenParts held = token();
  held.sentAt = t0_;
  TokenWrite write{held, TokenWrite::Kind::renew, 1s, random_};
  EXPECT_GT(write.sureFor("here", t0_ + 1s), 5s);
  static_cast<void>(write.nextWrite(t0_ + 1s, 0));
  EXPECT_LE(write.sureFor("here", t0_ + 1s), 1s);
  EXPECT_EQ(write.sureFor("here", t0_ + 3s), 0s);
  TokenWrite longer{held, TokenWrite::Kind::renew, 20s, random_};
  static_cast<void>(longer.nextWrite(t0_ + 1s, 0));
  EXPECT_GT(longer.sureFor("here", t0_ + 3s), 5s);
}

}  // namespace
}  // namespace tenure::test
