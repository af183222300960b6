
#include <tenure/lockcore/outcomes.hpp>

namespace tenure {

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
