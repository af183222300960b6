#include "support/lateness_probe.hpp"

#include <algorithm>
#include <sched.h>

namespace tenure::test {
namespace {

constexpr std::chrono::milliseconds step{2};

std::vector<int> processors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::vector<int> out;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
      if (CPU_ISSET(static_cast<std::size_t>(processor), &allowed)) out.push_back(processor);
    }
  }
  if (out.empty()) out.push_back(-1);
  return out;
}

/// Pins the calling thread. Without it the probe also measures, but not each processor.
void pinTo(int processor) {
  if (processor < 0) return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(processor), &one);
  sched_setaffinity(0, sizeof one, &one);
}

}  // namespace

LatenessProbe::LatenessProbe() : timers_(processors().size()) {
  const std::vector<int> all = processors();
  const Clock::duration first = Clock::now().time_since_epoch() + step;
  for (Timer& timer : timers_) timer.due = first;
  for (std::size_t i = 0; i < all.size(); ++i) {
    threads_.emplace_back([this, processor = all[i], &timer = timers_[i]] { watch(processor, timer); });
  }
}

LatenessProbe::~LatenessProbe() {
  ended_ = true;
  for (std::thread& thread : threads_) thread.join();
}

void LatenessProbe::watch(int processor, Timer& timer) const {
  pinTo(processor);
  while (!ended_) {
    std::this_thread::sleep_until(Clock::time_point{timer.due.load()});
    const Clock::duration now = Clock::now().time_since_epoch();
    timer.worst = std::max(timer.worst.load(), now - timer.due.load());
    timer.due = now + step;
    ++timer.rounds;
  }
}

std::chrono::nanoseconds LatenessProbe::worst() const {
  const Clock::duration now = Clock::now().time_since_epoch();
  Clock::duration out{0};
  for (const Timer& timer : timers_) out = std::max({out, timer.worst.load(), now - timer.due.load()});
  return out;
}

int LatenessProbe::rounds() const {
  int least = timers_.front().rounds;
  for (const Timer& timer : timers_) least = std::min(least, timer.rounds.load());
  return least;
}

}  // namespace tenure::test
