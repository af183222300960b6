#include "adapters/gateway/src/lease_gate.hpp"

#include <map>

#include <gtest/gtest.h>

#include <tenure/lockcore/lease_store.hpp>

#include "support/seeded_random.hpp"

namespace tenure::http_fence {
namespace {

TermStamp stamp(std::uint64_t token, std::string holder = "a#1") {
  return {"billing", FencingToken{token}, std::move(holder)};
}

/// What one write makes where nothing is to be waited for.
TermMarks both(const TermStamp& of) { return {of, of.token}; }
/// Only that the term was seen.
TermMarks seenOnly(const TermStamp& of) { return {of, std::nullopt}; }
/// Has the term stored, and its requests passed.
void know(LeaseGate& gate, const TermStamp& of) { (void)gate.stored(both(of)); }

const FenceError diskFull = fenceError({ErrorClass::transient, "disk full"});

TEST(LeaseGate, theFirstRequestOfATermPassesWhenItsTokenIsDurable) {
  LeaseGate gate{std::nullopt, 10};
  const auto arrived = gate.arrive(1, stamp(5));
  EXPECT_TRUE(arrived.passed.empty());
  ASSERT_TRUE(arrived.store);
  EXPECT_EQ(*arrived.store, both(stamp(5))) << "one write, because there is nothing to wait for";
  EXPECT_EQ(gate.stored(both(stamp(5))).passed, std::vector<Ticket>{1});
  const auto next = gate.arrive(2, stamp(5));
  EXPECT_EQ(next.passed, std::vector<Ticket>{2}) << "side by side, and without a write";
  EXPECT_FALSE(next.store);
}

TEST(LeaseGate, aStaleRequestIsRefusedWithBothTokens) {
  LeaseGate gate{stamp(5), 10};
  const auto effects = gate.arrive(1, stamp(4, "b#2"));
  ASSERT_EQ(effects.refused.size(), 1U);
  EXPECT_EQ(*effects.refused[0].error.stale(), (StaleToken{FencingToken{4}, FencingToken{5}}));
  EXPECT_FALSE(effects.store);
}

TEST(LeaseGate, theSameTokenOfAnotherHolderIsRefused) {
  LeaseGate gate{stamp(5), 10};
  know(gate, stamp(5));
  EXPECT_NE(gate.arrive(1, stamp(5, "b#2")).refused.at(0).error.foreign(), nullptr);
  EXPECT_NE(gate.arrive(2, stamp(5, "")).refused.at(0).error.foreign(), nullptr) << "nobody is not the holder";
  EXPECT_EQ(gate.arrive(3, stamp(5)).passed, std::vector<Ticket>{3});
}

TEST(LeaseGate, aHolderThatIsNamedLateIsRemembered) {
  LeaseGate gate{stamp(5, ""), 10};
  know(gate, stamp(5, ""));
  EXPECT_EQ(gate.arrive(1, stamp(5, "")).passed, std::vector<Ticket>{1});
  EXPECT_EQ(gate.arrive(2, stamp(5)).store, seenOnly(stamp(5)));
  EXPECT_EQ(gate.stored(seenOnly(stamp(5))).passed, std::vector<Ticket>{2});
  EXPECT_NE(gate.arrive(3, stamp(5, "b#2")).refused.at(0).error.foreign(), nullptr);
}

TEST(LeaseGate, aLaterTermWaitsForTheRequestsUnderWayAndTellsThem) {
  LeaseGate gate{stamp(5), 10};
  know(gate, stamp(5));
  (void)gate.arrive(1, stamp(5));
  (void)gate.arrive(2, stamp(5));
  const auto later = gate.arrive(3, stamp(6));
  EXPECT_EQ(later.overtaken, (std::set<Ticket>{1, 2}));
  EXPECT_EQ(later.store, seenOnly(stamp(6))) << "a mark that it passed would be a lie";
  EXPECT_TRUE(gate.stored(*later.store).passed.empty());
  EXPECT_EQ(gate.arrive(4, stamp(5)).refused.size(), 1U) << "from the arrival of the later term on";
  EXPECT_FALSE(gate.end(1).store);
  const auto last = gate.end(2);
  EXPECT_TRUE(last.passed.empty()) << "not before a restart would know it";
  ASSERT_EQ(last.store, both(stamp(6)));
  EXPECT_EQ(gate.stored(*last.store).passed, std::vector<Ticket>{3});
}

TEST(LeaseGate, aLaterTermIsMarkedNextIfEarlierRequestsEndDuringItsWrite) {
  LeaseGate gate{stamp(5), 10};
  know(gate, stamp(5));
  (void)gate.arrive(1, stamp(5));
  (void)gate.arrive(2, stamp(6));
  EXPECT_EQ(gate.end(1).store, both(stamp(6)));
  EXPECT_TRUE(gate.stored(seenOnly(stamp(6))).passed.empty());
  EXPECT_EQ(gate.stored(both(stamp(6))).passed, std::vector<Ticket>{2});
}

TEST(LeaseGate, aMarkThatCannotBeStoredPassesNobodyAndIsTriedAgain) {
  LeaseGate gate{stamp(5), 10};
  know(gate, stamp(5));
  (void)gate.arrive(1, stamp(5));
  (void)gate.arrive(2, stamp(6));
  (void)gate.stored(seenOnly(stamp(6)));
  const auto ended = gate.end(1);
  ASSERT_TRUE(ended.store);
  EXPECT_EQ(gate.notStored(*ended.store, diskFull).refused.at(0).error.message, "disk full");
  const auto again = gate.arrive(3, stamp(6));
  EXPECT_TRUE(again.passed.empty());
  ASSERT_EQ(again.store, both(stamp(6)));
  EXPECT_EQ(gate.stored(*again.store).passed, std::vector<Ticket>{3});
}

TEST(LeaseGate, whoWaitsIsRefusedWhenOvertaken) {
  LeaseGate gate{stamp(5), 10};
  know(gate, stamp(5));
  (void)gate.arrive(1, stamp(5));
  (void)gate.arrive(2, stamp(6));
  const auto effects = gate.arrive(3, stamp(7));
  ASSERT_EQ(effects.refused.size(), 1U);
  EXPECT_EQ(effects.refused[0].ticket, 2U);
  EXPECT_EQ(*effects.refused[0].error.stale(), (StaleToken{FencingToken{6}, FencingToken{7}}));
  EXPECT_TRUE(gate.end(1).passed.empty()) << "not durable yet";
  EXPECT_TRUE(gate.stored(seenOnly(stamp(6))).passed.empty());
  EXPECT_EQ(gate.stored(both(stamp(7))).passed, std::vector<Ticket>{3});
}

TEST(LeaseGate, aTokenThatCannotBeStoredPassesNobodyAndIsTriedAgain) {
  LeaseGate gate{std::nullopt, 10};
  (void)gate.arrive(1, stamp(5));
  const auto failed = gate.notStored(both(stamp(5)), diskFull);
  ASSERT_EQ(failed.refused.size(), 1U);
  EXPECT_EQ(failed.refused[0].error.message, "disk full");
  EXPECT_EQ(gate.arrive(2, stamp(4)).refused.size(), 1U) << "never lowered";
  EXPECT_EQ(gate.arrive(3, stamp(5)).store, both(stamp(5)));
  EXPECT_EQ(gate.stored(both(stamp(5))).passed, std::vector<Ticket>{3});
}

TEST(LeaseGate, onlySoManyWait) {
  LeaseGate gate{stamp(5), 2};
  know(gate, stamp(5));
  (void)gate.arrive(1, stamp(5));
  (void)gate.arrive(2, stamp(6));
  (void)gate.arrive(3, stamp(6));
  const auto effects = gate.arrive(4, stamp(6));
  ASSERT_EQ(effects.refused.size(), 1U);
  EXPECT_EQ(effects.refused[0].error.writeError()->error.errorClass, ErrorClass::throttled);
  EXPECT_EQ(gate.arrive(5, stamp(7)).refused.size(), 2U) << "a later term takes their places";
}

TEST(LeaseGate, afterACrashALaterTermWaitsAndTheLastOneGoesOn) {
  LeaseGate gate{stamp(5), 10};
  gate.suppose(1, FencingToken{5});
  EXPECT_EQ(gate.arrive(2, stamp(5)).passed, std::vector<Ticket>{2});
  EXPECT_EQ(gate.arrive(3, stamp(6)).store, seenOnly(stamp(6)));
  EXPECT_FALSE(gate.end(2).store);
  const auto over = gate.end(1);
  ASSERT_EQ(over.store, both(stamp(6)));
  EXPECT_EQ(gate.stored(*over.store).passed, std::vector<Ticket>{3});
}

/// The process was killed between the two marks of term 6: a request of term 5 may be under way.
TEST(LeaseGate, afterACrashATermThatWasSeenAndNeverPassedWaitsToo) {
  LeaseGate gate{stamp(6), 10};
  gate.suppose(1, FencingToken{5});
  EXPECT_EQ(gate.arrive(2, stamp(5)).refused.size(), 1U) << "its term is over all the same";
  const auto arrived = gate.arrive(3, stamp(6));
  EXPECT_TRUE(arrived.passed.empty());
  EXPECT_FALSE(arrived.store) << "it is known already, and may not be marked";
  const auto over = gate.end(1);
  ASSERT_EQ(over.store, both(stamp(6)));
  EXPECT_EQ(gate.stored(*over.store).passed, std::vector<Ticket>{3});
}

TEST(LeaseGate, whereNoMarkSaysOfWhichTermTheRequestsAreEachTermWaits) {
  for (const std::uint64_t token : {5U, 6U}) {
    LeaseGate gate{stamp(5), 10};
    gate.suppose(1, FencingToken{});
    EXPECT_TRUE(gate.arrive(2, stamp(token)).passed.empty());
    if (token == 6) (void)gate.stored(seenOnly(stamp(6)));
    const auto over = gate.end(1);
    ASSERT_EQ(over.store, both(stamp(token)));
    EXPECT_EQ(gate.stored(*over.store).passed, std::vector<Ticket>{2});
  }
}

TEST(LeaseGate, aMarkAboveTheHighestTokenLetsNobodyPass) {
  LeaseGate gate{stamp(5), 10};  // as after `tenure fence recover`
  gate.suppose(1, FencingToken{9});
  EXPECT_TRUE(gate.arrive(2, stamp(5)).passed.empty());
  const auto over = gate.end(1);
  ASSERT_EQ(over.store, both(stamp(5)));
  EXPECT_EQ(gate.stored(*over.store).passed, std::vector<Ticket>{2});
}

/// Judges any order of events from outside, by what the gate promises.
class Judge {
 public:
  explicit Judge(LeaseGate& gate) : gate_{gate} {}

  void arrive(std::uint64_t token, std::string holder) {
    const Ticket ticket = ++last_;
    asked_[ticket] = token;
    take(gate_.arrive(ticket, stamp(token, std::move(holder))));
  }
  void endOne(test::SeededRandom& random) {
    if (underWay_.empty()) return;
    auto at = std::next(underWay_.begin(), static_cast<std::ptrdiff_t>(random.below(underWay_.size())));
    const Ticket ticket = at->first;
    underWay_.erase(at);
    take(gate_.end(ticket));
  }
  void write(bool good) {
    if (toStore_.empty()) return;
    const TermMarks next = toStore_.front();
    toStore_.erase(toStore_.begin());
    if (good) disk_ = std::max(disk_, next.seen.token.value());
    if (good && next.passed) passed_ = next.passed->value();
    take(good ? gate_.stored(next) : gate_.notStored(next, diskFull));
  }
  /// Everything ends and the disk works: nobody may be left waiting.
  void settle(test::SeededRandom& random) {
    for (int i = 0; i < 1000 && !(toStore_.empty() && underWay_.empty()); ++i) {
      write(true);
      endOne(random);
    }
    EXPECT_TRUE(asked_.empty()) << asked_.size() << " are left without an answer";
  }
  std::size_t passes() const { return passes_; }

 private:
  void take(const LeaseGate::Effects& effects) {
    if (effects.store) put(*effects.store);
    if (effects.store && effects.store->passed) {
      for (const auto& [other, token] : underWay_) ASSERT_EQ(token, effects.store->passed->value()) << "a false mark";
    }
    for (const auto& refused : effects.refused) ASSERT_EQ(asked_.erase(refused.ticket), 1U) << "answered twice";
    for (const Ticket ticket : effects.passed) {
      const auto asked = asked_.find(ticket);
      ASSERT_NE(asked, asked_.end()) << "answered twice";
      const std::uint64_t token = asked->second;
      asked_.erase(asked);
      ASSERT_GE(token, highestPassed_) << "an older term after a newer one";
      ASSERT_GE(disk_, token) << "before the disk had it";
      ASSERT_EQ(passed_, token) << "before the disk had its mark";
      for (const auto& [other, otherToken] : underWay_) ASSERT_EQ(otherToken, token) << "two terms at once";
      highestPassed_ = token;
      underWay_[ticket] = token;
      ++passes_;
    }
  }

  /// As TokenMemory does: one write is under way, and what comes meanwhile is one write after it.
  void put(const TermMarks& marks) {
    if (toStore_.size() < 2) return toStore_.push_back(marks);
    toStore_.back() = {marks.seen, std::max(toStore_.back().passed, marks.passed)};
  }

  LeaseGate& gate_;
  Ticket last_{0};
  std::map<Ticket, std::uint64_t> asked_{};
  std::map<Ticket, std::uint64_t> underWay_{};
  std::vector<TermMarks> toStore_{};
  std::uint64_t disk_{0};
  std::uint64_t passed_{0};
  std::uint64_t highestPassed_{0};
  std::size_t passes_{0};
};

TEST(LeaseGate, inAnyOrderOfEventsNoOlderRequestIsUnderWayWithANewerOne) {
  std::size_t passes = 0;
  for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
    test::SeededRandom random{seed};
    LeaseGate gate{std::nullopt, 1 + random.below(8)};
    Judge judge{gate};
    std::uint64_t token = 1;
    for (int step = 0; step < 100 && !testing::Test::HasFailure(); ++step) {
      const auto dice = random.below(10);
      if (dice < 5) {
        if (random.below(4) == 0) ++token;
        const std::uint64_t mine = token - std::min<std::uint64_t>(token - 1, random.below(3));
        judge.arrive(mine, random.below(3) == 0 ? "" : "h" + std::to_string(mine));
      } else if (dice < 8) {
        judge.endOne(random);
      } else {
        judge.write(random.below(5) != 0);
      }
    }
    judge.settle(random);
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
    passes += judge.passes();
  }
  EXPECT_GT(passes, 15'000U) << "the gate hardly ever opened";
}

}  // namespace
}  // namespace tenure::http_fence
