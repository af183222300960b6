// Processes that work under a lock, and a file in which they count.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace tenure::test {

/// How many sections each process runs. The full number: TENURE_LOCK_SECTIONS=500.
[[nodiscard]] inline int sections(int usual) {
  const char* text = std::getenv("TENURE_LOCK_SECTIONS");  // NOLINT(concurrency-mt-unsafe): nobody sets any
  return text == nullptr ? usual : std::atoi(text);
}

/// A child that runs `body` and exits with its result, without its parent's destructors. Fork before the parent has
/// created any object of the library. A child that hangs is ended.
[[nodiscard]] inline pid_t spawn(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child != 0) return child;
  signal(SIGALRM, SIG_DFL);
  alarm(sections(0) == 0 ? 240 : 3600);
  _exit(body());
}

/// Its exit code; -1 if a signal ended it.
[[nodiscard]] inline int exitOf(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// A number in a plain file: if two processes count at once, an increment is lost.
class CounterFile {
 public:
  explicit CounterFile(std::string path) : path_{std::move(path)} {}
  [[nodiscard]] long read() const {
    long value = 0;
    std::ifstream{path_} >> value;
    return value;
  }
  void increment() const {
    const long next = read() + 1;
    std::ofstream{path_} << next << '\n';
  }

 private:
  std::string path_;
};

}  // namespace tenure::test
