// Internal: how the end of a term is told to its work.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

namespace tenure {

/// A stop source that one thread fires, while another must know that it was fired without running what users hung on
/// it.
class StopSignal {
 public:
  /// Takes a lock: in a forked child, where whoever held it may not be, tokenInChild().
  [[nodiscard]] std::stop_token token() const noexcept {
    const std::lock_guard lock{mutex_};
    given_ = true;
    return source_.get_token();
  }
  [[nodiscard]] std::stop_token tokenInChild() const noexcept { return source_.get_token(); }
  [[nodiscard]] bool requested() const noexcept { return source_.stop_requested(); }

  /// Fires if nobody was given a token, and so nobody's code runs; false: not fired.
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

  /// From its return on requested() is true. Where the other thread does not get to it, this one fires.
  void awaitFired(std::chrono::nanoseconds patience) {
    std::unique_lock lock{mutex_};
    const bool begun = begins_.wait_for(lock, patience, [this] { return begun_; });
    lock.unlock();
    if (!begun) source_.request_stop();
    while (!requested()) std::this_thread::yield();  // the other thread is about to
  }

 private:
  std::stop_source source_{};
  mutable std::mutex mutex_;  ///< guards begun_ and given_
  std::condition_variable begins_{};
  bool begun_{false};
  mutable bool given_{false};  ///< to whom callbacks may belong
};

}  // namespace tenure
