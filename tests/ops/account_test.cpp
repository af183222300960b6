// The counts of one driver, by themselves.
#include <algorithm>
#include <atomic>
#include <iostream>
#include <thread>

#include <gtest/gtest.h>

#include <tenure/lockcore/lease_record.hpp>

#include "lockcore/driver/lease_account.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using Purpose = WriteRequest::Purpose;

const Instant start{10s, 10s, 10s};

LeaseEvent answered(Attempt attempt, WriteOutcome outcome = Applied{FencingToken{1}}) {
  return event::WriteReply{attempt, std::move(outcome)};
}

TEST(LeaseAccount, TimesARenewalFromItsSendingToItsAnswer) {
  LeaseAccount account;
  account.sent(1, Purpose::acquire, start);
  account.took(answered(1), FencingToken{1}, start + 1s);
  EXPECT_EQ(account.counts(Instant{}), LeaseCounts{}) << "an acquisition is no renewal";
  account.sent(2, Purpose::renew, start);
  account.took(answered(2), FencingToken{1}, start + 7ms);
  account.sent(3, Purpose::renew, start);
  account.took(answered(3), FencingToken{1}, start + 10ms);
  account.sent(4, Purpose::renew, start);
  account.took(answered(4, Conflict{}), FencingToken{1}, start + 1h);
  const LeaseCounts counts = account.counts(Instant{});
  EXPECT_EQ(counts.renewals, (std::array<std::uint64_t, 4>{2, 1, 0, 0}));
  EXPECT_EQ(counts.renewalTimes[3], 2U) << "up to 10 ms, the bound included";
  EXPECT_EQ(counts.renewalTimes.back(), 1U);
  EXPECT_EQ(counts.renewalTimeSum, 1h + 17ms);
}

TEST(LeaseAccount, AnswerIsCountedOnceAndRenewalThatNobodyWaitsForIsUnknown) {
  LeaseAccount account;
  account.sent(1, Purpose::renew, start);
  account.sent(2, Purpose::renew, start + 1s);
  account.took(answered(1), FencingToken{1}, start + 2s);
  account.took(answered(2), FencingToken{1}, start + 2s);
  account.took(answered(2), FencingToken{1}, start + 3s);
  EXPECT_EQ(account.counts(Instant{}).renewals, (std::array<std::uint64_t, 4>{1, 0, 0, 1}));
}

TEST(LeaseAccount, CountsTheTimeInWhichNobodyHoldsTheLease) {
  LeaseAccount account;
  const auto at = [](std::chrono::nanoseconds time) { return Instant{time, time, time}; };
  EXPECT_EQ(account.counts(at(9s)).leaderless, 0s) << "nothing is known yet";
  account.told(action::LeaderChanged{}, at(10s));
  account.told(action::LeaderChanged{}, at(11s));
  EXPECT_EQ(account.counts(at(13s)).leaderless, 3s) << "it goes on";
  account.told(action::LeaderChanged{LeaderInfo{}}, at(14s));
  EXPECT_EQ(account.counts(at(20s)).leaderless, 4s);
  account.told(action::LeaderChanged{}, at(30s));
  account.told(action::Stopped{}, at(31s));
  EXPECT_EQ(account.counts(at(40s)).leaderless, 5s) << "who has stopped does not look";
}

TEST(LeaseAccount, CountsTheTimeInWhichTheWorkOfALeaderWasReallyDone) {
  LeaseAccount account;
  const auto at = [](std::chrono::nanoseconds time) { return Instant{time, time, time}; };
  const auto term = [&](std::chrono::nanoseconds anchor, std::uint64_t token = 1) {
    return TermState{at(anchor), 9s, 10s, FencingToken{token}};
  };
  account.published(term(10s), at(10s));
  EXPECT_EQ(account.counts(at(15s)).effective, 0s) << "it leads, and warms up";
  account.effective(term(10s), at(15s));
  account.effective(term(10s), at(16s));
  EXPECT_EQ(account.counts(at(17s)).effective, 2s) << "from the first report on";
  EXPECT_EQ(account.counts(at(60s)).effective, 4s) << "nobody knows yet that the term ran out";
  account.published(term(17s), at(18s));
  EXPECT_EQ(account.counts(at(25s)).effective, 10s) << "it was renewed";
  account.published(TermState{at(17s), 0s, 10s, FencingToken{1}}, at(60s));
  EXPECT_EQ(account.counts(at(70s)).effective, 11s) << "to the deadline; the process was paused after it";
  account.effective(term(60s, 2), at(71s));
  EXPECT_EQ(account.counts(at(80s)).effective, 11s) << "a report that comes after the end of its term";
  account.effective(term(80s, 3), at(80s));
  account.published(TermState{}, at(81s));
  EXPECT_EQ(account.counts(at(90s)).effective, 12s) << "it gave leadership up";
}

/// Only the elector knows which of the two it was, and tells it in the log and to onRevoked.
TEST(LeaseAccount, NotesNoCauseThatMayBeFalseWhereTheMachineWasNotStepped) {
  LeaseAccount account;
  const std::string pause = "this process did not run for 31536000000 ms";
  account.told(action::Revoked{{RevokeReason::expired, pause, FencingToken{1}}, true});
  account.told(action::Revoked{{RevokeReason::lost, "somebody else", FencingToken{2}}});
  const auto events = account.events();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].detail, pause + ", or the thread that renews the lease was blocked");
  EXPECT_EQ(events[1].detail, "somebody else");
}

/// At whatever moment they are read: what is over counts once, as while it lasted. Nearly all of the time nobody holds
/// the lease here.
TEST(LeaseAccount, TimesNeverFallAndAreNeverMoreThanHasPassed) {
  LeaseAccount account;
  std::atomic<bool> done{false};
  const Instant begin = readClock();
  std::thread writer{[&] {
    for (std::uint64_t token = 1; !done; ++token) {
      const Instant now = readClock();
      account.told(action::LeaderChanged{LeaderInfo{}}, now);
      account.told(action::LeaderChanged{}, now);
      account.effective(TermState{now, 9s, 10s, FencingToken{token}}, now);
      account.published(TermState{now, 0s, 10s, FencingToken{token}}, readClock());
    }
  }};
  LeaseCounts last;
  int falls = 0, tooMuch = 0;
  for (int i = 0; i < 500'000; ++i) {
    const LeaseCounts counts = account.counts(readClock());
    falls += counts.leaderless < last.leaderless || counts.effective < last.effective ? 1 : 0;
    tooMuch += counts.leaderless > readClock().boottime - begin.boottime ? 1 : 0;
    last = counts;
  }
  done = true;
  writer.join();
  EXPECT_EQ(falls, 0);
  EXPECT_EQ(tooMuch, 0);
}

TEST(LeaseAccount, LongDetailIsCutBetweenCharacters) {
  LeaseAccount account;
  account.told(
      action::InDoubt{{ErrorClass::transient, std::string(maxTermEventDetail - 1, 'x') + "\xC3\xA4" + "more"}, 1s},
      FencingToken{1});
  const auto events = account.events();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].detail, std::string(maxTermEventDetail - 1, 'x'));
  EXPECT_TRUE(isUtf8(events[0].detail));
}

TEST(LeaseAccount, OldestEventsAreDropped) {
  LeaseAccount account;
  for (std::uint64_t token = 1; token <= maxTermEvents + 5; ++token) {
    account.told(action::Elected{FencingToken{token}});
  }
  const auto events = account.events();
  ASSERT_EQ(events.size(), maxTermEvents);
  EXPECT_EQ(events.front().token, FencingToken{6});
  EXPECT_EQ(account.counts(Instant{}).terms, maxTermEvents + 5);
}

TEST(LeaseAccount, IsOverdueFromTheWakeupOn) {
  LeaseAccount account;
  EXPECT_EQ(account.overdue(start), 0ns);
  account.armed(start + 1s);
  EXPECT_EQ(account.overdue(start), 0ns);
  EXPECT_EQ(account.overdue(start + 3s), 2s);
  account.armed(std::nullopt);
  EXPECT_EQ(account.overdue(start + 3s), 0ns);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/// The least of many rounds, because other processes only ever add time.
TEST(LeaseAccount, ARenewalCostsAtMost200Nanoseconds) {
  LeaseAccount account;
  constexpr int each = 1'000;
  double least = 1e9;
  for (int round = 0; round < 200; ++round) {
    const Instant from = readClock();
    for (Attempt attempt = 1; attempt <= each; ++attempt) {
      const LeaseEvent event = answered(attempt);
      account.sent(attempt, Purpose::renew, from);
      account.took(event, FencingToken{1}, from);
      account.armed(from);
      account.told(action::Renewed{FencingToken{1}, false});
    }
    least = std::min(least, static_cast<double>((readClock().raw - from.raw).count()) / each);
  }
  std::cout << "accounting of a renewal: " << least << " ns\n";
  EXPECT_LE(least, 200);
}
#endif

}  // namespace
}  // namespace tenure::test
