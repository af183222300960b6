// The answer of a role: which role follows it. A role never replaces itself; the machine does so once the role's call
// has returned.
#pragma once

#include <chrono>
#include <concepts>
#include <memory>
#include <optional>
#include <variant>

#include "held_term.hpp"
#include "lease_action.hpp"
#include "machine_core.hpp"

namespace tenure {

namespace next {

/// The role continues.
struct Stay {};
/// Challenge from now on, but do not acquire for `cooldown`. `found`: the record, if the answer being handled shows it.
struct Challenge {
  std::chrono::nanoseconds cooldown{0};
  const std::optional<LeaseRecord>* found{nullptr};
};
/// Lead, in a term that was won. `payload`: of its record; null: it has none.
struct Lead {
  HeldTerm term;
  std::shared_ptr<const LeasePayload> payload{};
  TermOrigin origin{};
};
/// Release a term whose work has ended, or acquisitions that may have won.
struct Release {
  HeldTerm term;
};
/// The candidacy is over.
struct Stop {
  ReleaseResult result;
};

}  // namespace next

struct NextRole {
  std::variant<next::Stay, next::Challenge, next::Lead, next::Release, next::Stop> role{};
  bool actsAtOnce{false};  ///< begins in this step; other roles begin with the next event or wake-up

  [[nodiscard]] bool isStay() const noexcept { return std::holds_alternative<next::Stay>(role); }
};

/// The answer to a request of this role. If nobody answered in time, the outcome says so.
struct ReadAnswer {
  RequestInFlight request;
  const ReadOutcome& outcome;
};
struct WriteAnswer {
  RequestInFlight request;
  const WriteOutcome& outcome;
};

/// The events that a role ignores. A role handles each event or names it here; otherwise the machine does not compile.
template <class... Events>
class Ignores {
 public:
  template <class Event>
  requires(std::same_as<Event, Events> || ...) [[nodiscard]] NextRole
      handle(const Instant& /*now*/, const Event& /*event*/) noexcept {
    return {};
  }
};

}  // namespace tenure
