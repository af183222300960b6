// Hands work from any thread to the supervisor's main thread.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::cli {

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

}  // namespace tenure::cli
