// Descriptors that wake a loop of poll(2): a timer, tasks from other threads, a job's progress.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::cli {

/// The timer only wakes: its owner then reads the clock and decides by that. The kernel's timers follow clocks that a
/// time daemon may slew by 8.3 %. So a long wait is approached in steps (7/8 of the remaining time, each time), until
/// the last step is too short to matter. Counts suspend.
class WakeTimer {
 public:
  /// Throws std::system_error.
  WakeTimer();

  [[nodiscard]] int descriptor() const noexcept { return timer_.get(); }

  /// Wakes after `left` at the latest (zero or less: at once); empty: never.
  void arm(std::optional<std::chrono::nanoseconds> left) noexcept;
  /// Removes an expiry from the descriptor; arm again afterwards.
  void drain() noexcept;

 private:
  UniqueFd timer_;
};

/// The earlier of two optional waits.
[[nodiscard]] std::optional<std::chrono::nanoseconds> earlier(std::optional<std::chrono::nanoseconds> a,
                                                              std::optional<std::chrono::nanoseconds> b) noexcept;

/// Hands work from any thread to the supervisor's main thread.
class MainTasks {
 public:
  using Task = std::function<void()>;

  /// Throws std::system_error.
  MainTasks();

  /// Readable when there are tasks.
  [[nodiscard]] int descriptor() const noexcept { return wake_.get(); }

  /// Any thread; never runs the task inside the call.
  void post(Task task);
  /// Main thread: runs the tasks posted until now, in order.
  void run();

 private:
  UniqueFd wake_;
  std::mutex mutex_;
  std::vector<Task> tasks_;  ///< guarded by mutex_
};

/// How a job reports progress if lease.progress_timeout is set: by writing to a pipe.
///
/// The job finds its end's descriptor number in TENURE_PROGRESS_FD; anything that it writes there is a sign of life.
class ProgressPipe {
 public:
  /// Throws std::system_error.
  ProgressPipe();

  [[nodiscard]] int jobEnd() const noexcept { return write_.get(); }
  /// Readable when the job has written.
  [[nodiscard]] int descriptor() const noexcept { return read_.get(); }
  /// Removes what was written. True: there was something.
  bool take() noexcept;

 private:
  // The write end stays open here, so that the read end never reports the end of the file.
  UniqueFd read_, write_;
};

}  // namespace tenure::cli
