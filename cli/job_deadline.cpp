#include "job_deadline.hpp"

#include <algorithm>

namespace tenure::cli {

std::chrono::nanoseconds untilKill(const Instant& now, const TermState& term,
                                   const std::optional<Instant>& toldToStopAt,
                                   std::chrono::nanoseconds drainTimeout) noexcept {
  if (term.token.isNone()) return std::chrono::nanoseconds{0};
  const std::chrono::nanoseconds valid = term.validFor - elapsedForHolder(term.anchor, now);
  if (!toldToStopAt) return valid;
  return std::min(valid, drainTimeout - elapsedForHolder(*toldToStopAt, now));
}

}  // namespace tenure::cli
