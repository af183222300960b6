// The role of a machine that was not started yet, and that of a machine whose candidacy is over.
#pragma once

#include <chrono>
#include <optional>

#include "next_role.hpp"

namespace tenure {

/// It ignores every event and waits for nothing.
class Inactive {
 public:
  template <class Event>
  [[nodiscard]] NextRole handle(const Instant& /*now*/, const Event& /*event*/) noexcept {
    return {};
  }
  [[nodiscard]] NextRole checkDeadlines(const Instant& /*now*/) noexcept { return {}; }
  [[nodiscard]] NextRole advance(const Instant& /*now*/) noexcept { return {}; }

  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilWakeup(const Instant& /*now*/) const noexcept {
    return std::nullopt;
  }
  [[nodiscard]] bool acquisitionOpen() const noexcept { return false; }
  [[nodiscard]] bool inDoubt() const noexcept { return false; }
};

/// Start is handled by the machine itself.
class Idle : public Inactive {
 public:
  using Inactive::handle;
  [[nodiscard]] NextRole handle(const Instant& /*now*/, const event::Stop& /*event*/) {
    return {next::Stop{ReleaseResult::notHeld}};
  }
  [[nodiscard]] LeaseState state() const noexcept { return LeaseState::idle; }
};

class Over : public Inactive {
 public:
  [[nodiscard]] LeaseState state() const noexcept { return LeaseState::stopped; }
};

}  // namespace tenure
