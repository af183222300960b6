// Threads of simulated processes that block while the world goes on.
#pragma once

#include <functional>
#include <memory>
#include <semaphore>
#include <set>
#include <thread>

#include "simulation/clients/world.hpp"

namespace tenure::test {

/// A real thread for each task, of which one runs at a time: whoever lets it go on waits until it sleeps or has ended.
/// So runs are as deterministic as without, and a wait of one task does not hold up the others.
class SideThreads {
 public:
  SideThreads(World& world, Life& life) : world_{world}, life_{life} {}

  /// Until the task sleeps or has ended.
  void run(std::function<void()> task);
  /// The calling task goes on after `d`; at once if its process is dead, or if it is not in such a thread.
  void sleep(TrueTime d);
  /// The process is dead: everybody wakes up.
  void wakeAll();

 private:
  struct Side {
    std::binary_semaphore goes{0}, rests{0};
    std::thread thread{};
    bool ended{false};
  };
  void goOn(std::shared_ptr<Side> side);
  static Side*& here() noexcept;

  World& world_;
  Life& life_;
  std::set<std::shared_ptr<Side>> asleep_{};
};

}  // namespace tenure::test
