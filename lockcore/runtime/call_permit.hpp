// Lets a user's function be called until it is not wanted any more.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace tenure {

/// One thread calls the function with the permit. Another thread may revoke the permit; after that the function is not
/// running and will not run again. No lock is held while it runs.
class CallPermit {
 public:
  template <class Function>
  void call(const Function& function) {
    {
      const std::lock_guard lock{mutex_};
      if (revoked_) return;
      runner_ = std::this_thread::get_id();
    }
    function();
    const std::lock_guard lock{mutex_};
    runner_ = {};
    idle_.notify_all();
  }

  /// Waits for a running call, unless that call runs on the caller's own thread.
  void revoke() {
    std::unique_lock lock{mutex_};
    revoked_ = true;
    if (runner_ == std::this_thread::get_id()) return;
    idle_.wait(lock, [this] { return runner_ == std::thread::id{}; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable idle_;
  std::thread::id runner_{};
  bool revoked_{false};
};

}  // namespace tenure
