#include "new_database.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>
#include <vector>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "lock_holder.hpp"
#include "lockcore/port/random_draws.hpp"
#include "lockcore/runtime/directory.hpp"
#include "lockcore/runtime/system_error.hpp"
#include "lockcore/runtime/system_random.hpp"

namespace tenure::sqlite_store {
namespace {

using namespace liveness;

using std::chrono::milliseconds;

struct Longest {
  milliseconds lease{0};
  std::string of{};  ///< for people
};

/// The liveness files of living processes except this store's own, and the longest lease among them.
class OthersBeacons {
 public:
  OthersBeacons(const std::string& store, std::string sidecar, std::string ownId)
      : store_{store}, sidecar_{std::move(sidecar)}, ownId_{std::move(ownId)} {}

  [[nodiscard]] StoreResult<Longest> longest() {
    std::vector<std::string> names;
    // A file that cannot be checked may belong to a living holder.
    if (const int fault = namesIn(sidecar_, beaconPrefix, names); fault != 0 && fault != ENOENT) {
      return systemError(store_, "looking for living processes in " + sidecar_, fault);
    }
    for (const std::string& name : names) {
      const std::string id = name.substr(beaconPrefix.size());
      if (!isBeaconId(id) || id == ownId_) continue;
      if (auto fault = look(sidecar_ + '/' + name)) return std::move(*fault);
    }
    return longest_;
  }

 private:
  std::optional<StoreError> look(const std::string& path) {
    const UniqueFd beacon = openBeaconToLook(path);
    const int fault = beacon ? 0 : errno;
    // Its store has ended in an orderly way, or the sweep removed it; or it is no liveness file but something else of
    // that name.
    if (fault == ENOENT || fault == ELOOP || fault == EINVAL) return std::nullopt;
    if (fault != 0) return systemError(store_, "looking whether the process of beacon " + path + " lives", fault);
    if (probeBeacon(beacon) == LockState::free) return std::nullopt;
    int readFault = 0;
    const std::optional<milliseconds> lease = statedLease(beacon, readFault);
    const std::string process = describeFlockHolder(beacon);
    if (readFault != 0) return systemError(store_, "reading beacon " + path + " of " + process, readFault);
    if (!lease) return unstated(path, process);
    if (*lease > longest_.lease) longest_ = {*lease, process};
    return std::nullopt;
  }

  [[nodiscard]] StoreError unstated(const std::string& path, const std::string& process) const {
    return {ErrorClass::transient,
            store_ + ": there is no database (or its tables were dropped), and another is not made while " + process +
                " lives: its beacon " + path +
                " does not say how long a lease it may hold, as an older release of tenure writes none. End the "
                "processes of "
                "the older release that use this database; then one is made"};
  }

  const std::string& store_;
  const std::string sidecar_;
  const std::string ownId_;
  Longest longest_;
};

std::string seconds(std::chrono::nanoseconds time) {
  const auto millis = std::chrono::ceil<milliseconds>(time).count();
  std::string fraction = std::to_string(millis % 1000);
  fraction.insert(0, 3 - fraction.size(), '0');
  return std::to_string(millis / 1000) + '.' + fraction + " s";
}

}  // namespace

std::optional<StoreError> NewDatabase::refusal(const StoreFiles& files, CreationLock& lock, const TermName* asker) {
  std::string mark;
  if (const int fault = lock.readMark(mark); fault != 0) return systemError(store_, "reading " + lock.path(), fault);
  rule_.sawNone(readClock(), mark);
  StoreResult<Longest> longest = OthersBeacons{store_, files.sidecar, beacon_->id()}.longest();
  if (longest.has_error()) return longest.error();
  if (const milliseconds own = beacon_->longestOpen(asker); own > longest->lease) {
    *longest = {own, "another candidate of this process"};
  }
  if (const auto left = rule_.left(readClock(), longest->lease); left.count() > 0) {
    return StoreError{
        ErrorClass::transient,
        store_ +
            ": there is no database (or its tables were dropped), and a leader may still be at work on the "
            "one that was there: another is made in " +
            seconds(left) + ", when a lease of " + std::to_string(longest->lease.count()) + " ms is over, which " +
            longest->of + " may hold. Ending that process ends the wait"};
  }
  SystemRandom random;
  if (const int fault = lock.writeMark(hex128(random)); fault != 0) {
    return systemError(store_, "writing " + lock.path(), fault);
  }
  return std::nullopt;
}

}  // namespace tenure::sqlite_store
