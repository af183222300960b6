// The names of the enumerators, the same in logs, status, metrics and docs.
#include <ostream>

#include <tenure/lockcore/outcomes.hpp>

namespace tenure {

std::chrono::nanoseconds TermState::remainingAt(const Instant& now) const noexcept {
  if (token.isNone()) return std::chrono::nanoseconds{0};
  const auto left = leadsFor - elapsedForHolder(anchor, now);
  return left.count() > 0 ? left : std::chrono::nanoseconds{0};
}

std::string_view toString(RevokeReason reason) noexcept {
  const auto at = static_cast<std::size_t>(reason);
  return at < revokeReasonNames.size() ? revokeReasonNames[at] : "invalid";
}

std::string_view toString(ReleaseResult result) noexcept {
  switch (result) {
    case ReleaseResult::notHeld:
      return "notHeld";
    case ReleaseResult::released:
      return "released";
    case ReleaseResult::notDrained:
      return "notDrained";
    case ReleaseResult::unknown:
      return "unknown";
    case ReleaseResult::shared:
      return "shared";
  }
  return "invalid";
}

std::string_view toString(LeaseState state) noexcept {
  switch (state) {
    case LeaseState::idle:
      return "idle";
    case LeaseState::candidate:
      return "candidate";
    case LeaseState::acquiring:
      return "acquiring";
    case LeaseState::leading:
      return "leading";
    case LeaseState::draining:
      return "draining";
    case LeaseState::releasing:
      return "releasing";
    case LeaseState::stopped:
      return "stopped";
  }
  return "invalid";
}

std::ostream& operator<<(std::ostream& out, RevokeReason reason) { return out << toString(reason); }
std::ostream& operator<<(std::ostream& out, ReleaseResult result) { return out << toString(result); }
std::ostream& operator<<(std::ostream& out, LeaseState state) { return out << toString(state); }

static_assert(static_cast<std::size_t>(RenewalOutcome::unknown) + 1 == renewalOutcomes);

std::string_view toString(RenewalOutcome outcome) noexcept {
  switch (outcome) {
    case RenewalOutcome::acknowledged:
      return "acknowledged";
    case RenewalOutcome::conflict:
      return "conflict";
    case RenewalOutcome::rejected:
      return "rejected";
    case RenewalOutcome::unknown:
      return "unknown";
  }
  return "invalid";
}

std::string_view toString(TermEvent::Kind kind) noexcept {
  switch (kind) {
    case TermEvent::Kind::elected:
      return "elected";
    case TermEvent::Kind::revoked:
      return "revoked";
    case TermEvent::Kind::doubtBegan:
      return "doubt_began";
    case TermEvent::Kind::doubtEnded:
      return "doubt_ended";
    case TermEvent::Kind::refused:
      return "refused";
  }
  return "invalid";
}

}  // namespace tenure
