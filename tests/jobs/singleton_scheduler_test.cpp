// Jobs that one copy runs at a time: when they begin, how they end, and what the record says of it (I9).
#include <future>
#include <mutex>
#include <optional>
#include <stop_token>

#include <gtest/gtest.h>

#include "jobs_stage.hpp"
#include "lockcore/runtime/thread_pool.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

/// The work of jobs, as the test sees it.
class Works {
 public:
  /// Notes the run; it goes on until the test lets it, or it is told to stop.
  [[nodiscard]] ScheduledJob held(const std::string& name = "job", const JobPolicy& policy = {},
                                  Overlap overlap = Overlap::wait) {
    return {name, everyMinute(), policy, overlap, [this](const JobRun& run) {
              note(run);
              EXPECT_TRUE(eventually([&] { return released_ > 0 || run.stop.stop_requested(); }));
              if (!run.stop.stop_requested()) --released_;
              --running_;
            }};
  }
  [[nodiscard]] ScheduledJob quick(const std::string& name = "job", const JobPolicy& policy = {}) {
    return {name, everyMinute(), policy, Overlap::wait, [this](const JobRun& run) { note(run), --running_; }};
  }
  void release() { ++released_; }
  [[nodiscard]] int running() const { return running_; }
  [[nodiscard]] std::vector<std::string> begun() const {
    const std::lock_guard lock{mutex_};
    return begun_;
  }

 private:
  void note(const JobRun& run) {
    const std::lock_guard lock{mutex_};
    begun_.push_back(run.job + ' ' + textOf(run.period) + '#' + std::to_string(run.attempt) + " token " +
                     toString(run.term.fencingToken()));
    ++running_;
  }
  std::atomic<int> released_{0}, running_{0};
  mutable std::mutex mutex_;
  std::vector<std::string> begun_;
};

class SingletonSchedulers : public testing::Test {
 protected:
  using Lines = std::vector<std::string>;
  [[nodiscard]] RunOutcome lastOutcome() {
    const JobHistory history = stage_.recorded();
    return history.past.empty() ? RunOutcome::lost : history.past.back().outcome;
  }
  /// Whether it happens within some seconds of the stage, and some time for threads.
  template <class Condition>
  [[nodiscard]] bool happens(const Condition& what) {
    return eventually([&] { return stage_.advance(50ms), what(); }, 150ms);
  }

  JobsStage stage_;
  Works works_;
};

TEST_F(SingletonSchedulers, theElectedCopyRunsEachPeriodOnce) {
  const auto a = stage_.copy("a", {works_.quick()});
  const auto b = stage_.copy("b", {works_.quick()});
  ASSERT_TRUE(stage_.until([&] { return works_.begun().size() == 1; }));
  stage_.setWallAhead(1min);
  ASSERT_TRUE(stage_.until([&] { return works_.begun().size() == 2; }));
  EXPECT_EQ(stage_.stop(a), ReleaseResult::released);
  stage_.setWallAhead(2min);
  ASSERT_TRUE(stage_.until([&] { return works_.begun().size() == 3; }));
  EXPECT_EQ(works_.begun(), (Lines{"job 2026-03-01T12:00Z#1 token 1", "job 2026-03-01T12:01Z#1 token 1",
                                   "job 2026-03-01T12:02Z#1 token 2"}));
  ASSERT_TRUE(stage_.until([&] { return stage_.recorded().past.size() == 3; }));
}

TEST_F(SingletonSchedulers, jobsRunBesideEachOther) {
  const auto a = stage_.copy("a", {works_.held("one"), works_.held("two")});
  ASSERT_TRUE(stage_.until([&] { return works_.running() == 2; }));
  const SchedulerStatus status = a->status();
  ASSERT_EQ(status.jobs.size(), 2U);
  EXPECT_EQ(status.jobs[0].name, "one");
  ASSERT_TRUE(status.jobs[1].running);
  EXPECT_EQ(status.jobs[1].running->period, instant("2026-03-01T12:00Z"));
  EXPECT_EQ(status.jobs[1].next, instant("2026-03-01T12:01Z"));
  EXPECT_TRUE(status.elector.fencingToken);
  works_.release(), works_.release();
  ASSERT_TRUE(stage_.until([&] { return !a->status().jobs[0].running && !a->status().jobs[1].running; }));
  EXPECT_EQ(stage_.recorded("one").past.size(), 1U);
  EXPECT_EQ(stage_.recorded("two").past.size(), 1U);
}

TEST_F(SingletonSchedulers, aPeriodThatIsDueWaitsForTheRunBeforeIt) {
  const auto a = stage_.copy("a", {works_.held()});
  ASSERT_TRUE(stage_.until([&] { return works_.running() == 1; }));
  stage_.setWallAhead(3min);
  EXPECT_FALSE(happens([&] { return works_.running() != 1 || works_.begun().size() != 1; }));
  works_.release();
  ASSERT_TRUE(stage_.until([&] { return works_.begun().size() == 2; }));
  EXPECT_EQ(works_.begun()[1], "job 2026-03-01T12:03Z#1 token 1") << "Missed::once: for all that were missed";
  works_.release();
}

TEST_F(SingletonSchedulers, aPeriodThatIsDueReplacesTheRunBeforeIt) {
  const auto a = stage_.copy("a", {works_.held("job", {}, Overlap::replace)});
  ASSERT_TRUE(stage_.until([&] { return works_.running() == 1; }));
  stage_.setWallAhead(-1h);
  EXPECT_FALSE(happens([&] { return works_.running() != 1 || works_.begun().size() != 1; }))
      << "an earlier one does not";
  stage_.setWallAhead(1min);
  ASSERT_TRUE(stage_.until([&] { return works_.begun().size() == 2; }));
  EXPECT_EQ(works_.begun()[1], "job 2026-03-01T12:01Z#1 token 1");
  EXPECT_EQ(lastOutcome(), RunOutcome::stopped);
  EXPECT_EQ(works_.running(), 1);
}

TEST_F(SingletonSchedulers, anExceptionIsAFailedRunAndTheNextAttemptComesAfterItsPause) {
  std::atomic<int> tries{0};
  ScheduledJob job = works_.quick("job", {.guarantee = Guarantee::atLeastOnce, .backoff = 3s});
  job.work = [&](const JobRun& run) {
    if (++tries == 1) throw std::runtime_error{"the disk is full"};
    EXPECT_EQ(run.attempt, 2U);
  };
  const auto a = stage_.copy("a", {job});
  ASSERT_TRUE(stage_.until([&] { return lastOutcome() == RunOutcome::failed; }));
  EXPECT_TRUE(stage_.logged("failed: the disk is full"));
  stage_.advance(2900ms);
  EXPECT_EQ(tries, 1);
  ASSERT_TRUE(stage_.until([&] { return lastOutcome() == RunOutcome::succeeded; }));
  EXPECT_EQ(tries, 2);
}

TEST_F(SingletonSchedulers, I9_TheLeaseIsReleasedOnceTheRunsHaveEndedAndTheRecordSaysSo) {
  const auto a = stage_.copy("a", {works_.held()});
  ASSERT_TRUE(stage_.until([&] { return works_.running() == 1; }));
  EXPECT_EQ(stage_.stop(a), ReleaseResult::released);
  EXPECT_EQ(works_.running(), 0);
  EXPECT_TRUE(stage_.stored()->released);
  EXPECT_EQ(lastOutcome(), RunOutcome::stopped);
}

TEST_F(SingletonSchedulers, I9_TheLeaseIsNotReleasedWhileARunGoesOn) {
  std::atomic<bool> begun{false}, goesOn{true};
  ScheduledJob job = works_.quick();
  job.work = [&](const JobRun&) {
    begun = true;
    EXPECT_TRUE(eventually([&] { return !goesOn; }));
  };
  const auto a = stage_.copy("a", {job}, [](GroupOptions& group) { group.lease.drainTimeout = 1min; });
  ASSERT_TRUE(stage_.until([&] { return begun.load(); }));
  a->requestStop();
  EXPECT_FALSE(happens([&] { return stage_.stored()->released; }));
  goesOn = false;
  ASSERT_TRUE(stage_.until([&] { return stage_.stored()->released; }));
  EXPECT_EQ(lastOutcome(), RunOutcome::stopped);
}

/// The loop that the documents show looks at the term, and a work may as well listen to the term's token: its callback
/// there comes before the one that stops the runs. Until the test lets it go on, no run is told to stop.
TEST_F(SingletonSchedulers, workThatEndsBecauseItsTermIsOverWasStoppedAndIsRepeated) {
  std::atomic<bool> begun{false}, shut{true}, holds{false};
  std::optional<std::stop_callback<std::function<void()>>> first;
  ScheduledJob job = works_.quick("job", {.guarantee = Guarantee::atLeastOnce, .backoff = 0s});
  job.work = [&](const JobRun& run) {
    if (begun.exchange(true)) return;
    first.emplace(run.term.stopToken(), [&] { EXPECT_TRUE(eventually([&] { return !shut; })); });
    EXPECT_TRUE(eventually([&] { return !run.term.leads(); }));
  };
  const auto threads = ThreadPool::forCallbacks();
  std::mutex mutex;
  std::vector<std::function<void()>> held;
  Runtime where = stage_.runtime();
  where.executor = [&](std::function<void()> task) {  // onRevoked would stop the runs, too
    if (!holds) return threads->post(std::move(task));
    const std::lock_guard lock{mutex};
    held.push_back(std::move(task));
  };
  const std::unique_ptr<SingletonScheduler, JobsStage::Delete> jobs{
      new SingletonScheduler{stage_.group("a", stage_.memory), {job}, {stage_.wallClock()}, std::move(where)},
      JobsStage::Delete{&stage_}};
  jobs->start();
  ASSERT_TRUE(stage_.until([&] { return begun.load(); }));
  holds = true;
  jobs->stepDown();
  ASSERT_TRUE(stage_.until([&] { return stage_.recorded().past.size() == 1; }));
  EXPECT_EQ(lastOutcome(), RunOutcome::stopped);
  shut = holds = false;
  {
    const std::lock_guard lock{mutex};
    for (auto& task : held) threads->post(std::move(task));
  }
  EXPECT_TRUE(stage_.until([&] { return lastOutcome() == RunOutcome::succeeded; })) << "in the term after it";
  EXPECT_EQ(stage_.recorded().past.size(), 2U);
}

TEST_F(SingletonSchedulers, I6_ARunIsToldToStopWhateverTheStopCallbacksOfOthersDo) {
  std::atomic<bool> shut{true}, told{false};
  std::atomic<int> begun{0};
  const auto blocking = [&](const std::string& name) {
    ScheduledJob job = works_.quick(name);
    job.work = [&](const JobRun& run) {
      const std::stop_callback blocks{run.stop, [&] { EXPECT_TRUE(eventually([&] { return !shut; })); }};
      ++begun;
      EXPECT_TRUE(eventually([&] { return run.stop.stop_requested(); }));
    };
    return job;
  };
  ScheduledJob last = works_.quick("last");
  last.work = [&](const JobRun& run) {
    ++begun;
    EXPECT_TRUE(eventually([&] { return run.stop.stop_requested() || !shut; }));
    told = run.stop.stop_requested();
  };
  const auto a = stage_.copy("a", {blocking("one"), blocking("two"), last});
  ASSERT_TRUE(stage_.until([&] { return begun == 3; }));
  a->requestStop();
  EXPECT_TRUE(eventually([&] { return stage_.advance(1ms), told.load(); }, 5s));
  shut = false;
  ASSERT_TRUE(stage_.until([&] { return stage_.stored()->released; }));
}

TEST_F(SingletonSchedulers, aRunWhoseCopyCrashedCountsAsLostAndIsRepeated) {
  const JobPolicy policy{.guarantee = Guarantee::atLeastOnce, .backoff = 0s};
  const auto a = stage_.copy("a", {works_.held("job", policy)});
  ASSERT_TRUE(stage_.until([&] { return works_.running() == 1; }));
  a.store->setAll(Fault::neverLost);
  const auto b = stage_.copy("b", {works_.quick("job", policy)});
  ASSERT_TRUE(stage_.until([&] { return lastOutcome() == RunOutcome::succeeded; }));
  EXPECT_EQ(works_.begun()[1], "job 2026-03-01T12:00Z#2 token 2");
  EXPECT_EQ(stage_.recorded().past[0].outcome, RunOutcome::lost);
  a.store->setAll(Fault::none);
}

TEST_F(SingletonSchedulers, aTermThatIsLostBetweenTheRecordAndTheStartRunsNothing) {
  const auto a = stage_.copy("a", {works_.quick()});
  a.store->set(Operation::renew, Fault::neverApplied);  // the record has it, and nobody is told until the term is over
  ASSERT_TRUE(stage_.until([&] { return stage_.recorded().open.has_value(); }));
  ASSERT_TRUE(stage_.until([&] { return stage_.logged("revoked ("); }));
  a.store->setAll(Fault::none);
  ASSERT_TRUE(stage_.until([&] { return a->status().elector.fencingToken.has_value(); }));
  stage_.advance(5s);
  EXPECT_EQ(works_.begun(), Lines{}) << "at most once";
}

/// Its only thread takes no task until the test lets it.
TEST_F(SingletonSchedulers, aRunThatNoThreadHasTakenEndsWithTheTerm) {
  Runtime where = stage_.runtime();  // callbacks run when the stage says so, on the thread of the test
  std::vector<std::function<void()>> tasks;
  std::mutex mutex;
  where.executor = [&](std::function<void()> task) {
    const std::lock_guard lock{mutex};
    tasks.push_back(std::move(task));
  };
  const auto runNext = [&] {
    std::unique_lock lock{mutex};
    if (tasks.empty()) return false;
    const auto task = std::move(tasks.front());
    tasks.erase(tasks.begin());
    lock.unlock();
    return stage_.drive<bool>([&] { return task(), true; });
  };
  auto jobs =
      std::make_unique<SingletonScheduler>(stage_.group("a", stage_.memory), std::vector<ScheduledJob>{works_.quick()},
                                           SingletonScheduler::Options{stage_.wallClock()}, std::move(where));
  jobs->start();
  ASSERT_TRUE(stage_.until([&] { return !tasks.empty(); }));
  ASSERT_TRUE(runNext()) << "onElected";
  ASSERT_TRUE(stage_.until([&] { return stage_.recorded().open.has_value() && !tasks.empty(); }));
  jobs->requestStop();
  ASSERT_TRUE(stage_.until([&] { return tasks.size() == 2; })) << "the work, and onRevoked behind it";
  std::swap(tasks[0], tasks[1]);
  ASSERT_TRUE(runNext()) << "onRevoked";
  ASSERT_TRUE(runNext()) << "the work, which comes too late";
  ASSERT_TRUE(stage_.until([&] { return stage_.stored()->released; }));
  EXPECT_EQ(lastOutcome(), RunOutcome::stopped);
  EXPECT_EQ(works_.begun(), Lines{});
  stage_.drive<bool>([&] { return jobs.reset(), true; });
}

TEST_F(SingletonSchedulers, aStoreThatRefusesTheLedgerRunsNoJobAndTheTermGoesOn) {
  const auto narrow = std::make_shared<NarrowStore>(stage_.memory);
  const auto a = stage_.copy("a", {works_.held()}, {}, narrow);
  ASSERT_TRUE(stage_.until([&] { return !a->status().jobs[0].error.empty(); }));
  EXPECT_NE(a->status().jobs[0].error.find("is too long"), std::string::npos) << a->status().jobs[0].error;
  stage_.advance(30s);
  EXPECT_EQ(works_.begun(), Lines{});
  EXPECT_TRUE(a->status().elector.fencingToken);
  narrow->most = 1000;
  ASSERT_TRUE(stage_.until([&] { return works_.running() == 1; })) << "it is asked again";
  narrow->most = 8;
  works_.release();
  ASSERT_TRUE(stage_.until([&] { return !a->status().jobs[0].error.empty(); }));
  narrow->most = 1000;
  ASSERT_TRUE(stage_.until([&] { return lastOutcome() == RunOutcome::succeeded; })) << "so is the end";
}

/// The scheduler takes the stop, whose token fires on another thread, and at once the refusal.
TEST_F(SingletonSchedulers, aStopThatComesWithARefusalOfAnEndEndsTheTerm) {
  const auto narrow = std::make_shared<NarrowStore>(stage_.memory);
  narrow->most = 1000;
  std::atomic<bool> worked{false};
  std::atomic<SingletonScheduler*> stopped{nullptr};
  const ScheduledJob job{"job", everyMinute(), {}, Overlap::wait, [&](const JobRun&) {
                           worked = true;
                           EXPECT_TRUE(eventually([&] { return stopped != nullptr; }));
                           narrow->most = 8;
                           stopped.load()->requestStop();
                         }};
  const auto a = stage_.copy("a", {job}, {}, narrow);
  ASSERT_TRUE(stage_.until([&] { return worked.load(); }));
  stopped = a.jobs.get();
  ASSERT_TRUE(eventually([&] { return stage_.logged(" succeeded"); }));
  EXPECT_TRUE(stage_.until([&] { return stage_.stored()->released; }));
}

TEST_F(SingletonSchedulers, dataThatAreNotUnderstoodRunNoJobAndItSaysSo) {
  stage_.put(R"({"tenure":1,"jobs":{"v":7,"jobs":{}}})");
  const auto a = stage_.copy("a", {works_.quick()});
  ASSERT_TRUE(stage_.until([&] { return !a->status().jobs[0].error.empty(); }));
  EXPECT_TRUE(stage_.logged("job job: no run begins: ")) << a->status().jobs[0].error;
  stage_.advance(5s);
  EXPECT_EQ(works_.begun(), Lines{});
}

TEST_F(SingletonSchedulers, whatIsWrongIsToldTogether) {
  GroupOptions sharded{.group = "stage", .shards = {.count = 4}};
  ScheduledJob bad = works_.quick("bad", {.mostMissed = 0});
  ScheduledJob idle{"bad", everyMinute()};
  try {
    const SingletonScheduler jobs{Group::make(sharded, stage_.memory).value(), {bad, idle}, {}, stage_.runtime()};
    FAIL();
  } catch (const std::invalid_argument& fault) {
    EXPECT_EQ(std::string{fault.what()},
              "shards: group stage has shards; give the jobs a group with one lease\n"
              "jobs.bad.mostMissed: 0 is out of range; allowed is 1 to 1000\n"
              "jobs.bad.work: is missing; give a function\n"
              "jobs.bad.name: is the name of two jobs");
  }
  EXPECT_THROW((SingletonScheduler{stage_.group("a", stage_.memory), {}, {}, stage_.runtime()}), std::invalid_argument);
}

TEST_F(SingletonSchedulers, workMayStopAndDestroyItsScheduler) {
  std::optional<SingletonScheduler> jobs;
  std::promise<ReleaseResult> told;
  ScheduledJob job = works_.quick();
  job.work = [&](const JobRun&) {
    told.set_value(jobs->stop());
    jobs.reset();
  };
  Runtime where = stage_.runtime();
  where.executor = {};
  jobs.emplace(stage_.group("a", stage_.memory), std::vector{job}, SingletonScheduler::Options{stage_.wallClock()},
               std::move(where));
  jobs->start();
  auto result = told.get_future();
  ASSERT_TRUE(stage_.until([&] { return result.wait_for(0s) == std::future_status::ready; }));
  EXPECT_EQ(result.get(), ReleaseResult::unknown);
  ASSERT_TRUE(stage_.until([&] { return stage_.stored()->released; }));
  EXPECT_EQ(stage_.recorded().past.size(), 1U);
}

TEST_F(SingletonSchedulers, aStopThatIsOnlyRequestedTellsWhenItIsDone) {
  const auto a = stage_.copy("a", {works_.quick()});
  ASSERT_TRUE(stage_.until([&] { return stage_.recorded().past.size() == 1; }));
  std::promise<ReleaseResult> told;
  a->requestStop([&](ReleaseResult result) { told.set_value(result); });
  auto result = told.get_future();
  ASSERT_TRUE(stage_.until([&] { return result.wait_for(0s) == std::future_status::ready; }));
  EXPECT_EQ(result.get(), ReleaseResult::released);
  EXPECT_TRUE(stage_.stored()->released);
}

TEST_F(SingletonSchedulers, aLedgerByHandWaitsForWhatIsDueAndForWhatTheRecordSays) {
  std::promise<StoreResult<std::optional<JobRun>>> first, second;
  Listener listener;
  listener.onElected = [&](const Leadership& term) {
    EXPECT_THROW(static_cast<void>(JobLedger::open(term, "", everyMinute())), std::invalid_argument);
    auto ledger = JobLedger::open(term, "job", everyMinute(), {}, stage_.wallClock()).value();
    first.set_value(ledger.next());
    EXPECT_FALSE(ledger.next().value()) << "the run has no end";
    EXPECT_TRUE(ledger.end(RunOutcome::failed, 7).has_value());
    EXPECT_TRUE(ledger.end(RunOutcome::failed).has_error()) << "there is none any more";
    EXPECT_FALSE(ledger.tryNext().value()) << "nothing is due";
    EXPECT_EQ(ledger.history().past.size(), 1U);
    second.set_value(ledger.next());
  };
  const Candidate a = stage_.threaded("a", std::move(listener));
  a->start();
  auto one = first.get_future(), two = second.get_future();
  ASSERT_TRUE(stage_.until([&] { return one.wait_for(0s) == std::future_status::ready; }));
  const auto run = one.get().value();
  ASSERT_TRUE(run);
  EXPECT_EQ(run->period, instant("2026-03-01T12:00Z"));
  ASSERT_TRUE(stage_.until([&] { return stage_.recorded().past.size() == 1; }));
  EXPECT_EQ(stage_.recorded().past[0].exitCode, 7);
  EXPECT_EQ(stage_.stop(a, 1ms), ReleaseResult::released);
  ASSERT_EQ(two.wait_for(30s), std::future_status::ready);
  EXPECT_FALSE(two.get().value()) << "the term is over";
}

/// onElected has its turn on the executor, and the run has none: another copy should lead.
TEST_F(SingletonSchedulers, aRunThatTheExecutorDoesNotBeginEndsTheTermWithAReason) {
  std::atomic<int> free{1};  // how many tasks the executor still runs
  std::mutex mutex;
  std::vector<std::function<void()>> held;
  Runtime where = stage_.runtime();
  const auto threads = ThreadPool::forCallbacks();  // onRevoked waits for the end of runs
  where.executor = [&](std::function<void()> task) {
    if (free-- > 0) return threads->post(std::move(task));
    const std::lock_guard lock{mutex};
    held.push_back(std::move(task));
  };
  const std::unique_ptr<SingletonScheduler, JobsStage::Delete> jobs{
      new SingletonScheduler{
          stage_.group("a", stage_.memory), {works_.quick()}, {stage_.wallClock()}, std::move(where)},
      JobsStage::Delete{&stage_}};
  jobs->start();
  const auto reason = "revoked (notStarted: job job: its run did not begin within 3000 ms: the executor has not run it";
  ASSERT_TRUE(stage_.until([&] { return stage_.logged(reason); }));
  EXPECT_TRUE(works_.begun().empty());
  EXPECT_FALSE(jobs->status().elector.fencingToken.has_value());
  free = 1'000'000;
  {
    const std::lock_guard lock{mutex};
    for (auto& task : held) threads->post(std::move(task));
  }
  EXPECT_TRUE(stage_.until([&] { return jobs->status().elector.fencingToken == FencingToken{2}; }));
}

}  // namespace
}  // namespace tenure::test
