#include "term_cell.hpp"

#include "term_slots_steps.hpp"

namespace tenure {

TermCell::TermCell() noexcept = default;

void TermCell::publish(const TermState& state) noexcept { slots_.publish(state); }

TermState TermCell::load() const noexcept { return slots_.load(); }

}  // namespace tenure
