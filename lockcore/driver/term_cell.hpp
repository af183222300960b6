// The published state of a term, readable from any thread without a lock: "do I lead, right now?"
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/outcomes.hpp>

namespace tenure {
namespace detail {

/// One writer, any number of readers; see TermCell. The steps are in term_slots_steps.hpp. `Atomic` is std::atomic. A
/// test uses its own type instead, which stops a reader at each of its steps and lets the writer continue meanwhile.
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

/// One writer (the driver), any number of readers. Readers never wait for the writer: it fills the slot that is not
/// published, and then publishes that slot. A reader that was paused over two publications notices this and reads
/// again. The cell holds no pointers, so it may be in memory that processes share.
class TENURE_API TermCell {
 public:
  TermCell() noexcept;
  TermCell(const TermCell&) = delete;
  TermCell& operator=(const TermCell&) = delete;

  /// Writer only.
  void publish(const TermState& state) noexcept;
  /// Any thread; no lock, no allocation.
  [[nodiscard]] TermState load() const noexcept;

 private:
  detail::TermSlots<std::atomic> slots_{};
};

}  // namespace tenure
