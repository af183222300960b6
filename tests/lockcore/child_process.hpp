// A forked child that a test asks one thing.
#pragma once

#include <chrono>
#include <csignal>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

namespace tenure::test {

/// What `body` returns in a forked child, which leaves without destructors; -1 if it crashed, or was killed for not
/// answering within 30 s. An alarm bounds it, so nobody polls.
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
