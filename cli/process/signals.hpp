// Signals of the supervisor as events, and the signal state that the job gets.
#pragma once

#include <csignal>
#include <optional>
#include <vector>

#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::cli {

/// The dispositions and the mask with which this process was started; a job gets them back.
class SignalState {
 public:
  /// Remembers the state and then prepares this process. Signals that ask it to end are not blocked, and SIGTERM is not
  /// ignored, whatever its parent has done. SIGCHLD is not ignored, because a parent that ignores it would not see how
  /// the job ended.
  [[nodiscard]] static SignalState takeOver() noexcept;

  /// Async-signal-safe: for a forked child before exec.
  void restore() const noexcept;

  /// `signals` without SIGHUP, SIGINT and SIGQUIT where this process was started with them ignored, as nohup(1) does
  /// with SIGHUP and a shell does with the other two for its background jobs. They stay ignored.
  [[nodiscard]] std::vector<int> heeded(std::vector<int> signals) const;

 private:
  SignalState() = default;
  sigset_t mask_{};
  struct sigaction pipe_ {};
  struct sigaction child_ {};
  struct sigaction terminate_ {};
  struct sigaction fileSize_ {};
  sigset_t ignored_{};
};

/// A closed stdout or stderr must not end what holds a lease.
void ignoreClosedPipes() noexcept;

/// Blocks signals in this thread, and in the threads that it starts afterwards, and returns them as events.
class SignalEvents {
 public:
  /// Throws std::system_error.
  explicit SignalEvents(const std::vector<int>& signals);

  [[nodiscard]] int descriptor() const noexcept { return events_.get(); }
  /// The next pending signal; empty if none is pending.
  [[nodiscard]] std::optional<int> next() noexcept;

 private:
  UniqueFd events_;
};

}  // namespace tenure::cli
