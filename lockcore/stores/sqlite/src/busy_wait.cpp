#include "busy_wait.hpp"

#include <chrono>

#include <sqlite3.h>

#include "lockcore/sqlite/busy_pause.hpp"

namespace tenure::sqlite_store {

using std::chrono::nanoseconds;

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
  sqlite::pauseForLock(random_, round, left);
  return true;
}

}  // namespace tenure::sqlite_store
