// What will happen in a simulated world, ordered by true time, and then by the order in which it was planned.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "simulation/sim_clock.hpp"

namespace tenure::test {

class SimQueue {
 public:
  using Task = std::function<void()>;

  void push(TrueTime when, Task task) {
    std::uint32_t slot = 0;
    if (free_.empty()) {
      slot = static_cast<std::uint32_t>(tasks_.size());
      tasks_.push_back(std::move(task));
    } else {
      slot = free_.back();
      free_.pop_back();
      tasks_[slot] = std::move(task);
    }
    heap_.push_back({when, ++order_, slot});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  [[nodiscard]] bool hasBy(TrueTime end) const { return !heap_.empty() && heap_.front().when <= end; }

  /// The next task and its time. The queue must not be empty.
  std::pair<TrueTime, Task> pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Planned next = heap_.back();
    heap_.pop_back();
    free_.push_back(next.slot);
    return {next.when, std::exchange(tasks_[next.slot], nullptr)};
  }

 private:
  struct Planned {
    TrueTime when;
    std::uint64_t order;
    std::uint32_t slot;
  };
  static bool later(const Planned& a, const Planned& b) {
    return a.when != b.when ? a.when > b.when : a.order > b.order;
  }

  std::vector<Planned> heap_;
  std::vector<Task> tasks_;  // by slot, so that the heap moves only small things
  std::vector<std::uint32_t> free_;
  std::uint64_t order_{0};
};

}  // namespace tenure::test
