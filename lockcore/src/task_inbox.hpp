// Tasks that any thread leaves for a loop.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace tenure {

/// A strand for a loop that sleeps most of the time, at less cost than asio::strand and asio::post(): Asio wakes the
/// loop's thread under the lock that this thread takes first, so where both run on one core it falls asleep again at
/// once and is woken a second time. Here the bell rings after the lock. And a thread that has something for the loop
/// may lend itself, so that the loop need not wake at all.
///
/// Tasks that were not run are destroyed with it.
class TaskInbox {
 public:
  using Task = std::function<void()>;

  /// `ring` makes the loop call drain() soon; any thread, and it does not throw.
  explicit TaskInbox(std::function<void()> ring) : ring_{std::move(ring)} {}

  /// Any thread. In order; never inside the call.
  void push(Task task);
  /// Any thread, with no lock held that a task takes. In order with what was pushed. Inside the call if nothing waits
  /// or runs, else later on the loop. The inbox must outlive the call.
  void enter(Task task);
  /// On the loop, when it rang; more often does no harm. Runs what is there. It rings again for what comes meanwhile,
  /// so that timers and the loop's other work have their turn.
  void drain();
  /// Whether this thread runs a task inside enter().
  [[nodiscard]] bool isEntered() const noexcept { return guest_.load() == std::this_thread::get_id(); }

 private:
  /// Who runs tasks, or is about to.
  enum class Owner : char { nobody, loop, guest };
  class Guest;

  /// The owner's end.
  void leave();

  const std::function<void()> ring_;
  std::atomic<std::thread::id> guest_{};
  std::mutex mutex_;  ///< guards what follows; held for no call of the system
  std::vector<Task> tasks_{};
  Owner owner_{Owner::nobody};
};

}  // namespace tenure
