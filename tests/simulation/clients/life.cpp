// A process and its schedulers.
#include <algorithm>

#include "simulation/clients/world.hpp"

namespace tenure::test {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

namespace {

class LifeClock final : public Clock {
 public:
  explicit LifeClock(Life& life) : life_{life} {}
  [[nodiscard]] Instant now() const noexcept override { return life_.now(); }

 private:
  Life& life_;
};

SimClock clockOf(World& world) {
  SeededRandom& random = world.process;
  return {random, world.now(), ClockRates::draw(random, world.plan().rateBound, false)};
}

}  // namespace

Life::Life(World& theWorld, unsigned process_, unsigned number)
    : world{theWorld},
      process{process_},
      name{"p" + std::to_string(process_) + "." + std::to_string(number)},
      clock{clockOf(theWorld)},
      store{makeClientStore(theWorld, *this)} {}

Instant Life::now() const {
  if (alive) world.readTakesTime();
  return clock.at(world.now()) + beyond;
}

Loop::Loop(Life& life) : life_{life}, clock_{std::make_shared<LifeClock>(life)} {}

bool Loop::isCurrent() const noexcept { return !life_.alive || life_.world.loop() == this; }

void Loop::touch() {
  if (closed && life_.alive)
    life_.world.broke("after", life_.name + ": a scheduler was used after its owner was destroyed");
}

void Loop::post(Task task) {
  touch();
  posted_.push_back(std::move(task));
  World& world = life_.world;
  if (!life_.alive) return;
  const bool late = world.happens(Disturbance::lateLoop);
  world.in(life_, late ? world.upTo(world.plan().lease / 4) : world.message() / 8, this,
           [self = shared_from_this()] { self->runPosted(); });
}

/// Runs one task in the order of posting, no matter which event triggers it.
void Loop::runPosted() {
  if (posted_.empty()) return;
  const Task task = std::move(posted_.front());
  posted_.pop_front();
  task();
}

Scheduler::TimerId Loop::schedule(nanoseconds delay, Task task) {
  touch();
  World& world = life_.world;
  if (life_.alive && world.loop() != this) world.broke("thread", life_.name + ": schedule() outside of a task");
  const nanoseconds wait = std::max(delay, nanoseconds{0});
  timers_[++last_] = {life_.clock.at(world.now()).boottime + life_.beyond + wait, std::move(task)};
  if (!life_.alive) return last_;
  const TrueTime late = world.happens(Disturbance::lateLoop) ? world.upTo(world.plan().lease / 4) : TrueTime{0};
  world.in(life_, life_.clock.trueTimeFor(wait) + late, this,
           [self = shared_from_this(), id = last_] { self->runTimer(id); });
  return last_;
}

void Loop::runTimer(TimerId id) {
  const auto timer = timers_.find(id);
  if (timer == timers_.end()) return;
  const Task task = std::move(timer->second.task);
  timers_.erase(timer);
  task();
}

bool Loop::runOne() {
  if (!posted_.empty()) {
    runPosted();
    return true;
  }
  const auto next = std::min_element(timers_.begin(), timers_.end(),
                                     [](const auto& a, const auto& b) { return a.second.due < b.second.due; });
  if (next == timers_.end()) return false;
  const nanoseconds now = life_.now().boottime;
  life_.beyond += std::max(next->second.due - now, nanoseconds{0}) + milliseconds{1};
  runTimer(next->first);
  return true;
}

}  // namespace tenure::test
