// A program that a test has started.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace tenure::test {

/// It ends with this object, and with the thread that made it, so also if the test is killed.
class LaunchedProcess {
 public:
  /// `prepare` runs in the child before the program does, for example to redirect its output.
  explicit LaunchedProcess(
      const std::vector<std::string>& command, const std::function<void()>& prepare = [] {});
  /// SIGKILL, if it still runs.
  ~LaunchedProcess();
  LaunchedProcess(const LaunchedProcess&) = delete;
  LaunchedProcess& operator=(const LaunchedProcess&) = delete;

  [[nodiscard]] pid_t id() const noexcept { return id_; }
  /// No effect once its end was seen.
  void signal(int number) const;
  /// The exit code, or 128 + the signal that ended it; 99: the program could not be run. Empty: it still runs.
  [[nodiscard]] std::optional<int> result();
  /// Waits for its end.
  int wait();

 private:
  void reap(int options);

  pid_t id_{-1};
  std::optional<int> result_{};
};

}  // namespace tenure::test
