// When a job must be gone: one rule for both supervisor and guard, the margins in it, and how a term gets from the
// elector to both.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>

#include <tenure/election/leadership.hpp>
#include <tenure/lockcore/lease_options.hpp>

#include "guard_channel.hpp"
#include "lockcore/driver/term_cell.hpp"

namespace tenure::cli {

/// The time until SIGKILL is due; zero or less: it is due now. It is due at the end of validity or, for a job that was
/// told to stop, at the end of the drain timeout, whichever is first.
///
/// A job whose SIGKILL is due gets no SIGTERM before it. The SIGCONT that goes with a SIGTERM would wake stopped
/// processes, and they would act after their time.
[[nodiscard]] std::chrono::nanoseconds untilKill(const Instant& now, const TermState& term,
                                                 const std::optional<Instant>& toldToStopAt,
                                                 std::chrono::nanoseconds drainTimeout) noexcept;

/// The job must be gone when validity ends, and a SIGKILL takes a moment, longer if the machine is busy. So it is sent
/// this much earlier: half of the stop margin, at most 25 ms (once in a thousand times timers are up to 10 to 60 ms
/// late).
[[nodiscard]] std::chrono::nanoseconds killLead(const LeaseTiming& timing) noexcept;

/// SIGKILL comes this much before the elector's own drain timeout ends, so that the lease can still be released: a
/// tenth of that timeout, at most 250 ms.
[[nodiscard]] std::chrono::nanoseconds jobDrainTimeout(const LeaseTiming& timing) noexcept;

/// Brings a term from the elector to the guard channel. Any thread may publish; the newest state wins.
class TermPublisher {
 public:
  TermPublisher(GuardChannel& channel, const LeaseTiming& timing) noexcept
      : channel_{channel}, lead_{killLead(timing)} {}

  void publish(const Leadership& term);

 private:
  std::mutex mutex_;
  GuardChannel& channel_;
  std::chrono::nanoseconds lead_;
};

}  // namespace tenure::cli
