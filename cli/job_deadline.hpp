// When a job must be gone: one rule for both supervisor and guard.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "lockcore/driver/term_cell.hpp"

namespace tenure::cli {

/// The time until SIGKILL is due; zero or less: it is due now. It is due at the end of validity or, for a job that was
/// told to stop, at the end of the drain timeout, whichever is first.
///
/// A job whose SIGKILL is due gets no SIGTERM before it. The SIGCONT that goes with a SIGTERM would wake stopped
/// processes, and they would act after their time.
[[nodiscard]] inline std::chrono::nanoseconds untilKill(const Instant& now, const TermState& term,
                                                        const std::optional<Instant>& toldToStopAt,
                                                        std::chrono::nanoseconds drainTimeout) noexcept {
  if (term.token.isNone()) return std::chrono::nanoseconds{0};
  const std::chrono::nanoseconds valid = term.validFor - elapsedForHolder(term.anchor, now);
  if (!toldToStopAt) return valid;
  return std::min(valid, drainTimeout - elapsedForHolder(*toldToStopAt, now));
}

}  // namespace tenure::cli
