// How a connection waits for another process's write lock in the time of a call.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include <tenure/lockcore/runtime.hpp>

#include "lockcore/runtime/system_random.hpp"

struct sqlite3;

namespace tenure::sqlite_store {

using Deadline = CallDeadline;

/// A wait of sqlite::pauseForLock() that ends at the deadline of the call. It belongs to one thread; other threads only
/// set the stop flag.
class BusyWait {
 public:
  /// `cancelled` ends every wait; it must outlive the object.
  explicit BusyWait(const std::atomic<bool>& cancelled) noexcept : cancelled_{cancelled} {}
  BusyWait(const BusyWait&) = delete;
  BusyWait& operator=(const BusyWait&) = delete;

  /// The connection must not outlive the object.
  void installOn(sqlite3* connection);

  /// Called once in each call of which half was spent, with the time that it may take.
  void atHalfTime(std::function<void(std::chrono::nanoseconds)> work) { atHalfTime_ = std::move(work); }

  /// Names the call that is being worked on, for as long as the guard lives. Without a guard, a wait ends at once.
  class Guard {
   public:
    Guard(BusyWait& wait, const Deadline& deadline) noexcept : wait_{wait} {
      wait_.deadline_ = deadline;
      wait_.halfTimeCame_ = false;
    }
    ~Guard() { wait_.deadline_.reset(); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    BusyWait& wait_;
  };

  /// Waits one step; false if the call's time is over. `round` counts the steps of one wait from 0.
  [[nodiscard]] bool step(int round);

 private:
  const std::atomic<bool>& cancelled_;
  std::optional<Deadline> deadline_{};
  SystemRandom random_{};
  std::function<void(std::chrono::nanoseconds)> atHalfTime_{};
  bool halfTimeCame_{false};
};

}  // namespace tenure::sqlite_store
