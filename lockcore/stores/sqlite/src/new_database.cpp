#include "new_database.hpp"

#include <chrono>
#include <unistd.h>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "access.hpp"
#include "lockcore/port/random_draws.hpp"
#include "lockcore/runtime/system_error.hpp"
#include "lockcore/runtime/system_random.hpp"
#include "sidecar/sidecar.hpp"

namespace tenure::sqlite_store {
namespace {

using std::chrono::milliseconds;

std::string seconds(std::chrono::nanoseconds time) {
  const auto millis = std::chrono::ceil<milliseconds>(time).count();
  std::string fraction = std::to_string(millis % 1000);
  fraction.insert(0, 3 - fraction.size(), '0');
  return std::to_string(millis / 1000) + '.' + fraction + " s";
}

}  // namespace

std::optional<StoreError> NewDatabase::errorOf(const StoreFiles& files, CreationLock& lock, const TermName* asker) {
  std::string mark;
  if (const int fault = lock.readMark(mark); fault != 0) return systemError(store_, "reading " + lock.path(), fault);
  rule_.sawNone(readClock(), mark);
  const StoreResult<LongestLease> longest = sidecar_->longestLease(files, asker);
  if (longest.has_error()) return longest.error();
  if (const auto left = rule_.left(readClock(), longest->lease); left.count() > 0) {
    return StoreError{
        ErrorClass::transient,
        store_ +
            ": there is no database (or its tables were dropped), and a leader may still be at work on the "
            "one that was there. A new one is made in " +
            seconds(left) + ": " + longest->of + " may hold a lease of " + std::to_string(longest->lease.count()) +
            " ms, which must be over first. To end the wait, end that process"};
  }
  SystemRandom random;
  if (const int fault = lock.writeMark(hex128(random)); fault != 0) {
    return systemError(store_, "writing " + lock.path(), fault);
  }
  return std::nullopt;
}

namespace {

void removeLog(const StoreFiles& files) {
  unlink(files.wal.c_str());
  unlink(files.shm.c_str());
}

}  // namespace

void removeLogOfMissingDatabase(const StoreFiles& files) {
  if (!identityOf(files.database)) removeLog(files);
}

void removeLogOfReplacedDatabase(const StoreFiles& files, const OpenedFiles& before, BusyWait& wait) {
  if (!before.leftItsLogBehind(files)) return;
  CreationLock lock;
  if (lock.take(files, rightsBeside(files.database, {}), wait) == 0 && before.leftItsLogBehind(files)) removeLog(files);
}

}  // namespace tenure::sqlite_store
