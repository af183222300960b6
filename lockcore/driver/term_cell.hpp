// The published state of a term, readable from any thread without a lock: "do I lead, right now?"
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include <tenure/lockcore/outcomes.hpp>

#include "term_slots.hpp"

namespace tenure {

/// One writer (the driver), any number of readers. Readers never wait for the writer: it fills the slot that is not
/// published, and then publishes that slot. A reader that was paused over two publications notices this and reads
/// again. The cell holds no pointers, so it may be in memory that processes share.
class TermCell {
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
