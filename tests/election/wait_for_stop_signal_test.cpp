// waitForStopSignal() with real signals, each case in a child process.
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include <tenure/election/leader_elector.hpp>

#include "election/stage.hpp"

namespace tenure::test {
namespace {

constexpr int misuse = 99;

void mask(int how) {
  sigset_t both;
  sigemptyset(&both);
  sigaddset(&both, SIGINT);
  sigaddset(&both, SIGTERM);
  pthread_sigmask(how, &both, nullptr);
}

/// A child that runs `body` and ends with what that returns; or with 128 + the signal that ends it.
class Child {
 public:
  explicit Child(const std::function<int()>& body) : id_{fork()} {
    if (id_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    _exit(body());
  }
  ~Child() {
    if (id_ <= 0) return;
    kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] pid_t id() const noexcept { return id_; }
  void send(int signal) const { kill(id_, signal); }

  /// A set of signals in /proc: `SigCgt` are handled, `SigIgn` ignored, `ShdPnd` pending for the process, `SigBlk`
  /// blocked in main.
  [[nodiscard]] bool has(const std::string& set, int signal) const {
    std::ifstream status{"/proc/" + std::to_string(id_) + "/status"};
    for (std::string word; status >> word;) {
      if (word != set + ":") continue;
      status >> word;
      return (std::stoull(word, nullptr, 16) >> (signal - 1) & 1U) != 0;
    }
    return false;
  }
  [[nodiscard]] bool isWaiting() const {
    return eventually([&] { return has("SigCgt", SIGTERM); });
  }
  /// -1: it has not ended.
  int result() {
    int status = 0;
    if (!eventually([&] { return waitpid(id_, &status, WNOHANG) == id_; })) return -1;
    id_ = -1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  pid_t id_;
};

int workThatDoesNotEnd() {
  waitForStopSignal();
  while (true) pause();
}

TEST(WaitForStopSignal, returnsTheSignalThatCame) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Child child{[] { return waitForStopSignal(); }};
    ASSERT_TRUE(child.isWaiting());
    child.send(signal);
    EXPECT_EQ(child.result(), signal);
  }
}

TEST(WaitForStopSignal, seesASignalThatAnotherThreadGets) {
  int id[2];
  ASSERT_EQ(pipe(id), 0);
  Child child{[&] {
    std::thread{[&] {
      const auto own = static_cast<pid_t>(syscall(SYS_gettid));
      static_cast<void>(!write(id[1], &own, sizeof own));
      while (true) pause();
    }}.detach();
    return waitForStopSignal();
  }};
  pid_t other = 0;
  ASSERT_EQ(read(id[0], &other, sizeof other), static_cast<ssize_t>(sizeof other));
  ASSERT_TRUE(child.isWaiting());
  syscall(SYS_tgkill, child.id(), other, SIGTERM);
  EXPECT_EQ(child.result(), SIGTERM);
  close(id[0]);
  close(id[1]);
}

TEST(WaitForStopSignal, returnsAtOnceForOneThatWasBlockedBefore) {
  mask(SIG_BLOCK);  // as a parent may have it
  int gate[2];
  ASSERT_EQ(pipe(gate), 0);
  Child child{[&] {
    char byte = 0;
    static_cast<void>(!read(gate[0], &byte, 1));
    return waitForStopSignal();
  }};
  mask(SIG_UNBLOCK);
  child.send(SIGTERM);
  EXPECT_TRUE(eventually([&] { return child.has("ShdPnd", SIGTERM); }));
  ASSERT_EQ(write(gate[1], "x", 1), 1);
  EXPECT_EQ(child.result(), SIGTERM);
  close(gate[0]);
  close(gate[1]);
}

TEST(WaitForStopSignal, aSecondSignalEndsAProcessWhoseWorkDoesNotEnd) {
  for (const bool blockedByParent : {false, true}) {
    if (blockedByParent) mask(SIG_BLOCK);
    Child child{workThatDoesNotEnd};
    mask(SIG_UNBLOCK);
    ASSERT_TRUE(child.isWaiting());
    child.send(SIGINT);
    ASSERT_TRUE(eventually([&] { return !child.has("SigCgt", SIGTERM); })) << "the call has returned";
    child.send(SIGTERM);
    EXPECT_EQ(child.result(), 128 + SIGTERM) << blockedByParent;
  }
}

TEST(WaitForStopSignal, givesTheProgramItsHandlersBack) {
  Child child{[] {
    std::signal(SIGTERM, [](int) { _exit(42); });
    waitForStopSignal();
    raise(SIGTERM);
    return 0;
  }};
  ASSERT_TRUE(eventually([&] { return child.has("SigCgt", SIGINT); }));
  child.send(SIGTERM);
  EXPECT_EQ(child.result(), 42);
}

TEST(WaitForStopSignal, leavesAnIgnoredInterruptIgnored) {
  Child child{[] {
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGTERM, SIG_IGN);
    return waitForStopSignal();
  }};
  ASSERT_TRUE(child.isWaiting());
  EXPECT_TRUE(child.has("SigIgn", SIGINT));
  child.send(SIGTERM);
  EXPECT_EQ(child.result(), SIGTERM);
}

TEST(WaitForStopSignal, oneThreadWaitsAtATime) {
  Child child{[] {
    std::thread{[] { waitForStopSignal(); }}.detach();
    struct sigaction now {};
    while (sigaction(SIGTERM, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) std::this_thread::yield();
    try {
      waitForStopSignal();
    } catch (const std::logic_error&) {
      return misuse;
    }
    return 0;
  }};
  EXPECT_EQ(child.result(), misuse);
}

}  // namespace
}  // namespace tenure::test
