// The steps of a periodic job under a term: when the job's process may be started, and what a refused or unanswered
// write means. Clock, store and elector are the stage's.
#include "cli/run/periodic_job.hpp"

#include <stdexcept>

#include <gtest/gtest.h>

#include "election/stage.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using cli::ExitStatus;
using cli::PeriodicJob;
using Step = PeriodicJob::Step;

constexpr std::chrono::milliseconds noon = 12h + 365 * 24h;

class PeriodicJobTest : public ::testing::Test {
 protected:
  void begin(bool once = false, JobPolicy policy = {}) {
    PeriodicJob::Options options{{"nightly", Schedule::every(1h).value(), policy}, once, 3s};
    job_.emplace(options, tasks_, Logger{}, [this] { return wall_; });
    candidate_.emplace(stage_.leader("a"));
    EXPECT_EQ(job_->beginTerm(candidate_->record->term(), now()), std::nullopt);
  }
  [[nodiscard]] Instant now() const { return stage_.clock->now(); }
  /// What a turn of the supervisor's loop finds.
  Step step() {
    tasks_.run();
    return job_->act(now());
  }
  Step stepAfterAnswers() {
    stage_.settle();
    return step();
  }
  void runTo(int code, bool byItself = true) {
    job_->started();
    job_->ended(ExitStatus{false, code}, byItself, now());
  }
  [[nodiscard]] std::string stored() { return stage_.stored().value_or(LeaseRecord{}).data; }

  Stage stage_;
  cli::MainTasks tasks_;
  std::chrono::milliseconds wall_{noon};
  std::optional<PeriodicJob> job_;
  std::optional<Candidate> candidate_;
};

TEST_F(PeriodicJobTest, RunIsStartedOnlyWhenItsBeginIsInTheRecord) {
  begin();
  EXPECT_EQ(step(), Step::wait);
  EXPECT_EQ(step(), Step::wait) << "the write is not answered";
  EXPECT_EQ(stored().find("nightly"), std::string::npos);
  EXPECT_EQ(stepAfterAnswers(), Step::run);
  EXPECT_NE(stored().find("nightly"), std::string::npos);
}

TEST_F(PeriodicJobTest, BeginOfWhichNobodyKnowsStartsNothing) {
  begin();
  candidate_->store->setAll(Fault::neverApplied);
  EXPECT_EQ(step(), Step::wait);
  for (int i = 0; i < 100; ++i) {
    stage_.advance(100ms);
    EXPECT_EQ(step(), Step::wait);
  }
  EXPECT_FALSE(candidate_->record->term().leads());
  job_->endTerm();
  candidate_->store->setAll(Fault::none);
}

TEST_F(PeriodicJobTest, EndIsWaitedForAndThenNothingIsDueUntilTheNextPeriod) {
  begin();
  EXPECT_EQ(step(), Step::wait);
  EXPECT_EQ(stepAfterAnswers(), Step::run);
  runTo(0);
  EXPECT_TRUE(job_->notesEnd());
  EXPECT_EQ(step(), Step::wait);
  EXPECT_TRUE(job_->notesEnd()) << "it is not answered";
  EXPECT_EQ(stepAfterAnswers(), Step::wait);
  EXPECT_FALSE(job_->notesEnd());
  EXPECT_EQ(job_->untilLook(), 1s) << "the wall clock may be set";
  wall_ += 1h - 200ms;
  EXPECT_EQ(step(), Step::wait);
  EXPECT_EQ(job_->untilLook(), 200ms);
  wall_ += 200ms;
  EXPECT_EQ(step(), Step::wait);
  EXPECT_EQ(stepAfterAnswers(), Step::run);
  EXPECT_EQ(job_->runText(), " for period 1971-01-01T13:00:00Z");
}

TEST_F(PeriodicJobTest, OnceIsDoneWhenNothingIsDueOfWhatWasDueAtItsBeginning) {
  begin(true);
  EXPECT_EQ(step(), Step::wait);
  EXPECT_EQ(stepAfterAnswers(), Step::run);
  wall_ += 3h;
  runTo(7);
  EXPECT_EQ(stepAfterAnswers(), Step::done) << "the present period is for the next start";
  EXPECT_EQ(job_->lastCode(), 7);
}

TEST_F(PeriodicJobTest, RunThatWasStoppedIsNotDone) {
  JobPolicy policy;
  policy.guarantee = Guarantee::atLeastOnce;
  begin(true, policy);
  EXPECT_EQ(step(), Step::wait);
  EXPECT_EQ(stepAfterAnswers(), Step::run);
  runTo(0, false);
  EXPECT_EQ(stepAfterAnswers(), Step::wait);
  EXPECT_EQ(job_->untilLook(), 1s) << "the pause of the policy";
  stage_.advance(1s);
  EXPECT_EQ(step(), Step::wait);
  EXPECT_EQ(stepAfterAnswers(), Step::run);
  EXPECT_EQ(job_->runText(), " for period 1971-01-01T12:00:00Z (attempt 2)");
}

TEST_F(PeriodicJobTest, RefusedBeginIsTriedAgainAfterAPauseAndNeverStarted) {
  begin();
  candidate_->store->onFaultsOfPayload = [] { throw std::runtime_error{"is too long"}; };
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(stepAfterAnswers(), Step::wait) << i;
    EXPECT_EQ(stored().find("nightly"), std::string::npos);
  }
  candidate_->store->onFaultsOfPayload = {};
  stage_.advance(2'900ms);
  EXPECT_EQ(step(), Step::wait);
  EXPECT_EQ(stepAfterAnswers(), Step::wait) << "before the pause is over";
  stage_.advance(100ms);
  EXPECT_EQ(step(), Step::wait);
  EXPECT_EQ(stepAfterAnswers(), Step::run);
}

TEST_F(PeriodicJobTest, RefusedBeginEndsOnce) {
  begin(true);
  candidate_->store->onFaultsOfPayload = [] { throw std::runtime_error{"is too long"}; };
  EXPECT_EQ(step(), Step::wait);
  EXPECT_EQ(stepAfterAnswers(), Step::refused);
}

TEST_F(PeriodicJobTest, RunWhoseEndIsRefusedEndsTheTerm) {
  begin();
  EXPECT_EQ(step(), Step::wait);
  EXPECT_EQ(stepAfterAnswers(), Step::run);
  candidate_->store->onFaultsOfPayload = [] { throw std::runtime_error{"is too long"}; };
  runTo(0);
  EXPECT_EQ(stepAfterAnswers(), Step::giveUp);
}

TEST_F(PeriodicJobTest, RunThatCouldNotBeStartedIsNotedAndEndsTheTerm) {
  begin();
  EXPECT_EQ(step(), Step::wait);
  EXPECT_EQ(stepAfterAnswers(), Step::run);
  job_->couldNotStart(now());
  EXPECT_EQ(step(), Step::wait);
  EXPECT_TRUE(job_->notesEnd()) << "before that, nothing is given up";
  EXPECT_EQ(stepAfterAnswers(), Step::giveUp);
  EXPECT_EQ(job_->whyGivesUp(), "the job did not start");
  EXPECT_EQ(job_->lastCode(), 1);
  EXPECT_EQ(job_->beginTerm(candidate_->record->term(), now()), std::nullopt);
  EXPECT_EQ(step(), Step::wait) << "that is of the term before";
}

TEST_F(PeriodicJobTest, AnswerToAnEarlierTermIsNotTaken) {
  begin();
  EXPECT_EQ(step(), Step::wait);
  job_->endTerm();
  EXPECT_EQ(job_->beginTerm(candidate_->record->term(), now()), std::nullopt);
  stage_.settle();
  tasks_.run();
  EXPECT_FALSE(job_->notesEnd());
  EXPECT_NE(step(), Step::run) << "that was the begin of the other one";
}

}  // namespace
}  // namespace tenure::test
