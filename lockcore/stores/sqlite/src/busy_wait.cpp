#include "busy_wait.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>

#include <sqlite3.h>

#include "lockcore/port/random_draws.hpp"

namespace tenure::sqlite_store {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

/// A transaction of ours holds the lock for about 0.2 ms (measured, WAL with synchronous=FULL), so the first steps are
/// shorter than that. The last step limits how long a released lock may stay unused.
constexpr nanoseconds firstStep = microseconds{100};
constexpr nanoseconds lastStep = microseconds{3000};

nanoseconds stepOf(int round) { return std::min(nanoseconds{firstStep * (1L << std::min(round, 10))}, lastStep); }

void pauseFor(nanoseconds duration) {
  timespec wanted{};
  wanted.tv_nsec = static_cast<long>(duration.count());  // less than a second, because lastStep bounds it
  nanosleep(&wanted, nullptr);                           // lint-allow(sleep): SQLite offers nothing to wait on
}

}  // namespace

void BusyWait::installOn(sqlite3* connection) {
  sqlite3_busy_handler(
      connection, [](void* self, int round) { return static_cast<BusyWait*>(self)->step(round) ? 1 : 0; }, this);
}

bool BusyWait::step(int round) {
  if (!deadline_ || cancelled_.load(std::memory_order_relaxed)) return false;
  const nanoseconds left = deadline_->left();
  if (left.count() <= 0) return false;
  if (atHalfTime_ && !halfTimeCame_ && left <= deadline_->timeout() / 2) {
    halfTimeCame_ = true;
    atHalfTime_(left * 3 / 4);
    return true;
  }
  pauseFor(std::min(left, jittered(random_, stepOf(round))));
  return true;
}

}  // namespace tenure::sqlite_store
