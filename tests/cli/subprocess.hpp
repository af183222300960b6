// Runs real processes for tests, with bounds on every wait, and leaves none behind.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "support/eventually.hpp"
#include "support/launched_process.hpp"

namespace tenure::test {

using std::chrono::milliseconds;

/// Generous: only a process that hangs reaches it.
inline constexpr milliseconds patience{20'000};

inline constexpr Eventually eventually{patience};

struct SubprocessOptions {
  std::map<std::string, std::string> environment{};  ///< added
  std::string workingDirectory{};                    ///< empty: the current one
};

/// A child with stdout and stderr captured and stdin from /dev/null.
class Subprocess {
 public:
  explicit Subprocess(const std::vector<std::string>& command, const SubprocessOptions& options = {});
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;
  /// SIGKILL if it still runs.
  ~Subprocess();

  [[nodiscard]] pid_t id() const noexcept { return process_->id(); }
  void signal(int signal) const { process_->signal(signal); }

  /// Its output so far.
  [[nodiscard]] const std::string& output();
  [[nodiscard]] const std::string& errors();
  /// Waits for a line of stdout that starts with `prefix` and returns the rest of the last such line; empty: none came.
  [[nodiscard]] std::optional<std::string> lineAfter(const std::string& prefix, milliseconds bound = patience);
  /// True once stderr contains `text`.
  [[nodiscard]] bool saysOnStderr(const std::string& text, milliseconds bound = patience);

  /// Waits for its end: the exit code, or 128 + the signal. -1: it still runs.
  int wait(milliseconds bound = patience);
  [[nodiscard]] bool running();

 private:
  void drain();

  std::optional<LaunchedProcess> process_{};
  int out_{-1}, err_{-1};
  std::string output_, errors_;
};

/// The result of a finished program.
struct Finished {
  int code{-1};
  std::string output, errors;
};
[[nodiscard]] Finished runToEnd(const std::vector<std::string>& command, const SubprocessOptions& options = {},
                                milliseconds bound = patience);

/// A process that is not our child; it is watched by pidfd.
class Witness {
 public:
  explicit Witness(pid_t process);
  Witness(Witness&& other) noexcept;
  Witness& operator=(Witness&&) = delete;
  ~Witness();
  [[nodiscard]] bool ended(milliseconds bound = patience) const;
  [[nodiscard]] bool lives() const { return !ended(milliseconds{0}); }
  void signal(int signal) const;

 private:
  int pidfd_{-1};
};

/// Nanoseconds of CLOCK_MONOTONIC, as the helper programs print them.
[[nodiscard]] long long monotonicNow();

}  // namespace tenure::test
