#include "support/lateness_probe.hpp"

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

void awaitTime(steady_clock::time_point time) {
  while (steady_clock::now() < time) std::this_thread::yield();
}

/// A process with a probe. Once the pipe is closed, its exit code is the lateness that the probe has seen, in tens of
/// milliseconds.
pid_t probing(int ready, int go, int goesWriter) {
  const pid_t child = fork();
  if (child != 0) return child;
  close(goesWriter);  // otherwise it would wait for itself
  const LatenessProbe probe;
  while (probe.rounds() < 3) std::this_thread::yield();
  [[maybe_unused]] const ssize_t said = write(ready, "r", 1);
  char end = 0;
  while (read(go, &end, 1) > 0) {
  }
  _exit(static_cast<int>(std::min<long long>(probe.worst() / 10ms, 255)));
}

TEST(LatenessProbe, seesThatItsProcessWasHeldUp) {
  int ready[2], go[2];
  ASSERT_EQ(pipe(ready) | pipe(go), 0);
  const pid_t child = probing(ready[1], go[0], go[1]);
  char begun = 0;
  ASSERT_EQ(read(ready[0], &begun, 1), 1);
  ASSERT_EQ(kill(child, SIGSTOP), 0);
  siginfo_t stopped{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &stopped, WSTOPPED), 0);
  awaitTime(steady_clock::now() + 300ms);
  ASSERT_EQ(kill(child, SIGCONT), 0);
  for (const int end : {ready[0], ready[1], go[0], go[1]}) close(end);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_GE(WEXITSTATUS(status), 25);
}

TEST(LatenessProbe, neverSeesMoreThanTheTimeThatPassed) {
  const auto begun = steady_clock::now();
  const LatenessProbe probe;
  while (probe.rounds() < 5) std::this_thread::yield();
  EXPECT_LE(probe.worst(), steady_clock::now() - begun);
}

}  // namespace
}  // namespace tenure::test
