#include "held_term.hpp"

#include <algorithm>
#include <utility>

#include "machine_core.hpp"

namespace tenure {

using std::chrono::nanoseconds;

namespace {

/// A heartbeat may come this much too early, so that heartbeats of many leases that are due at nearly the same time
/// share a wake-up: the due time is rounded down to a multiple of this, on the clock that all leases share. A wake-up
/// costs more than the heartbeat itself.
nanoseconds slotOf(nanoseconds heartbeat) { return heartbeat / 32; }

/// elapsedForHolder() by the slower of its two measures. A right that must end `d` after `to` gets this plus `d` as its
/// length, counted from `from`: each measure has counted at least this much at `to`, so none of them ends the right
/// later.
nanoseconds surelyCounted(const Instant& from, const Instant& to) {
  const nanoseconds boot = to.boottime - from.boottime;
  const nanoseconds suspended = boot - (to.monotonic - from.monotonic);
  return std::min(boot, (to.raw - from.raw) + suspended);
}

}  // namespace

/// The right counts from the time before the request was sent (I2).
HeldTerm::HeldTerm(const UnansweredWrite& won, FencingToken token)
    : right{won.sentAt, won.right.leadsFor, won.right.validFor, token},
      version{won.version},
      statedLease{won.right.lease} {}

nanoseconds HeldTerm::leadsLeft(const Instant& now) const noexcept {
  return right.leadsFor - elapsedForHolder(right.anchor, now);
}

nanoseconds HeldTerm::validLeft(const Instant& now) const noexcept {
  return right.validFor - elapsedForHolder(right.anchor, now);
}

nanoseconds HeldTerm::heartbeatDueIn(const Instant& now, nanoseconds heartbeat) const {
  const nanoseconds early = (right.anchor.boottime + heartbeat) % slotOf(heartbeat);
  return heartbeat - early - elapsedForHolder(right.anchor, now);
}

void HeldTerm::forgiveFirstHeartbeat(const Instant& now, nanoseconds heartbeat) {
  overdueWhenWon_ = std::max(-heartbeatDueIn(now, heartbeat), nanoseconds{0});
}

bool HeldTerm::limit(const Instant& now, const LeaseTiming& timing) {
  const nanoseconds spent = surelyCounted(right.anchor, now);
  const nanoseconds leadsFor = std::min(right.leadsFor, spent + timing.leadsFor());
  const nanoseconds validFor = std::min(right.validFor, spent + timing.validFor());
  if (leadsFor == right.leadsFor && validFor == right.validFor) return false;
  right.leadsFor = leadsFor;
  right.validFor = validFor;
  return true;
}

UnansweredWrite HeldTerm::provenBy(const Instant& askedAt, const UnansweredWrite& landed,
                                   const UnansweredWrites& later) const {
  UnansweredWrite proven = landed;
  const nanoseconds spent = surelyCounted(landed.sentAt, askedAt);
  for (const UnansweredWrite& other : later) {
    proven.right.leadsFor = std::min(proven.right.leadsFor, spent + other.right.leadsFor);
    proven.right.validFor = std::min(proven.right.validFor, spent + other.right.validFor);
  }
  const nanoseconds ahead = elapsedForHolder(right.anchor, proven.sentAt);
  if (proven.right.validFor + ahead >= right.validFor) return proven;
  proven.sentAt = right.anchor;
  proven.right.leadsFor = right.leadsFor;
  proven.right.validFor = right.validFor;
  return proven;
}

void HeldTerm::renew(MachineCore& core, const Instant& now, const UnansweredWrite& proven) {
  version = proven.version;
  statedLease = std::max(statedLease, proven.right.lease);
  unanswered.clear();
  if (!core.options.manualHeartbeat) {
    const nanoseconds late = -heartbeatDueIn(now, core.options.timing.heartbeat());
    const nanoseconds lag = std::max(late - std::exchange(overdueWhenWon_, nanoseconds{0}), nanoseconds{0});
    core.told.heartbeatLag = lag;
    core.told.worstHeartbeatLag = std::max(core.told.worstHeartbeatLag, lag);
  }
  right.anchor = proven.sentAt;
  right.validFor = proven.right.validFor;
}

}  // namespace tenure
