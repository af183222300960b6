// A pause in the wait for another process's lock, for the store and the fences that use SQLite.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

#include <tenure/lockcore/runtime.hpp>

#include "lockcore/port/random_draws.hpp"

namespace tenure::sqlite {

/// SQLite's own busy time-out sleeps in steps of up to 100 ms without jitter, so a writer that writes all the time
/// starves the others for seconds. These pauses are short and jittered. A transaction of ours holds the lock for about
/// 0.1 to 0.2 ms (measured, WAL with synchronous=FULL), and the first pause is as long. The longest limits how long a
/// released lock may stay unused. `round` counts the pauses of one wait from 0.
inline void pauseForLock(RandomSource& random, int round, std::chrono::nanoseconds atMost) {
  constexpr std::chrono::nanoseconds first = std::chrono::microseconds{100};
  constexpr std::chrono::nanoseconds longest = std::chrono::milliseconds{3};
  const auto step = std::min<std::chrono::nanoseconds>(first * (1L << std::min(round, 10)), longest);
  std::this_thread::sleep_for(std::min(atMost, jittered(random, step)));  // lint-allow(sleep): SQLite has no signal
}

}  // namespace tenure::sqlite
