// Jobs that are refused: too many of them, what does not go together, and what the store does not take.
#include <atomic>

#include <gtest/gtest.h>

#include "election/jobs/src/term_ledger.hpp"
#include "jobs_stage.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

class JobRejections : public testing::Test {
 protected:
  [[nodiscard]] static ScheduledJob named(const std::string& name, const JobPolicy& policy = {}) {
    return {name, everyMinute(), policy, Overlap::wait, [](const JobRun&) {}};
  }
  /// Empty if the jobs are accepted.
  [[nodiscard]] std::string faultsOf(const std::vector<ScheduledJob>& jobs) {
    try {
      const SingletonScheduler made{stage_.group("a", stage_.memory), jobs, {}, stage_.runtime()};
    } catch (const std::invalid_argument& faults) {
      return faults.what();
    }
    return {};
  }

  JobsStage stage_;
};

TEST_F(JobRejections, aSchedulerHasAtMostSoManyJobs) {
  std::vector<ScheduledJob> jobs;
  while (jobs.size() < mostJobs) jobs.push_back(named(std::to_string(jobs.size())));
  EXPECT_EQ(faultsOf(jobs), "");
  jobs.push_back(named("another"));
  EXPECT_EQ(faultsOf(jobs), "jobs: there are 65, and a group has at most 64; divide them among several groups");
}

TEST_F(JobRejections, aRecordHasAtMostSoManyJobs) {
  JobsDocument document;
  while (document.jobs.size() < mostJobs) document.jobs.emplace(std::to_string(document.jobs.size()), JobRuns{});
  stage_.put(withJobs(R"({"tenure":1})", document).value());
  const Candidate a = stage_.leader("a");
  std::vector<DocumentAnswer> answers;
  for (const std::string& name : {std::string{"another"}, std::string{"7"}}) {
    const TermLedger::Job job{name, everyMinute(), JobPolicy{}};
    const auto ledger = TermLedger::open(a.record->term(), job, stage_.wall(), stage_.clock->now()).value();
    const auto due = std::get<BeginRun>(ledger->decide(stage_.wall(), stage_.clock->now()));
    ledger->begin(due, stage_.wall(), [&](const DocumentAnswer& answer) { answers.push_back(answer); });
    stage_.settle();
  }
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0].kind, DocumentAnswer::Kind::refused);
  EXPECT_EQ(
      answers[0].why,
      "the lease's record has the ledgers of 64 jobs already, and more would slow the lease down; give this job a "
      "separate group, or make room with tenure jobs forget all --job NAME");
  EXPECT_EQ(answers[1].kind, DocumentAnswer::Kind::recorded) << answers[1].why;
  EXPECT_TRUE(stage_.recorded("7").open);
}

TEST_F(JobRejections, runsThatWouldStopEachOther) {
  ScheduledJob job = named("job", {.missed = Missed::all});
  EXPECT_EQ(faultsOf({job}), "");
  job.overlap = Overlap::replace;
  EXPECT_EQ(faultsOf({job}),
            "jobs.job.overlap: cannot be replace together with missed all, because a run that makes up for a missed "
            "period would be stopped at once; give overlap wait, or missed once");
}

/// The loop of JobLedger's contract.
TEST_F(JobRejections, aLoopByHandGoesOnAfterARejection) {
  const auto narrow = std::make_shared<NarrowStore>(stage_.memory);
  std::atomic<int> rejections{0};
  std::atomic<bool> worked{false};
  const auto note = [&](const StoreError& error) {
    EXPECT_NE(error.message.find("is too long"), std::string::npos) << error.message;
    ++rejections;
  };
  const auto backUp = [&](const JobRun&) {
    narrow->most = 8;
    rejections = 0;
    worked = true;
    return RunOutcome::succeeded;
  };
  Listener listener;
  listener.onElected = [&](const Leadership& term) {
    auto ledger = JobLedger::open(term, "job", everyMinute(), {}, stage_.wallClock());
    if (!ledger) return;
    while (term.leads()) {
      const auto run = ledger->next();
      if (!run) {
        note(run.error());
        continue;
      }
      if (!*run) break;
      const RunOutcome outcome = backUp(**run);
      auto noted = ledger->end(outcome);
      for (; !noted && term.leads(); noted = ledger->end(outcome)) note(noted.error());
    }
  };
  Runtime where = stage_.runtime();
  where.executor = {};
  const std::unique_ptr<LeaderElector, PumpedDelete> a{
      new LeaderElector{stage_.group("a", narrow), std::move(listener), std::move(where)}, PumpedDelete{&stage_}};
  a->start();
  ASSERT_TRUE(stage_.until([&] { return rejections > 2; })) << "the begin";
  EXPECT_FALSE(stage_.recorded().open);
  narrow->most = 10'000;
  ASSERT_TRUE(stage_.until([&] { return worked && rejections > 2; })) << "the end";
  EXPECT_TRUE(stage_.recorded().open);
  narrow->most = 10'000;
  ASSERT_TRUE(stage_.until([&] { return stage_.recorded().past.size() == 1; }));
  EXPECT_FALSE(stage_.logged("revoked ("));
}

}  // namespace
}  // namespace tenure::test
