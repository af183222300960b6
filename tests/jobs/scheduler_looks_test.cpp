// When the scheduler looks at its jobs, and what it does while none of them works.
#include <map>
#include <mutex>

#include <gtest/gtest.h>

#include "jobs_stage.hpp"
#include "lockcore/runtime/thread_pool.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::sys_seconds;

/// Work runs on the thread of the test, when the stage says so.
class SchedulerLooks : public testing::Test {
 protected:
  using Owned = std::unique_ptr<SingletonScheduler, JobsStage::Delete>;

  [[nodiscard]] static ScheduledJob job(std::function<void(const JobRun&)> work, const JobPolicy& policy = {}) {
    return {"job", everyMinute(), policy, Overlap::wait, std::move(work)};
  }
  /// With nothing due.
  [[nodiscard]] static ScheduledJob idle() {
    ScheduledJob out = job([](const JobRun&) { ADD_FAILURE() << "nothing is due"; }, {.missed = Missed::skip});
    out.schedule = Schedule::every(24h).value();
    return out;
  }
  [[nodiscard]] Owned started(const ScheduledJob& what, const Adjust& adjust,
                              const std::shared_ptr<LeaseStore>& store) {
    return started(what, adjust, store, stage_.runtime(), stage_.wallClock());
  }
  [[nodiscard]] Owned started(const ScheduledJob& what, const Adjust& adjust, const std::shared_ptr<LeaseStore>& store,
                              Runtime where, WallClock wall) {
    auto made = std::make_unique<SingletonScheduler>(stage_.group("a", store, adjust), std::vector{what},
                                                     SingletonScheduler::Options{std::move(wall)}, std::move(where));
    made->start();
    return {made.release(), JobsStage::Delete{&stage_}};
  }
  [[nodiscard]] static Adjust progress(std::chrono::milliseconds timeout) {
    return [timeout](GroupOptions& group) {
      group.lease.heartbeat = std::min(1000ms, timeout);
      group.lease.progressTimeout = timeout;
    };
  }
  [[nodiscard]] bool lostProgress() const { return stage_.logged("no progress"); }

  JobsStage stage_;
};

TEST_F(SchedulerLooks, aRunWhoseEndTheStoreRefusesNeedsNoProgress) {
  const auto narrow = std::make_shared<NarrowStore>(stage_.memory);
  narrow->most = 10'000;
  const auto a = started(job([&](const JobRun&) { narrow->most = 8; }), progress(5s), narrow);
  ASSERT_TRUE(stage_.until([&] { return !a->status().jobs[0].error.empty(); }));
  stage_.advance(1min);
  EXPECT_FALSE(lostProgress());
  EXPECT_TRUE(a->status().elector.fencingToken);
  narrow->most = 10'000;
  stage_.advance(10s);
  ASSERT_TRUE(stage_.until([&] { return !stage_.recorded().past.empty(); }));
}

/// Until it has waited for a lease: then the term is given back for another reason.
TEST_F(SchedulerLooks, aRunThatWaitsForAThreadNeedsNoProgress) {
  std::mutex mutex;
  std::vector<std::function<void()>> held;
  int tasks = 0;
  Runtime where = stage_.runtime();
  where.executor = [&](std::function<void()> task) {
    const std::lock_guard lock{mutex};
    if (++tasks == 1 || tasks > 100) return ThreadPool::forCallbacks()->post(std::move(task));  // onElected
    held.push_back(std::move(task));
  };
  std::atomic<bool> worked{false};
  const auto a = started(job([&](const JobRun&) { worked = true; }), progress(1s), stage_.memory, std::move(where),
                         stage_.wallClock());
  ASSERT_TRUE(stage_.until([&] { return stage_.recorded().open.has_value(); }));
  stage_.advance(2500ms);
  EXPECT_FALSE(lostProgress());
  EXPECT_TRUE(a->status().elector.fencingToken.has_value());
  const std::lock_guard lock{mutex};
  tasks = 100;
  for (auto& task : held) ThreadPool::forCallbacks()->post(std::move(task));
  EXPECT_TRUE(eventually([&] { return worked.load(); }));
}

TEST_F(SchedulerLooks, aShortProgressTimeoutIsKept) {
  for (const auto timeout : {100ms, 500ms, 1000ms}) {
    SCOPED_TRACE(timeout.count());
    const auto a = started(idle(), progress(timeout), stage_.memory);
    ASSERT_TRUE(stage_.until([&] { return a->status().elector.fencingToken.has_value(); }));
    stage_.advance(20s);
    EXPECT_FALSE(lostProgress());
  }
}

TEST_F(SchedulerLooks, aPeriodThatWouldBeSkippedReplacesNoRun) {
  ScheduledJob replaced =
      job([](const JobRun& run) { EXPECT_TRUE(eventually([&] { return run.stop.stop_requested(); })); },
          {.missed = Missed::skip, .lateBy = 10s});
  replaced.overlap = Overlap::replace;
  const auto a = stage_.copy("a", {replaced});
  ASSERT_TRUE(stage_.until([&] { return a->status().jobs[0].running.has_value(); }));
  stage_.setWallAhead(90s);
  stage_.advance(5s);
  EXPECT_FALSE(stage_.logged("is asked to stop"));
  stage_.setWallAhead(110s);
  ASSERT_TRUE(stage_.until([&] { return stage_.logged("is asked to stop"); }));
  ASSERT_TRUE(stage_.until([&] { return stage_.recorded().past.size() == 1; }));
}

/// Its first timer is 0, and it notes who cancels one that it does not have.
class ZeroScheduler final : public Scheduler {
 public:
  explicit ZeroScheduler(std::shared_ptr<ManualScheduler> real) : real_{std::move(real)} {}
  [[nodiscard]] std::shared_ptr<const Clock> clock() const override { return real_->clock(); }
  [[nodiscard]] Instant now() const noexcept override { return real_->now(); }
  void post(Task task) override { real_->post(std::move(task)); }
  TimerId schedule(std::chrono::nanoseconds delay, Task task) override {
    const TimerId id = next_++;
    const TimerId real = real_->schedule(delay, [this, id, task = std::move(task)] {
      pending_.erase(id);
      task();
    });
    pending_.emplace(id, real);
    return id;
  }
  void cancel(TimerId id) noexcept override {
    const auto found = pending_.find(id);
    if (found == pending_.end()) return void(++strays_);
    real_->cancel(found->second);
    pending_.erase(found);
  }
  [[nodiscard]] bool isCurrent() const noexcept override { return real_->isCurrent(); }
  [[nodiscard]] int strays() const { return strays_; }

 private:
  const std::shared_ptr<ManualScheduler> real_;
  TimerId next_{0};
  std::map<TimerId, TimerId> pending_{};
  std::atomic<int> strays_{0};
};

TEST_F(SchedulerLooks, noTimerIsCancelledThatIsNotThere) {
  const auto zero = std::make_shared<ZeroScheduler>(stage_.clock);
  Runtime where = stage_.runtime();
  where.scheduler = zero;
  const auto a = started(idle(), {}, stage_.memory, std::move(where), stage_.wallClock());
  ASSERT_TRUE(stage_.until([&] { return a->status().elector.fencingToken.has_value(); }));
  stage_.advance(10s);
  EXPECT_EQ(zero->strays(), 0);
}

class FarWallClocks : public SchedulerLooks, public testing::WithParamInterface<sys_seconds> {};
INSTANTIATE_TEST_SUITE_P(All, FarWallClocks,
                         testing::Values(sys_seconds::min(), sys_seconds{std::chrono::years{-100}},
                                         sys_seconds{std::chrono::years{9000}}, sys_seconds::max()));

TEST_P(FarWallClocks, causeNoHaste) {
  int looks = 0, runs = 0;
  const auto a = started(job([&](const JobRun&) { ++runs; }), {}, stage_.memory, stage_.runtime(),
                         [&] { return ++looks, GetParam(); });
  ASSERT_TRUE(stage_.until([&] { return stage_.recorded().past.size() == 1; }));
  looks = 0;
  stage_.advance(10s);
  EXPECT_LE(looks, 15);
  EXPECT_EQ(runs, 1);
}

TEST_P(FarWallClocks, causeNoHasteForALedgerByHand) {
  std::atomic<int> looks{0};
  std::atomic<bool> ended{false};
  Listener listener;
  listener.onElected = [&](const Leadership& term) {
    auto ledger = JobLedger::open(term, "job", everyMinute(), {}, [&] { return ++looks, GetParam(); }).value();
    EXPECT_TRUE(ledger.next().value());
    EXPECT_TRUE(ledger.end(RunOutcome::succeeded).has_value());
    looks = 0;
    ended = true;
    EXPECT_FALSE(ledger.next().value()) << "the term is over";
  };
  const Candidate a = stage_.threaded("a", std::move(listener));
  a->start();
  ASSERT_TRUE(stage_.until([&] { return ended.load(); }));
  EXPECT_FALSE(eventually([&] { return looks > 2; }, 200ms));
  EXPECT_EQ(stage_.stop(a, 1ms), ReleaseResult::released);
}

}  // namespace
}  // namespace tenure::test
