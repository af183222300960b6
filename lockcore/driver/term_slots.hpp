// Internal: how a term is published without a lock. The steps are in lockcore/driver/term_slots_steps.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tenure {

struct TermState;

namespace detail {

/// One writer, any number of readers; see TermCell. `Atomic` is std::atomic. A test uses its own type instead, which
/// stops a reader at each of its steps and lets the writer continue meanwhile.
template <template <class> class Atomic>
class TermSlots {
 public:
  /// Writer only.
  void publish(const TermState& state) noexcept;
  /// Any thread.
  [[nodiscard]] TermState load() const noexcept;

 private:
  static constexpr std::size_t slotCount = 2;  // unpadded: it is written once in a heartbeat, and there are many cells
  struct Slot {
    Atomic<std::uint64_t> turn{0};  ///< the sequence number of the slot's content
    Atomic<std::int64_t> raw{0}, monotonic{0}, boottime{0}, leadsFor{0}, validFor{0};
    Atomic<std::uint64_t> token{0};
  };
  std::array<Slot, slotCount> slots_{};
  Atomic<std::uint64_t> published_{0};
};

}  // namespace detail
}  // namespace tenure
