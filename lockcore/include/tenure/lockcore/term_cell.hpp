// The published state of a term, readable from any thread without a lock: "do I lead, right now?"
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/detail/term_slots.hpp>
#include <tenure/lockcore/fencing_token.hpp>

namespace tenure {

/// What is known of the present term. `anchor` is the instant before the last acknowledged write was sent (I2).
struct TermState {
  Instant anchor{};
  std::chrono::nanoseconds leadsFor{0};  ///< zero once the work was told to stop
  std::chrono::nanoseconds validFor{0};
  FencingToken token{};

  [[nodiscard]] bool leadsAt(const Instant& now) const noexcept {
    return !token.isNone() && elapsedForHolder(anchor, now) < leadsFor;
  }
  [[nodiscard]] bool validAt(const Instant& now) const noexcept {
    return !token.isNone() && elapsedForHolder(anchor, now) < validFor;
  }
  /// Never negative.
  [[nodiscard]] std::chrono::nanoseconds remainingAt(const Instant& now) const noexcept;
};

/// One writer (the driver), any number of readers. Readers never wait for the writer: it fills the slot that is not
/// published before it publishes that, and a reader that was paused over two publications notices and reads again.
/// It holds no pointers and may lie in memory that processes share.
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
