// Internal: how the work of a term learns that the term has ended.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

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
  /// One that has fired: nothing is led or held there. The parent's own may be locked for ever.
  [[nodiscard]] static std::stop_token tokenInChild() noexcept {
    std::stop_source over;
    over.request_stop();
    return over.get_token();
  }
  [[nodiscard]] bool requested() const noexcept { return source_.stop_requested(); }
  /// For one that fires after this object is gone.
  [[nodiscard]] std::stop_source source() const noexcept { return source_; }

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
    std::unique_lock lock{mutex_};
    begun_ = true;
    firing_.push_back(std::this_thread::get_id());
    changed_.notify_all();
    lock.unlock();
    source_.request_stop();
    lock.lock();
    std::erase(firing_, std::this_thread::get_id());
    changed_.notify_all();
  }

  /// Waits until it was fired and all callbacks have returned, unless one of them calls this. False: not in time.
  bool awaitCallbacks(std::chrono::nanoseconds patience) {
    std::unique_lock lock{mutex_};
    if (std::count(firing_.begin(), firing_.end(), std::this_thread::get_id()) > 0) return true;
    return changed_.wait_for(lock, patience, [this] { return begun_ && firing_.empty(); });
  }

  /// After this call requested() is true. If the other thread does not fire in time, this one does.
  void awaitFired(std::chrono::nanoseconds patience) {
    std::unique_lock lock{mutex_};
    const bool begun = changed_.wait_for(lock, patience, [this] { return begun_; });
    lock.unlock();
    if (!begun) source_.request_stop();
    while (!requested()) std::this_thread::yield();  // the other thread is about to fire
  }

 private:
  std::stop_source source_{};
  mutable std::mutex mutex_;  ///< guards what follows
  std::condition_variable changed_{};
  bool begun_{false};
  std::vector<std::thread::id> firing_{};  ///< the threads that are in fire()
  mutable bool given_{false};              ///< a token was given out, so there may be callbacks
};

}  // namespace tenure
