#include "release_hint.hpp"

#include <algorithm>
#include <utility>

namespace tenure::stored {
namespace {

/// Null: there is none that is understood.
const LeaseRecord* recordOf(const StoredLease& lease) {
  return lease.record.has_value() && *lease.record ? &(*lease.record)->record : nullptr;
}

/// The end of the term that was seen, and not an older state of it.
bool ends(const StoredLease& release, const StoredLease& loaded) {
  const LeaseRecord* told = recordOf(release);
  const LeaseRecord* seen = recordOf(loaded);
  if (told == nullptr || seen == nullptr || !told->released || seen->released) return false;
  if (release.counter.has_error() || release.inherited || release.history != loaded.history) return false;
  return release.revision > loaded.revision && isSameTerm(release, loaded);
}

}  // namespace

bool isHeld(const StoredLease& lease) {
  const LeaseRecord* record = recordOf(lease);
  return record != nullptr && !record->released;
}

bool isSameTerm(const StoredLease& a, const StoredLease& b) {
  const LeaseRecord* one = recordOf(a);
  const LeaseRecord* other = recordOf(b);
  return one != nullptr && other != nullptr && one->token == other->token && one->holder == other->holder;
}

void ReleaseHint::begin(const Instant& now) {
  since_ = now;
  release_.reset();
}

void ReleaseHint::wrote(const std::string& holder) {
  constexpr std::size_t most = 64;  // those that hold it write again
  if (writers_.contains(holder)) return;
  if (writers_.size() >= most) writers_.clear();
  writers_.insert(holder);
}

LoadedLease ReleaseHint::take(const Instant& now, const StoredLease& loaded) {
  const LoadedLease release = std::exchange(release_, nullptr);
  if (!release || !ends(*release, loaded) || elapsedForChallenger(refutedAt_, now) < pause()) return nullptr;
  if (writers_.contains(recordOf(loaded)->holder)) return nullptr;
  lease_ = recordOf(loaded)->leaseDuration;
  if (elapsedForChallenger(since_, now) < lease_) return nullptr;
  return taken_ = release;
}

bool ReleaseHint::isRefuted(const Instant& now, const StoredLease& found) {
  if (!taken_ || !isHeld(found) || !isSameTerm(*taken_, found)) return false;
  taken_.reset();
  const bool again = elapsedForChallenger(refutedAt_, now) < 2 * pause();
  pause_ = again ? std::min(2 * pause_, longestPause) : 1;
  refutedAt_ = now;
  return true;
}

}  // namespace tenure::stored
