// Internal: keeps callbacks in order: one after the other, never two at a time, on any executor.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/runtime.hpp>

namespace tenure {

/// A lane lives as long as it has work, even after its owner is gone.
class TENURE_API CallbackLane : public std::enable_shared_from_this<CallbackLane> {
 public:
  /// `executor` must not throw.
  explicit CallbackLane(Executor executor) : executor_{std::move(executor)} {}

  /// Runs `task` after everything that was posted before. Any thread; never inside this call. Tasks must not throw.
  void post(std::function<void()> task);

  /// Whether the calling thread is running a task of this lane now.
  [[nodiscard]] bool isCurrent() const;

  /// The executor has not run it yet.
  [[nodiscard]] bool isWaiting() const;

  /// Nothing is queued or running.
  [[nodiscard]] bool isIdle() const;

  /// Waits until nothing is queued or running, for at most `patience`. Do not call it on the lane itself.
  bool waitIdle(std::chrono::nanoseconds patience);

 private:
  void drain(std::uint64_t turn);

  const Executor executor_;
  mutable std::mutex mutex_;                  ///< guards what follows; never held while a task runs
  std::list<std::function<void()>> tasks_{};  // no deque: an empty one takes 600 bytes, times 10,000 leases
  std::condition_variable idle_{};
  bool active_{false};
  std::uint64_t turn_{0};  ///< how often the lane was handed to the executor
  std::thread::id runner_{};
};

}  // namespace tenure
