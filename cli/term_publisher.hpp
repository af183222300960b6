// Brings a term from the elector to the guard channel.
#pragma once

#include <algorithm>
#include <chrono>
#include <mutex>

#include <tenure/election/leadership.hpp>
#include <tenure/lockcore/lease_options.hpp>

#include "guard_channel.hpp"

namespace tenure::cli {

/// The job must be gone when validity ends, and a SIGKILL takes a moment, longer if the machine is busy. So it is sent
/// this much earlier: half of the stop margin, at most 25 ms (once in a thousand times timers are up to 10 to 60 ms
/// late).
[[nodiscard]] inline std::chrono::nanoseconds killLead(const LeaseTiming& timing) noexcept {
  return std::min<std::chrono::nanoseconds>(std::chrono::nanoseconds{timing.stopMargin()} / 2,
                                            std::chrono::milliseconds{25});
}

/// SIGKILL comes this much before the elector's own drain timeout ends, so that the lease can still be released: a
/// tenth of that timeout, at most 250 ms.
[[nodiscard]] inline std::chrono::nanoseconds jobDrainTimeout(const LeaseTiming& timing) noexcept {
  const std::chrono::nanoseconds whole = timing.drainTimeout();
  return whole - std::min<std::chrono::nanoseconds>(whole / 10, std::chrono::milliseconds{250});
}

/// Any thread may publish; the newest state wins.
class TermPublisher {
 public:
  TermPublisher(GuardChannel& channel, const LeaseTiming& timing) noexcept
      : channel_{channel}, lead_{killLead(timing)} {}

  void publish(const Leadership& term) {
    const std::lock_guard lock{mutex_};  // outside of the lock an older state could overwrite a newer one
    TermState state = term.state();
    state.validFor = std::max(state.validFor - lead_, std::chrono::nanoseconds{0});
    state.leadsFor = std::min(state.leadsFor, state.validFor);
    channel_.publish(state);
  }

 private:
  std::mutex mutex_;
  GuardChannel& channel_;
  std::chrono::nanoseconds lead_;
};

}  // namespace tenure::cli
