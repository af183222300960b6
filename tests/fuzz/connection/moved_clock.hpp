// A clock that the target moves, so that time-outs of a minute cost nothing and are met by every input that can.
#pragma once

#include <chrono>

namespace tenure::fuzz {

/// Every clock of this process that only goes forward, at once; the time of day is left alone.
void moveClock(std::chrono::milliseconds by);
/// As if it had never been moved: for when nothing is left that has looked at it.
void resetClock();

}  // namespace tenure::fuzz
