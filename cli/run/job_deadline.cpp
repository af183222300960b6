#include "job_deadline.hpp"

#include <algorithm>

namespace tenure::cli {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

nanoseconds untilKill(const Instant& now, const TermState& term, const std::optional<Instant>& toldToStopAt,
                      nanoseconds drainTimeout) noexcept {
  if (term.token.isNone()) return nanoseconds{0};
  const nanoseconds valid = term.validFor - elapsedForHolder(term.anchor, now);
  if (!toldToStopAt) return valid;
  return std::min(valid, drainTimeout - elapsedForHolder(*toldToStopAt, now));
}

nanoseconds killLead(const LeaseTiming& timing) noexcept {
  return std::min<nanoseconds>(nanoseconds{timing.stopMargin()} / 2, milliseconds{25});
}

nanoseconds jobDrainTimeout(const LeaseTiming& timing) noexcept {
  const nanoseconds whole = timing.drainTimeout();
  return whole - std::min<nanoseconds>(whole / 10, milliseconds{250});
}

void TermPublisher::publish(const Leadership& term) {
  const std::lock_guard lock{mutex_};  // outside of the lock an older state could overwrite a newer one
  TermState state = term.state();
  state.validFor = std::max(state.validFor - lead_, nanoseconds{0});
  state.leadsFor = std::min(state.leadsFor, state.validFor);
  channel_.publish(state);
}

}  // namespace tenure::cli
