#include "cli/run/job.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <string>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "cli/process/adopted.hpp"
#include "cli/process/exec_image.hpp"
#include "cli/process/job_processes.hpp"
#include "cli/run/hook_run.hpp"
#include "cli/subprocess.hpp"
#include "cli/temporary_directory.hpp"
#include "cli/text/environment.hpp"

namespace tenure::cli {
namespace {

using namespace std::chrono_literals;
using test::contentOf;
using test::eventually;
using test::TemporaryDirectory;

class JobTest : public ::testing::Test {
 protected:
  Job start(const std::vector<std::string>& command, std::map<std::string, std::string> environment = {}) {
    return Job::start({command, std::move(environment), {}}, signals_);
  }
  static ExitStatus end(const Job& job) {
    EXPECT_TRUE(eventually([&] { return job.status().has_value(); }));
    return job.status().value_or(ExitStatus{});
  }
  int execError(Job& job) {
    job.openBarrier();
    pollfd answer{job.execDescriptor(), POLLIN, 0};
    EXPECT_EQ(poll(&answer, 1, static_cast<int>(test::patience.count())), 1);
    return job.takeExecResult();
  }

  TemporaryDirectory directory_;
  SignalState signals_{SignalState::takeOver()};
};

TEST_F(JobTest, NothingIsExecutedBeforeTheBarrierIsOpened) {
  Job job = start({"/bin/sh", "-c", "echo ran > " + directory_.file("mark")});
  EXPECT_FALSE(job.status().has_value());
  EXPECT_EQ(getpgid(job.id()), job.id()) << "it leads its own group from the beginning";
  EXPECT_EQ(contentOf(directory_.file("mark")), "");
  EXPECT_EQ(execError(job), 0);
  EXPECT_EQ(end(job).shellCode(), 0);
  EXPECT_EQ(contentOf(directory_.file("mark")), "ran\n");
}

TEST_F(JobTest, TellsHowItEnded) {
  Job coded = start({"sh", "-c", "exit 3"});
  coded.openBarrier();
  EXPECT_EQ(end(coded).shellCode(), 3);
  EXPECT_EQ(end(coded).text(), "ended with exit code 3");
  Job killed = start({"sh", "-c", "kill -9 $$"});
  killed.openBarrier();
  EXPECT_EQ(end(killed).shellCode(), 137);
  EXPECT_EQ(end(killed).text(), "was ended by signal 9 (Killed)");
}

TEST_F(JobTest, TellsWhyACommandCannotBeExecuted) {
  Job missing = start({"no-such-command-anywhere"});
  EXPECT_EQ(execError(missing), ENOENT);
  EXPECT_EQ(end(missing).shellCode(), 127);
  directory_.write("plain.txt", "x");
  Job plain = start({directory_.file("plain.txt")});
  EXPECT_EQ(execError(plain), EACCES);
  EXPECT_EQ(end(plain).shellCode(), 126);
}

TEST_F(JobTest, AScriptWithoutAnInterpreterLineIsGivenToTheShell) {
  directory_.write("script", "echo \"$1\" > " + directory_.file("said") + "\n");
  std::filesystem::permissions(directory_.file("script"), std::filesystem::perms::owner_all);
  Job job = start({directory_.file("script"), "hello"});
  EXPECT_EQ(execError(job), 0);
  EXPECT_EQ(end(job).shellCode(), 0);
  EXPECT_EQ(contentOf(directory_.file("said")), "hello\n");
}

TEST_F(JobTest, AScriptOfPathWithoutInterpreterLineRunsInTheShell) {
  directory_.write("its-name", "echo \"$0 $1\" > " + directory_.file("said") + "\n");
  std::filesystem::permissions(directory_.file("its-name"), std::filesystem::perms::owner_all);
  const std::string before = environmentText("PATH");
  const std::string path = directory_.file("none") + ':' + directory_.path() + ':' + before;
  setenv("PATH", path.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): one thread
  Job job = start({"its-name", "hello"});
  EXPECT_EQ(execError(job), 0);
  EXPECT_EQ(end(job).shellCode(), 0);
  EXPECT_EQ(contentOf(directory_.file("said")), directory_.file("its-name") + " hello\n");
  setenv("PATH", before.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): one thread
}

TEST_F(JobTest, GetsTheSignalStateThatThisProcessWasStartedWith) {
  ignoreClosedPipes();
  const SignalEvents blocked{{SIGTERM, SIGINT}};
  Job job = start({"sh", "-c", "grep -E '^Sig(Blk|Ign)' /proc/self/status > " + directory_.file("signals")});
  job.openBarrier();
  end(job);
  // This test ignores SIGPIPE (bit 12) and blocks two others; the job must see neither.
  EXPECT_NE(contentOf(directory_.file("signals")).find("SigBlk:\t0000000000000000"), std::string::npos)
      << contentOf(directory_.file("signals"));
  EXPECT_EQ(contentOf(directory_.file("signals")).find("SigIgn:\t0000000000001000"), std::string::npos);
}

TEST_F(JobTest, InheritsOnlyTheDescriptorsThatItIsGiven) {
  const UniqueFd given{open("/dev/null", O_RDONLY | O_CLOEXEC)};
  const UniqueFd kept{open("/dev/null", O_RDONLY | O_CLOEXEC)};
  Job job = Job::start({{"sh", "-c", "ls /proc/$$/fd > " + directory_.file("fds")}, {}, {given.get()}}, signals_);
  job.openBarrier();
  end(job);
  const std::string fds = '\n' + contentOf(directory_.file("fds"));
  EXPECT_NE(fds.find('\n' + std::to_string(given.get()) + '\n'), std::string::npos) << fds;
  EXPECT_EQ(fds.find('\n' + std::to_string(kept.get()) + '\n'), std::string::npos) << fds;
  EXPECT_NE(fcntl(given.get(), F_GETFD) & FD_CLOEXEC, 0) << "in the job only";
}

TEST_F(JobTest, EnvironmentIsAddedAndReplaced) {
  setenv("TENURE_TEST_OLD", "old", 1);  // NOLINT(concurrency-mt-unsafe): one thread
  Job job = start({"sh", "-c", "echo \"$TENURE_TEST_OLD $TENURE_TEST_NEW\" > " + directory_.file("env")},
                  {{"TENURE_TEST_OLD", "replaced"}, {"TENURE_TEST_NEW", "new"}});
  job.openBarrier();
  end(job);
  EXPECT_EQ(contentOf(directory_.file("env")), "replaced new\n");
  unsetenv("TENURE_TEST_OLD");  // NOLINT(concurrency-mt-unsafe): one thread
}

TEST_F(JobTest, DestructionKillsAJobAtItsBarrier) {
  std::optional<pid_t> id;
  {
    Job job = start({"sh", "-c", "echo ran > " + directory_.file("mark")});
    id = job.id();
  }
  EXPECT_FALSE(tryOpenPidfd(*id)) << "killed and reaped";
  EXPECT_EQ(contentOf(directory_.file("mark")), "");
}

/// Its SIGCHLD may have come, and been taken, while only its job could wait for it. No other one tells of it.
TEST_F(JobTest, AReaperThatHasEndedStaysAsNoZombie) {
  for (int i = 0; i < 20; ++i) {
    pid_t reaper = -1;
    {
      Job job = start({"true"});
      job.openBarrier();
      reaper = job.reaperId();
      pollfd ended{job.reaperPidfd(), POLLIN, 0};
      ASSERT_EQ(poll(&ended, 1, static_cast<int>(test::patience.count())), 1);
      job.look();
      ASSERT_TRUE(job.isOver());
    }
    siginfo_t left{};
    EXPECT_NE(waitid(P_PID, static_cast<id_t>(reaper), &left, WEXITED | WNOHANG | WNOWAIT | __WALL), 0) << left.si_pid;
  }
}

/// What a debugger watches is gone only when the debugger has seen its end, as in the kernel what waits for a disk.
TEST_F(JobTest, AHookWhoseLeftoverSigkillDoesNotEndIsLate) {
  const std::string command = "sleep 600 & echo $! > " + directory_.file("left");
  HookRun hook{"hook on_revoked", {hookCommand(command), {}, {}}, HookLimit{300ms}, signals_, readClock(), nullptr};
  ASSERT_TRUE(eventually([&] { return contentOf(directory_.file("left")).ends_with('\n'); }));
  const pid_t left = std::stoi(contentOf(directory_.file("left")));
  ASSERT_EQ(ptrace(PTRACE_SEIZE, left, nullptr, nullptr), 0) << errno;
  const auto acts = [&hook] { return hook.act(readClock()), true; };
  EXPECT_TRUE(eventually([&] { return acts() && hook.isLate(); }));
  EXPECT_FALSE(hook.status());
  EXPECT_EQ(waitpid(left, nullptr, 0), left);
  EXPECT_TRUE(eventually([&] { return acts() && hook.status(); }));
  EXPECT_EQ(hook.text(), "hook on_revoked was killed after 300ms, its time limit (hooks.timeout)");
  EXPECT_FALSE(hook.succeeded());
}

/// As after a suspend: what it left was not killed before the limit was over, and ends at once when it is. Its own end
/// may be told a moment too late for a try.
TEST_F(JobTest, AHookThatEndedInTimeIsNotLateBecauseItIsLookedAtLate) {
  const std::string file = directory_.file("first");
  EXPECT_TRUE(eventually([&] {
    std::filesystem::remove(file);
    const std::string command = "echo $$ >" + file + "; sleep 600 & exit 0";
    HookRun hook{"hook on_revoked", {hookCommand(command), {}, {}}, HookLimit{10s}, signals_, readClock(), nullptr};
    const auto hasEnded = [&] {
      const std::string first = contentOf(file);
      return first.ends_with('\n') && kill(std::stoi(first), 0) != 0;
    };
    if (!eventually(hasEnded)) return false;
    hook.act(readClock() + 1h);
    return eventually([&] { return hook.act(readClock()), hook.status().has_value(); }) && hook.succeeded();
  }));
}

// Unique to this process: it must not find or kill processes that another test marks at the same time.
const std::string identity = std::string(24, 'a') + std::to_string(100'000'000 + getpid()).substr(1);

TEST_F(JobTest, AnOwnChildThatHasEndedHidesNoAdoptedOneThatGetsItsNumber) {
  const std::vector<pid_t> before = ownChildren();
  EXPECT_TRUE(faultOfHooks({.onElected = "if"})) << "the shell cannot read it";
  EXPECT_FALSE(faultOfHooks({.onElected = "true"}));
  EXPECT_EQ(ownChildren(), before);
  {
    Job job = start({"true"});
    job.openBarrier();
    end(job);
  }
  EXPECT_EQ(ownChildren(), before);
}

TEST_F(JobTest, ProcessesOfTheGroupAndStraysAreFound) {
  Job job = start({TICKER, directory_.file("acts"), "children", "stray"}, {{jobVariable, "outer:" + identity}});
  job.openBarrier();
  JobProcesses processes{job.group(), identity};
  EXPECT_TRUE(eventually([&] {
    processes.refresh();
    return processes.size() == 3;
  }));
  ASSERT_TRUE(signalProcess(job.pidfd(), SIGKILL));
  end(job);
  processes.refresh();
  EXPECT_EQ(processes.size(), 2U) << "a zombie counts as gone";
  processes.kill();
  EXPECT_TRUE(eventually([&] {
    processes.refresh();
    return processes.empty();
  }));
}

TEST_F(JobTest, ProcessesOfOthersAreNotFound) {
  Job job = start({"sleep", "60"}, {{jobVariable, std::string(32, 'b')}});
  Job other = start({"sleep", "60"}, {{"NOT_" + std::string{jobVariable}, identity}});
  job.openBarrier();
  EXPECT_EQ(execError(other), 0);
  JobProcesses processes{job.group(), identity};
  EXPECT_TRUE(eventually([&] {
    processes.refresh();
    return processes.size() == 1;
  }));
  processes.kill();
  EXPECT_TRUE(end(job).bySignal);
  EXPECT_FALSE(other.status().has_value());
}

/// On a machine with many processes a look at all of them takes longer than a job may still have.
TEST_F(JobTest, ALookThatIsEndedEarlyComesAfterTheSignalsAndProvesNothing) {
  Job job = start({"sh", "-c", "trap 'exit 7' TERM; echo ready > " + directory_.file("mark") + "; while :; do :; done"},
                  {{jobVariable, identity}});
  job.openBarrier();
  ASSERT_TRUE(eventually([&] { return contentOf(directory_.file("mark")) == "ready\n"; }));
  JobProcesses processes{job.group(), identity};
  EXPECT_FALSE(processes.empty()) << "nobody has looked";
  std::vector<int> codes;
  processes.terminate([&] {
    codes.push_back(end(job).shellCode());  // so it was told before anything was looked at
    return true;
  });
  EXPECT_EQ(codes, std::vector<int>{7});
  EXPECT_FALSE(processes.empty()) << "not all processes were looked at";
  processes.refresh();
  EXPECT_TRUE(processes.empty());
}

/// Otherwise a process that cannot be examined would be taken for one of others, and the job for ended.
TEST_F(JobTest, AFullTableOfDescriptorsHidesNothingOfAJob) {
  Job job = start({TICKER, directory_.file("acts"), "stray"}, {{jobVariable, identity}});
  job.openBarrier();
  ASSERT_TRUE(eventually([&] { return !contentOf(directory_.file("acts.stray")).empty(); }));
  JobProcesses processes{job.group(), identity};
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit few{64, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &few);
  std::vector<UniqueFd> full;
  for (int fd = 0; fd >= 0; fd = dup(STDIN_FILENO)) {
    if (fd > 0) full.emplace_back(fd);
  }
  processes.refresh();
  const bool believedEnded = processes.empty();
  const int error = processes.lookError();
  signalProcess(job.pidfd(), SIGKILL);
  const bool killed = eventually([&] {
    processes.kill();
    return processes.empty();
  });
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_FALSE(believedEnded);
  EXPECT_EQ(error, EMFILE) << "two descriptors are spare, and two processes need three";
  EXPECT_TRUE(killed) << "one after the other";
}

TEST_F(JobTest, ForksDoNotEscapeAKill) {
  // Each process of the chain starts the next one and ends: a fork bomb of width one, inside the group and outside it.
  const std::string chain = "f() { (f &); }; f; sleep 60";
  Job job = start({"sh", "-c", chain}, {{jobVariable, identity}});
  job.openBarrier();
  JobProcesses processes{job.group(), identity};
  EXPECT_TRUE(eventually([&] {
    processes.refresh();
    return processes.size() >= 2;
  }));
  processes.kill();
  EXPECT_TRUE(eventually([&] {
    processes.refresh();
    return processes.empty();
  }));
}

}  // namespace
}  // namespace tenure::cli
