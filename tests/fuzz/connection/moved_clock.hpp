// A clock that the target moves, so that time-outs of a minute cost nothing and every input that can reach them does.
#pragma once

#include <chrono>

namespace tenure::fuzz {

/// Moves every clock of this process that only goes forward, all at once; not the time of day.
void moveClock(std::chrono::milliseconds by);
/// Undoes all moves: for use when nothing is left that has read the clock.
void resetClock();

}  // namespace tenure::fuzz
