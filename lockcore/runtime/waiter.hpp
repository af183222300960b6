// How a blocking call waits for an answer that comes on another thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

namespace tenure {

/// One answer, given once. The waiting call and the answering thread share it, because either may be gone first.
template <class T>
class Waiter {
 public:
  void tell(T answer) {
    {
      const std::lock_guard lock{mutex_};
      answer_.emplace(std::move(answer));
    }
    told_.notify_all();  // after the lock, or the waiter would block on it again; both threads share this
  }
  [[nodiscard]] T wait() {
    std::unique_lock lock{mutex_};
    told_.wait(lock, [this] { return answer_.has_value(); });
    return *std::move(answer_);
  }
  /// Empty if the answer did not come in that time.
  [[nodiscard]] std::optional<T> waitFor(std::chrono::nanoseconds patience) {
    std::unique_lock lock{mutex_};
    told_.wait_for(lock, std::max(patience, std::chrono::nanoseconds{0}), [this] { return answer_.has_value(); });
    return std::exchange(answer_, std::nullopt);
  }

 private:
  std::mutex mutex_;  ///< guards answer_
  std::condition_variable told_;
  std::optional<T> answer_{};
};

}  // namespace tenure
