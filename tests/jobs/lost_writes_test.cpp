// Jobs on a store that has lost its last writes: a standby was promoted that lacked them, or an older copy was put
// back.
#include <atomic>
#include <mutex>

#include <gtest/gtest.h>

#include "jobs_stage.hpp"
#include "support/timelines.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

class LostWrites : public testing::Test {
 protected:
  LostWrites() { stage_.put(""); }  // so that the first term knows the store's history

  [[nodiscard]] ScheduledJob job(Guarantee guarantee) {
    return {"job", everyMinute(), {.guarantee = guarantee}, Overlap::wait, [this](const JobRun& run) {
              const std::lock_guard lock{mutex_};
              begun_.push_back(textOf(run.period));
            }};
  }
  [[nodiscard]] JobsStage::Copy copy(const std::string& name, Guarantee guarantee = Guarantee::atMostOnce) {
    return stage_.copy(name, {job(guarantee)}, {}, server_);
  }
  [[nodiscard]] Lines begun() const {
    const std::lock_guard lock{mutex_};
    return begun_;
  }
  [[nodiscard]] bool hasRun(std::size_t runs) {
    return stage_.until([&] { return begun().size() == runs && stage_.recorded().past.size() == runs; });
  }
  /// Two periods were run; the store has lost all of the second.
  void runTwoAndLoseOne() {
    ASSERT_TRUE(hasRun(1));
    const std::string before = stage_.stored()->data;
    stage_.setWallAhead(1min);
    ASSERT_TRUE(hasRun(2));
    stage_.put(before);
  }
  void promote() { server_->promote(); }
  /// The record says that the term of this token was the last.
  void setToken(std::uint64_t token) {
    StoredTokens stored;
    extended(stage_.memory)->readTokens(stage_.key, {}, [&](const auto& answer) { stored = answer.value(); });
    stage_.settle();
    extended(stage_.memory)->setTokens(stage_.key, stored, FencingToken{token}, {}, [](const WriteOutcome&) {});
    stage_.settle();
  }
  /// The lease is held again, and some seconds have passed.
  void settleDown(const JobsStage::Copy& copy) {
    ASSERT_TRUE(stage_.until([&] {
      const auto record = stage_.stored();
      return leads(copy) && record && record->holder != "somebody";
    }));
    static_cast<void>(eventually([&] { return stage_.advance(50ms), false; }, 200ms));
  }
  [[nodiscard]] static bool leads(const JobsStage::Copy& copy) {
    return copy->status().elector.fencingToken.has_value();
  }
  void crash(const JobsStage::Copy& copy) { copy.store->setAll(Fault::neverLost); }

  JobsStage stage_;
  std::shared_ptr<Timelines> server_{std::make_shared<Timelines>(stage_.memory)};
  mutable std::mutex mutex_;
  Lines begun_;
};

const Lines ranTwo{"2026-03-01T12:00Z", "2026-03-01T12:01Z"};
const Lines ranThree{"2026-03-01T12:00Z", "2026-03-01T12:01Z", "2026-03-01T12:02Z"};

TEST_F(LostWrites, atMostOnceAPeriodThatALostTermMayHaveBegunIsLeftOut) {
  const auto a = copy("a");
  runTwoAndLoseOne();
  crash(a);
  promote();
  const auto b = copy("b");
  settleDown(b);
  EXPECT_EQ(begun(), ranTwo) << "the newcomer sees a ledger without the second period, and cannot know";
  EXPECT_TRUE(
      stage_.until([&] { return stage_.logged("the period of 2026-03-01T12:01:00.000Z is left out (at_most_once)"); }));
  ASSERT_TRUE(stage_.until([&] { return stage_.recorded().past.size() == 2; }));
  EXPECT_EQ(stage_.recorded().past.back().outcome, RunOutcome::lost);
  EXPECT_EQ(stage_.recorded().past.back().holder, "unknown: lost by the store");
  stage_.setWallAhead(2min);
  ASSERT_TRUE(stage_.until([&] { return begun() == ranThree; })) << "the next one is nobody's";
  a.store->setAll(Fault::none);
}

TEST_F(LostWrites, atMostOnceAProcessDoesNotRepeatWhatItHasBegunItself) {
  const auto a = copy("a");
  runTwoAndLoseOne();
  promote();
  settleDown(a);
  EXPECT_EQ(begun(), ranTwo);
  ASSERT_TRUE(stage_.until([&] { return stage_.recorded().past.size() == 2; }));
  EXPECT_EQ(stage_.recorded().past.back().outcome, RunOutcome::succeeded) << "it knows how the run ended";
  EXPECT_FALSE(stage_.logged("is left out"));
}

TEST_F(LostWrites, atLeastOnceAProcessDoesNotRepeatWhatItHasEndedWell) {
  const auto a = copy("a", Guarantee::atLeastOnce);
  runTwoAndLoseOne();
  promote();
  settleDown(a);
  EXPECT_EQ(begun(), ranTwo);
  stage_.setWallAhead(2min);
  ASSERT_TRUE(stage_.until([&] { return begun() == ranThree; }));
}

TEST_F(LostWrites, atLeastOnceANewcomerRunsWhatItDoesNotKnow) {
  const auto a = copy("a", Guarantee::atLeastOnce);
  runTwoAndLoseOne();
  crash(a);
  promote();
  const auto b = copy("b", Guarantee::atLeastOnce);
  ASSERT_TRUE(stage_.until([&] { return begun().size() == 3; }));
  EXPECT_EQ(begun().back(), "2026-03-01T12:01Z");
  a.store->setAll(Fault::none);
}

TEST_F(LostWrites, aTermThatEndsBeforeItWritesAnythingLeavesTheDoubtToTheNext) {
  const auto a = copy("a");
  runTwoAndLoseOne();
  crash(a);
  promote();
  {
    const auto b = copy("b");
    b.store->set(Operation::renew, Fault::neverLost);
    b.store->set(Operation::release, Fault::neverLost);
    ASSERT_TRUE(stage_.until([&] { return leads(b); }));
    ASSERT_TRUE(stage_.until([&] { return !leads(b); }));
    EXPECT_EQ(begun(), ranTwo) << "it counts in that term all the same";
    crash(b);
    const auto c = copy("c");
    settleDown(c);
    EXPECT_EQ(begun(), ranTwo) << "the record is of the present history, and its ledger is not";
    b.store->setAll(Fault::none);
  }
  a.store->setAll(Fault::none);
}

TEST_F(LostWrites, inOneHistoryNothingIsLeftOut) {
  const auto a = copy("a");
  ASSERT_TRUE(hasRun(1));
  crash(a);
  stage_.setWallAhead(1min);
  const auto b = copy("b");
  ASSERT_TRUE(hasRun(2));
  EXPECT_EQ(begun(), ranTwo);
  EXPECT_FALSE(stage_.logged("is left out"));
  a.store->setAll(Fault::none);
}

/// Any store: a file, a snapshot or a volume. Only who was there before can know.
TEST_F(LostWrites, anOlderCopyThatWasPutBackIsKnownByItsToken) {
  const auto a = copy("a");
  runTwoAndLoseOne();
  setToken(1);
  settleDown(a);
  EXPECT_EQ(begun(), ranTwo);
  stage_.setWallAhead(2min);
  ASSERT_TRUE(stage_.until([&] { return begun() == ranThree; }));
}

TEST_F(LostWrites, anOlderCopyOfItsOwnTermIsKnownByWhatItLacks) {
  const auto a = copy("a");
  ASSERT_TRUE(hasRun(1));
  const std::uint64_t token = stage_.stored()->token.value();
  const std::string before = stage_.stored()->data;
  stage_.setWallAhead(1min);
  ASSERT_TRUE(hasRun(2));
  crash(a);  // so that it does not see how the test puts the copy back
  stage_.put(before);
  setToken(token);
  a.store->setAll(Fault::none);
  settleDown(a);
  EXPECT_EQ(begun(), ranTwo);
  ASSERT_TRUE(stage_.until([&] { return stage_.recorded().past.size() == 2; })) << "it notes the second run again";
  EXPECT_FALSE(stage_.logged("is left out"));
  stage_.setWallAhead(2min);
  ASSERT_TRUE(stage_.until([&] { return begun() == ranThree; }));
}

TEST_F(LostWrites, aProcessDoesNotRepeatWhatItHasBegunBeforeTheRecordWasDeleted) {
  const auto a = copy("a");
  ASSERT_TRUE(hasRun(1));
  stage_.memory->remove(stage_.key, stage_.stored()->version, {}, [](const WriteOutcome&) {});
  settleDown(a);
  EXPECT_EQ(begun().size(), 1U);
  EXPECT_TRUE(stage_.until([&] { return stage_.recorded().past.size() == 1; })) << "it notes it again";
  stage_.setWallAhead(1min);
  ASSERT_TRUE(stage_.until([&] { return begun() == ranTwo; }));
}

/// What a process has noted again counts as the record's own: it does not come back once an operator has forgotten it.
TEST_F(LostWrites, aPeriodThatAnOperatorForgetsIsRunAgainByItsProcess) {
  const auto a = copy("a");
  runTwoAndLoseOne();
  promote();
  settleDown(a);
  ASSERT_EQ(begun(), ranTwo);
  auto document = jobsIn(stage_.stored()->data).value();
  ASSERT_EQ(document.jobs["job"].forget(instant("2026-03-01T12:01Z"), FencingToken{}), Forgotten::done);
  stage_.put(withJobs(stage_.stored()->data, document).value());
  ASSERT_TRUE(stage_.until([&] { return begun().size() == 3; }));
  EXPECT_EQ(begun().back(), "2026-03-01T12:01Z");
}

TEST_F(LostWrites, aLedgerOfAnEarlierReleaseIsJudgedByTheRecord) {
  JobsDocument document;
  ASSERT_TRUE(document.jobs["job"].begin({instant("2026-03-01T11:59Z")},
                                         {FencingToken{1}, "old", instant("2026-03-01T11:59Z")}, everyMinute()));
  stage_.put(withJobs("", document).value());
  promote();
  const auto a = copy("a");
  settleDown(a);
  EXPECT_EQ(begun(), Lines{}) << "it names no history, and the record is of an earlier one";
}

}  // namespace
}  // namespace tenure::test
