// Internal: how the work of a term learns that the term has ended.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

namespace tenure {

/// A stop source that one thread fires. Another thread can find out that it was fired without running the users'
/// callbacks.
class StopSignal {
 public:
  /// Takes a lock. In a forked child the lock's owner may not exist; use tokenInChild() there.
  [[nodiscard]] std::stop_token token() const noexcept {
    const std::lock_guard lock{mutex_};
    given_ = true;
    return source_.get_token();
  }
  [[nodiscard]] std::stop_token tokenInChild() const noexcept { return source_.get_token(); }
  [[nodiscard]] bool requested() const noexcept { return source_.stop_requested(); }

  /// Fires if nobody was given a token, so that no user code runs; false: not fired.
  [[nodiscard]] bool fireUnheard() {
    const std::lock_guard lock{mutex_};
    if (given_) return false;
    begun_ = true;
    source_.request_stop();
    return true;
  }

  /// Runs the callbacks of the users.
  void fire() {
    {
      const std::lock_guard lock{mutex_};
      begun_ = true;
      begins_.notify_all();
    }
    source_.request_stop();
  }

  /// After this call requested() is true. If the other thread does not fire in time, this one does.
  void awaitFired(std::chrono::nanoseconds patience) {
    std::unique_lock lock{mutex_};
    const bool begun = begins_.wait_for(lock, patience, [this] { return begun_; });
    lock.unlock();
    if (!begun) source_.request_stop();
    while (!requested()) std::this_thread::yield();  // the other thread is about to fire
  }

 private:
  std::stop_source source_{};
  mutable std::mutex mutex_;  ///< guards begun_ and given_
  std::condition_variable begins_{};
  bool begun_{false};
  mutable bool given_{false};  ///< a token was given out, so there may be callbacks
};

}  // namespace tenure
