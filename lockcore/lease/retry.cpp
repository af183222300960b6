#include "retry.hpp"

#include <algorithm>

#include "machine_core.hpp"
#include "renewal_time.hpp"

namespace tenure {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

namespace {

constexpr milliseconds leastRetry{1};
constexpr int mostGrown = 4;

}  // namespace

void Retry::hurry(const Instant& now) noexcept {
  from_ = now;
  after_ = nanoseconds{0};
}

/// Sooner as the end comes near, but not in ever smaller steps: a failing store may serve thousands of holders.
void Retry::afterFailedRenewal(MachineCore& core, const Instant& now, const StoreError& error, nanoseconds rightLeft) {
  const nanoseconds heartbeat = core.options.timing.heartbeat();
  from_ = now;
  after_ = std::max(core.jittered(std::min(grown(heartbeat), rightLeft / 4)), leastRetryWait(heartbeat));
  // An error that only people can mend: ask about as often as candidates do, and a few times more before the end.
  if (!mayPass(error)) after_ = std::clamp(rightLeft / 2, heartbeat / 4, heartbeat);
}

void Retry::afterFailedRelease(MachineCore& core, const Instant& now, const StoreError& error) {
  const nanoseconds heartbeat = core.options.timing.heartbeat();
  from_ = now;
  const nanoseconds wait = std::max<nanoseconds>(core.jittered(grown(heartbeat)), leastRetry);
  after_ = mayPass(error) ? wait : heartbeat;
}

/// From a sixteenth of a heartbeat up to a whole one; it doubles after each failure in a row.
nanoseconds Retry::grown(nanoseconds heartbeat) {
  const nanoseconds wait = heartbeat / 16 * (1 << failures_);
  failures_ = std::min(failures_ + 1, mostGrown);
  return wait;
}

}  // namespace tenure
