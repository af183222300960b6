#include <tenure/lockcore/term_cell.hpp>

#include "term_slots_steps.hpp"

namespace tenure {

std::chrono::nanoseconds TermState::remainingAt(const Instant& now) const noexcept {
  if (token.isNone()) return std::chrono::nanoseconds{0};
  const auto left = leadsFor - elapsedForHolder(anchor, now);
  return left.count() > 0 ? left : std::chrono::nanoseconds{0};
}

TermCell::TermCell() noexcept = default;

void TermCell::publish(const TermState& state) noexcept { slots_.publish(state); }

TermState TermCell::load() const noexcept { return slots_.load(); }

}  // namespace tenure
