#include "simulation/clients/side_thread.hpp"

#include <algorithm>

namespace tenure::test {

SideThreads::Side*& SideThreads::here() noexcept {
  static thread_local Side* side = nullptr;
  return side;
}

void SideThreads::run(std::function<void()> task) {
  const auto side = std::make_shared<Side>();
  VirtualSystem* const system = VirtualSystem::current();
  side->thread = std::thread{[side, system, task = std::move(task)] {
    side->goes.acquire();
    VirtualSystem::current() = system;
    here() = side.get();
    task();
    side->ended = true;
    side->rests.release();
  }};
  goOn(side);
}

void SideThreads::goOn(std::shared_ptr<Side> side) {
  asleep_.erase(side);
  side->goes.release();
  side->rests.acquire();
  if (side->ended) {
    side->thread.join();
  } else {
    asleep_.insert(side);
  }
}

void SideThreads::sleep(TrueTime d) {
  Side* const own = here();
  if (own == nullptr || !life_.alive) return;
  world_.in(life_, d, nullptr, [this, own] {
    const auto found =
        std::find_if(asleep_.begin(), asleep_.end(), [own](const auto& side) { return side.get() == own; });
    if (found != asleep_.end()) goOn(*found);
  });
  own->rests.release();
  own->goes.acquire();
}

void SideThreads::wakeAll() {
  while (!asleep_.empty()) goOn(*asleep_.begin());
}

}  // namespace tenure::test
