// The steps of TermSlots, used by the library's own instance and by those of tests.
#pragma once

#include <chrono>

#include "term_cell.hpp"

namespace tenure::detail {

// A sequence lock for each slot, without fences (ThreadSanitizer does not know them). The writer first marks the slot
// as being filled (turn 0). Each field is stored with release and loaded with acquire. So a reader that sees any new
// field also sees the mark or a later turn at its second look, and reads again.
template <template <class> class Atomic>
void TermSlots<Atomic>::publish(const TermState& state) noexcept {
  constexpr auto release = std::memory_order_release;
  const std::uint64_t turn = published_.load(std::memory_order_relaxed) + 1;
  Slot& slot = slots_[turn % slotCount];
  slot.turn.store(0, std::memory_order_relaxed);
  slot.raw.store(state.anchor.raw.count(), release);
  slot.monotonic.store(state.anchor.monotonic.count(), release);
  slot.boottime.store(state.anchor.boottime.count(), release);
  slot.leadsFor.store(state.leadsFor.count(), release);
  slot.validFor.store(state.validFor.count(), release);
  slot.token.store(state.token.value(), release);
  slot.turn.store(turn, release);
  published_.store(turn, release);
}

template <template <class> class Atomic>
TermState TermSlots<Atomic>::load() const noexcept {
  constexpr auto acquire = std::memory_order_acquire;
  using std::chrono::nanoseconds;
  for (;;) {
    const std::uint64_t turn = published_.load(acquire);
    if (turn == 0) return {};
    const Slot& slot = slots_[turn % slotCount];
    if (slot.turn.load(acquire) != turn) continue;
    TermState state;
    state.anchor.raw = nanoseconds{slot.raw.load(acquire)};
    state.anchor.monotonic = nanoseconds{slot.monotonic.load(acquire)};
    state.anchor.boottime = nanoseconds{slot.boottime.load(acquire)};
    state.leadsFor = nanoseconds{slot.leadsFor.load(acquire)};
    state.validFor = nanoseconds{slot.validFor.load(acquire)};
    state.token = FencingToken{slot.token.load(acquire)};
    if (slot.turn.load(std::memory_order_relaxed) == turn) return state;
  }
}

}  // namespace tenure::detail
