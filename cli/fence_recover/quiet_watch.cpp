#include "quiet_watch.hpp"

#include <algorithm>
#include <poll.h>

#include <tenure/lockcore/clock.hpp>

#include "cli/store_calls.hpp"
#include "cli/wakeups.hpp"

namespace tenure::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds shortestLook{50};
constexpr milliseconds longestLook{1'000};
constexpr int looksInALease = 20;

/// The lease and its guard, because clocks may differ a little.
nanoseconds timeToWatch(milliseconds lease) { return lease + lease / 500 + milliseconds{2}; }

std::string writerOf(const StoredTokens& now) {
  if (now.hasRecord() && !now.released) return now.holder + " leads, or has just led";
  return "somebody has changed it";
}

}  // namespace

std::optional<Unrest> watchForLife(LeaseStore& store, const LeaseKey& key, const StoredTokens& seen,
                                   milliseconds lease) {
  WakeTimer timer;
  const Instant began = readClock();
  const milliseconds step = std::clamp(lease / looksInALease, shortestLook, longestLook);
  for (;;) {
    const nanoseconds left = timeToWatch(lease) - elapsedForChallenger(began, readClock());
    const auto now = readTokensNow(store, key);
    if (!now) return Unrest{false, faultText(store, now.error())};
    if (*now != seen) return Unrest{true, "lease " + toString(key) + " is in use: " + writerOf(*now)};
    if (left.count() <= 0) return std::nullopt;
    timer.arm(std::min<nanoseconds>(left, step));
    pollfd entry{timer.descriptor(), POLLIN, 0};
    poll(&entry, 1, -1);
    timer.drain();
  }
}

}  // namespace tenure::cli
