// The ledger of a job under a term: what may begin, and what the record says of it (I8).
#include "election/jobs/src/term_ledger.hpp"

#include <gtest/gtest.h>

#include "election/src/term_handle.hpp"
#include "jobs_stage.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using Kind = DocumentAnswer::Kind;

const JobDecision isOpen{RunIsOpen{}};

class TermLedgers : public testing::Test {
 protected:
  [[nodiscard]] std::shared_ptr<TermLedger> open(const Candidate& leader, const JobPolicy& policy = {},
                                                 const std::string& name = "job") {
    return TermLedger::open(leader.record->term(), {name, everyMinute(), policy}, stage_.wall(), stage_.clock->now())
        .value();
  }
  [[nodiscard]] JobDecision decide(const TermLedger& ledger) {
    return ledger.decide(stage_.wall(), stage_.clock->now());
  }
  void begin(TermLedger& ledger, const BeginRun& run) { ledger.begin(run, stage_.wall(), note()); }
  void begin(TermLedger& ledger) { begin(ledger, std::get<BeginRun>(decide(ledger))); }
  void end(TermLedger& ledger, RunOutcome outcome) { ledger.end(outcome, 3, stage_.clock->now(), note()); }
  [[nodiscard]] DocumentWrites::Done note() {
    return [this](const DocumentAnswer& answer) {
      answers_.push_back(answer.kind);
      if (!answer.why.empty()) why_ = answer.why;
    };
  }
  [[nodiscard]] std::vector<Kind> answers() { return std::exchange(answers_, {}); }

  JobsStage stage_;
  std::vector<Kind> answers_;
  std::string why_;
};

const std::vector<Kind> recorded{Kind::recorded}, refused{Kind::refused}, unknown{Kind::unknown};

TEST_F(TermLedgers, aRunIsBegunOnceTheRecordHasItAndEndsTheSameWay) {
  const Candidate a = stage_.leader("a");
  const auto ledger = open(a);
  begin(*ledger);
  EXPECT_EQ(decide(*ledger), isOpen) << "a write is under way";
  EXPECT_EQ(answers(), std::vector<Kind>{}) << "never inside the call";
  stage_.settle();
  EXPECT_EQ(answers(), recorded);
  ASSERT_TRUE(stage_.recorded().open);
  EXPECT_EQ(stage_.recorded().open->period, instant("2026-03-01T12:00Z"));
  EXPECT_TRUE(stage_.recorded().open->holder.starts_with("a ("));
  EXPECT_EQ(decide(*ledger), isOpen);
  stage_.advance(2s);
  end(*ledger, RunOutcome::succeeded);
  stage_.settle();
  EXPECT_EQ(answers(), recorded);
  const JobHistory history = stage_.recorded();
  EXPECT_FALSE(history.open);
  ASSERT_EQ(history.past.size(), 1U);
  EXPECT_EQ(history.past[0].exitCode, 3);
  EXPECT_EQ(history.past[0].duration, 2s);
  EXPECT_EQ(history, ledger->history());
  EXPECT_TRUE(std::holds_alternative<WaitUntil>(decide(*ledger)));
}

TEST_F(TermLedgers, theLedgersOfTwoJobsChangeOneDocumentAndLoseNothing) {
  const Candidate a = stage_.leader("a", [](GroupOptions& group) { group.candidate.address = "here:1"; });
  const auto one = open(a, {}, "one"), two = open(a, {}, "two");
  begin(*one);
  begin(*two);
  stage_.settle();
  end(*one, RunOutcome::failed);
  stage_.settle();
  EXPECT_TRUE(stage_.recorded("one").open->ended);
  EXPECT_FALSE(stage_.recorded("two").open->ended);
  EXPECT_NE(stage_.stored()->data.find("here:1"), std::string::npos) << "the address is the elector's";
}

TEST_F(TermLedgers, aRefusedBeginLeavesTheLedgerAsIfItHadNeverBeenAsked) {
  const Candidate a = stage_.leader("a");
  const auto ledger = open(a);
  const BeginRun run = std::get<BeginRun>(decide(*ledger));
  begin(*ledger, BeginRun{run.period, 2});
  stage_.settle();
  EXPECT_EQ(answers(), refused);
  EXPECT_EQ(why_, "the ledger in the lease's record has this run already, or another one");
  EXPECT_EQ(decide(*ledger), JobDecision{run});
  EXPECT_EQ(ledger->history(), JobHistory{});
  begin(*ledger, run);
  stage_.settle();
  EXPECT_EQ(answers(), recorded);
}

TEST_F(TermLedgers, anEndWithoutARunIsRefused) {
  const Candidate a = stage_.leader("a");
  const auto ledger = open(a);
  end(*ledger, RunOutcome::succeeded);
  stage_.settle();
  EXPECT_EQ(answers(), refused);
  begin(*ledger);
  end(*ledger, RunOutcome::lost);
  stage_.settle();
  EXPECT_EQ(answers(), (std::vector<Kind>{Kind::refused, Kind::recorded})) << "lost is what nobody notes";
}

TEST_F(TermLedgers, I8_ABeginThatNobodyAcknowledgedIsNotBegunAgain) {
  const Candidate a = stage_.leader("a");
  const auto ledger = open(a);
  a.store->setAll(Fault::neverApplied);
  begin(*ledger);
  ASSERT_TRUE(stage_.advanceUntil([&] { return !answers_.empty(); }));
  EXPECT_EQ(answers(), unknown);
  EXPECT_EQ(decide(*ledger), isOpen) << "the term is over";
  a.store->setAll(Fault::none);
}

TEST_F(TermLedgers, anOpenRunOfACrashedTermIsLostAndRepeatedByPolicy) {
  for (const Guarantee guarantee : {Guarantee::atMostOnce, Guarantee::atLeastOnce}) {
    SCOPED_TRACE(guarantee == Guarantee::atLeastOnce);
    JobsStage stage;
    const JobPolicy policy{.guarantee = guarantee, .backoff = 2s};
    const Candidate a = stage.leader("a"), b = stage.candidate("b");
    const auto job = [&] { return TermLedger::Job{"job", everyMinute(), policy}; };
    const auto before = TermLedger::open(a.record->term(), job(), stage.wall(), stage.clock->now()).value();
    const BeginRun first = std::get<BeginRun>(before->decide(stage.wall(), stage.clock->now()));
    before->begin(first, stage.wall(), [](const DocumentAnswer&) {});
    stage.settle();
    a.store->setAll(Fault::neverLost);
    b->start();
    ASSERT_TRUE(stage.advanceUntil([&] { return b->isLeader() && b.record->count("elected") == 1; }));
    const auto after = TermLedger::open(b.record->term(), job(), stage.wall(), stage.clock->now()).value();
    const JobDecision decision = after->decide(stage.wall(), stage.clock->now());
    if (guarantee == Guarantee::atMostOnce) {
      EXPECT_EQ(decision, JobDecision{WaitUntil{first.period + 1min}});
      continue;
    }
    EXPECT_EQ(decision, (JobDecision{BeginRun{first.period, 2, 2s}})) << "counted from the term's start";
    stage.advance(1500ms);
    EXPECT_EQ(after->decide(stage.wall(), stage.clock->now()), (JobDecision{BeginRun{first.period, 2, 500ms}}));
    after->begin({first.period, 2}, stage.wall(), [](const DocumentAnswer&) {});
    stage.settle();
    ASSERT_EQ(stage.recorded().past.size(), 1U);
    EXPECT_EQ(stage.recorded().past[0].outcome, RunOutcome::lost);
    a.store->setAll(Fault::none);
  }
}

TEST_F(TermLedgers, thePauseCountsFromTheEndOfTheAttemptBefore) {
  const Candidate a = stage_.leader("a");
  const auto ledger = open(a, {.guarantee = Guarantee::atLeastOnce, .backoff = 2s});
  begin(*ledger);
  stage_.advance(10s);
  end(*ledger, RunOutcome::failed);
  stage_.advance(500ms);
  const auto again = std::get<BeginRun>(decide(*ledger));
  EXPECT_EQ(again.attempt, 2U);
  EXPECT_EQ(again.pause, 1500ms);
  stage_.clock->suspend(1s);
  EXPECT_EQ(std::get<BeginRun>(decide(*ledger)).pause, 1500ms) << "errs to the later side";
  stage_.clock->moveClocks({});
}

TEST_F(TermLedgers, aClockThatWasAYearAheadDoesNotBlockThePeriodsThatFollow) {
  const Candidate a = stage_.leader("a");
  const auto ledger = open(a);
  stage_.setWallAhead(std::chrono::days{365});
  begin(*ledger);
  stage_.settle();
  end(*ledger, RunOutcome::succeeded);
  stage_.settle();
  stage_.setWallAhead(0s);
  EXPECT_EQ(decide(*ledger), JobDecision{BeginRun{instant("2026-03-01T12:00Z")}});
}

TEST_F(TermLedgers, dataThatAreNotUnderstoodRunNoJobAndStayAsTheyAre) {
  const std::string later = R"({"tenure":1,"jobs":{"v":2,"jobs":{}}})";
  const std::string twice = R"({"tenure":1,"jobs":{"v":1,"jobs":{"job":{"begun":[],"past":[]}}},"jobs":)"
                            R"({"v":1,"jobs":{}}})";
  for (const std::string& data :
       {std::string{"somebody's"}, std::string{R"({"tenure":2})"}, later, twice,
        std::string{R"({"tenure":1,"jobs":{"v":1,"jobs":{"job":{"begun":[],"past":[]}}} })"}}) {
    SCOPED_TRACE(data);
    JobsStage stage;
    stage.put(data);
    const Candidate a = stage.leader("a");
    const auto ledger =
        TermLedger::open(a.record->term(), {"job", everyMinute(), JobPolicy{}}, stage.wall(), stage.clock->now());
    ASSERT_FALSE(ledger.has_value());
    EXPECT_EQ(ledger.error().errorClass, ErrorClass::corrupt);
    stage.advance(5s);
    EXPECT_EQ(stage.stored()->data, data);
  }
}

TEST_F(TermLedgers, whatBecomesUnreadableUnderTheTermIsNotWrittenOver) {
  const Candidate a = stage_.leader("a");
  const auto ledger = open(a);
  handleOf(a.record->term())
      .updateDocument([](const std::string&) { return StoreResult<std::string>{"other"}; }, note());
  begin(*ledger);
  stage_.settle();
  EXPECT_EQ(answers(), (std::vector<Kind>{Kind::refused, Kind::recorded}));
  EXPECT_NE(why_.find("no job is run"), std::string::npos) << why_;
  EXPECT_EQ(stage_.stored()->data, "other");
}

}  // namespace
}  // namespace tenure::test
