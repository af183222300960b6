// Which signals a guard sends when it comes too late, and what state a dead supervisor has left to it.
#include <algorithm>
#include <csignal>

#include <gtest/gtest.h>

#include "cli/played_supervisor.hpp"
#include "cli/process/job_processes.hpp"
#include "cli/signal_record.hpp"
#include "cli/temporary_directory.hpp"

namespace tenure::test {
namespace {

constexpr milliseconds aMinute{60'000};
constexpr int tidyExit = 9;

bool has(const std::vector<int>& signals, int signal) {
  return std::find(signals.begin(), signals.end(), signal) != signals.end();
}

class GuardSignalsTest : public ::testing::Test {
 protected:
  GuardSignalsTest() { forgetSignals(); }

  /// It ends properly on SIGTERM, and shows when it is ready for that. It starts no process: a shell that waits for the
  /// exec of a child cannot be stopped.
  cli::Job tidyJob() {
    const std::string script = "trap 'exit " + std::to_string(tidyExit) + "' TERM; echo begun > " +
                               directory_.file("begun") + "; while :; do :; done";
    cli::Job job = cli::Job::start({{"sh", "-c", script}, {{cli::jobVariable, identity_}}, {}}, signals_,
                                   {&supervisor_.channel, true});
    job.openBarrier();
    EXPECT_TRUE(eventually([&] { return contentOf(directory_.file("begun")) == "begun\n"; }));
    return job;
  }
  static void stopWhole(cli::Job& job) {
    cli::signalGroup(job.group(), SIGSTOP);
    EXPECT_TRUE(eventually([&] { return job.takeStop().has_value(); }));
  }
  static cli::ExitStatus end(const cli::Job& job) {
    EXPECT_TRUE(eventually([&] { return job.status().has_value(); })) << "it was left alone";
    return job.status().value_or(cli::ExitStatus{});
  }
  void beginWatching(const cli::Job& job) {
    supervisor_.sendWatch(job, identity_);
    supervisor_.startGuard();
    ASSERT_TRUE(supervisor_.isWatched());
  }

  TemporaryDirectory directory_;
  const std::string identity_ = std::string(24, 'd') + std::to_string(100'000'000 + getpid()).substr(1);
  const cli::SignalState signals_{cli::SignalState::takeOver()};
  PlayedSupervisor supervisor_;
};

TEST_F(GuardSignalsTest, StoppedJobIsWokenToActOnItsSigterm) {
  supervisor_.publish(aMinute, aMinute);
  supervisor_.channel.beginJob(aMinute);
  cli::Job job = tidyJob();
  beginWatching(job);
  stopWhole(job);
  supervisor_.die();
  EXPECT_EQ(end(job).shellCode(), tidyExit);
}

TEST_F(GuardSignalsTest, GuardThatIsContinuedAfterTheDeadlineKillsAndWakesNothing) {
  supervisor_.publish(aMinute, aMinute);
  supervisor_.channel.beginJob(aMinute);
  cli::Job job = tidyJob();
  stopWhole(job);
  const long long deadline = monotonicNow() + 300'000'000LL;
  supervisor_.publish(milliseconds{300}, milliseconds{300});
  supervisor_.sendWatch(job, identity_);
  supervisor_.startGuard();
  supervisor_.freezeGuard();
  ASSERT_TRUE(eventually([&] { return monotonicNow() > deadline; }));
  supervisor_.wakeGuard();
  EXPECT_EQ(end(job).shellCode(), 128 + SIGKILL) << "by the guard or by the reaper, which knows the deadline too";
  const std::vector<int> sent = signalsSentBy(supervisor_.guard());
  EXPECT_FALSE(has(sent, SIGTERM)) << "its time was over before";
  EXPECT_FALSE(has(sent, SIGCONT)) << "a stopped job would have acted after its time";
  EXPECT_TRUE(supervisor_.channel.terminationClaimed()) << "else its supervisor takes the end for the job's own";
}

TEST_F(GuardSignalsTest, TerminationThatADeadSupervisorClaimedIsMadeUpFor) {
  supervisor_.publish(aMinute, aMinute);
  supervisor_.channel.beginJob(aMinute);
  cli::Job job = tidyJob();
  beginWatching(job);
  ASSERT_TRUE(supervisor_.channel.claimTermination());
  supervisor_.die();
  EXPECT_EQ(end(job).shellCode(), tidyExit);
  EXPECT_EQ(supervisor_.guardsExitCode(), 0) << "nothing is left to guard";
}

TEST_F(GuardSignalsTest, TerminationThatALivingSupervisorClaimedIsItsOwn) {
  supervisor_.publish(milliseconds{0}, aMinute);
  supervisor_.channel.beginJob(aMinute);
  cli::Job job = tidyJob();
  ASSERT_TRUE(supervisor_.channel.claimTermination());
  beginWatching(job);
  supervisor_.publish(milliseconds{0}, milliseconds{0});
  supervisor_.sendWatch(job, identity_);  // this wakes it
  EXPECT_EQ(end(job).shellCode(), 128 + SIGKILL);
  EXPECT_FALSE(has(signalsSentBy(supervisor_.guard()), SIGTERM)) << "the job would have got it twice";
}

TEST_F(GuardSignalsTest, WatchThatADeadSupervisorSentIsReadBeforeTheGuardLeaves) {
  supervisor_.publish(aMinute, aMinute);
  supervisor_.channel.beginJob(aMinute);
  cli::Job job = tidyJob();
  supervisor_.sendWatch(job, identity_);
  supervisor_.die();
  supervisor_.startGuard();
  EXPECT_EQ(end(job).shellCode(), tidyExit);
  EXPECT_EQ(supervisor_.guardsExitCode(), 0);
}

}  // namespace
}  // namespace tenure::test
