// The supervisor's part of a job's life: the barrier before its exec, and the signals of its end.
#include "cli/run/job_run.hpp"

#include <algorithm>
#include <csignal>
#include <sys/wait.h>

#include <gtest/gtest.h>

#include "cli/signal_record.hpp"
#include "cli/subprocess.hpp"
#include "cli/temporary_directory.hpp"

namespace tenure::cli {
namespace {

using test::contentOf;
using test::eventually;
using test::forgetSignals;
using test::milliseconds;
using test::signalsSentBy;

constexpr milliseconds aMinute{60'000};
constexpr int tidyExit = 9;

bool has(const std::vector<int>& signals, int signal) {
  return std::find(signals.begin(), signals.end(), signal) != signals.end();
}

class JobRunTest : public ::testing::Test {
 protected:
  explicit JobRunTest(const std::string& guard = GUARD_RIG) : guard_{channel_, guard} {
    forgetSignals();
    channel_.publish({began_, aMinute, aMinute, FencingToken{1}});
  }

  /// It ends properly on SIGTERM, and shows when it is ready for that. It starts no process: a shell that waits for the
  /// exec of a child cannot be stopped.
  JobRun& startTidyJob() {
    const std::string script =
        "trap 'exit " + std::to_string(tidyExit) + "' TERM; echo begun > " + mark_ + "; while :; do :; done";
    return run_.emplace(JobSpec{{"sh", "-c", script}, {}, {}}, aMinute, channel_, guard_, signals_, Logger{});
  }
  JobRun& runTidyJob() {
    JobRun& run = startTidyJob();
    EXPECT_TRUE(eventually([&] {
      guard_.takeAnswers();
      run.act(began_);
      return hasBegun();
    }));
    return run;
  }
  [[nodiscard]] bool hasBegun() const { return contentOf(mark_) == "begun\n"; }

  /// How the run's first process ended, as a shell's exit code.
  static int endOf(JobRun& run, const Instant& now) {
    EXPECT_TRUE(eventually([&] {
      run.act(now);
      return run.isOver();
    })) << "it was left alone";
    return run.status().value_or(ExitStatus{}).shellCode();
  }

  test::TemporaryDirectory directory_;
  const std::string mark_{directory_.file("begun")};
  const SignalState signals_{SignalState::takeOver()};
  const Instant began_{readClock()};
  GuardChannel channel_{GuardChannel::create()};
  GuardKeeper guard_;
  std::optional<JobRun> run_;
};

TEST_F(JobRunTest, StoppedJobIsWokenToActOnItsSigterm) {
  JobRun& run = runTidyJob();
  ASSERT_EQ(kill(-run.id(), SIGSTOP), 0);
  run.stop("the test says so");
  EXPECT_EQ(endOf(run, began_), tidyExit);
  EXPECT_TRUE(run.wasStopped());
}

TEST_F(JobRunTest, JobWhoseTimeIsOverIsKilledAndNotWokenBefore) {
  JobRun& run = runTidyJob();
  ASSERT_EQ(kill(-run.id(), SIGSTOP), 0);
  forgetSignals();
  EXPECT_EQ(endOf(run, began_ + 2 * aMinute), 128 + SIGKILL);
  const std::vector<int> sent = signalsSentBy(run.job().reaperId());
  EXPECT_TRUE(has(sent, SIGKILL));
  EXPECT_FALSE(has(sent, SIGTERM)) << "its time was over before";
  EXPECT_FALSE(has(sent, SIGCONT)) << "it would have acted after its time";
  EXPECT_TRUE(run.wasStopped()) << "this was no end of its own accord";
}

// By then the numbers of its processes may be those of others.
TEST_F(JobRunTest, AGuardsSuccessorIsNotGivenAJobThatIsOver) {
  JobRun& run = runTidyJob();
  run.stop("the test says so");
  EXPECT_EQ(endOf(run, began_), tidyExit);
  run_.reset();
  ASSERT_EQ(kill(guard_.id(), SIGKILL), 0);
  std::string why;
  ASSERT_TRUE(guard_.replace(why)) << why;
  pollfd answer{guard_.control(), POLLIN, 0};
  EXPECT_EQ(poll(&answer, 1, 300), 0) << "it was given a job, because it answers";
}

/// With a guard that answers when the test wants it to.
class BarrierTest : public JobRunTest {
 protected:
  BarrierTest() : JobRunTest{SLOW_GUARD} {}

  /// Waits until the guard has read a watch and has not answered it.
  void awaitGuardsStop() const {
    siginfo_t stopped{};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(guard_.id()), &stopped, WSTOPPED), 0);
  }
  /// Lets the guard answer, and reads the answer.
  void letGuardAnswer() {
    ASSERT_EQ(kill(guard_.id(), SIGCONT), 0);
    pollfd answer{guard_.control(), POLLIN, 0};
    ASSERT_EQ(poll(&answer, 1, static_cast<int>(test::patience.count())), 1);
    guard_.takeAnswers();
  }
  /// If the barrier is open, the run waits for one thing more: the result of exec.
  [[nodiscard]] bool isBarrierOpen() const { return run_->descriptors().back().fd >= 0 || hasBegun(); }
};

TEST_F(BarrierTest, IsShutUntilTheGuardWatchesTheJob) {
  JobRun& run = startTidyJob();
  awaitGuardsStop();
  guard_.takeAnswers();
  run.act(began_);
  EXPECT_FALSE(isBarrierOpen()) << "nobody would end the job if this process died now";
  letGuardAnswer();
  run.act(began_);
  EXPECT_TRUE(eventually([&] { return hasBegun(); }));
}

TEST_F(BarrierTest, StaysShutWhenTheAnswerComesAfterTheEndOfLeadership) {
  channel_.publish({began_, aMinute, 3 * aMinute, FencingToken{1}});
  JobRun& run = startTidyJob();
  awaitGuardsStop();
  letGuardAnswer();
  run.act(began_ + 2 * aMinute);
  EXPECT_FALSE(isBarrierOpen()) << "work would begin when leadership is over";
  EXPECT_EQ(endOf(run, began_ + 2 * aMinute), 128 + SIGKILL);
  EXPECT_FALSE(hasBegun());
}

TEST_F(BarrierTest, IsNotOpenedByTheAnswerAboutTheJobBefore) {
  startTidyJob();
  awaitGuardsStop();
  run_.reset();
  JobRun& run = startTidyJob();
  letGuardAnswer();
  awaitGuardsStop();
  run.act(began_);
  EXPECT_FALSE(isBarrierOpen()) << "the guard has not read of this job yet";
  letGuardAnswer();
  run.act(began_);
  EXPECT_TRUE(eventually([&] { return hasBegun(); }));
}

TEST_F(BarrierTest, IsShutAgainForAGuardThatReplacesADeadOne) {
  JobRun& run = startTidyJob();
  awaitGuardsStop();
  letGuardAnswer();
  ASSERT_EQ(kill(guard_.id(), SIGKILL), 0);
  std::string why;
  ASSERT_TRUE(guard_.replace(why)) << why;
  run.act(began_);
  EXPECT_FALSE(isBarrierOpen()) << "the one that had answered is dead";
  awaitGuardsStop();
  letGuardAnswer();
  run.act(began_);
  EXPECT_TRUE(eventually([&] { return hasBegun(); }));
}

}  // namespace
}  // namespace tenure::cli
