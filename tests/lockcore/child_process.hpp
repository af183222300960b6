// A forked child that computes one number for a test.
#pragma once

#include <chrono>
#include <csignal>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

namespace tenure::test {

/// Returns what `body` returns in a forked child, which exits without destructors. -1 if the child crashed, or was
/// killed because it did not answer within 30 s. An alarm bounds it, so nobody polls.
[[nodiscard]] inline int inChild(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGALRM, SIG_DFL);
    alarm(30);
    _exit(body());
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace tenure::test
