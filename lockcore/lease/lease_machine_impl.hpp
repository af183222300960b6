// The inside of a LeaseMachine: one role at a time, and the only place where one role is replaced by another.
#pragma once

#include <chrono>
#include <optional>
#include <variant>

#include "challenger.hpp"
#include "holder.hpp"
#include "inactive_roles.hpp"
#include "lease_machine.hpp"
#include "machine_core.hpp"
#include "next_role.hpp"
#include "releaser.hpp"

namespace tenure {

class LeaseMachine::Impl {
 public:
  Impl(MachineOptions options, RandomSource& random) : core_{std::move(options), random} {}
  Impl(const Impl&) = delete;  // roles refer to the core
  Impl& operator=(const Impl&) = delete;

  LeaseActions step(const Instant& now, const LeaseEvent& event);
  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilWakeup(const Instant& now) const;

  [[nodiscard]] const MachineCore& core() const noexcept { return core_; }
  [[nodiscard]] LeaseState state() const noexcept;
  [[nodiscard]] bool acquisitionOpen() const noexcept;
  [[nodiscard]] bool inDoubt() const noexcept;
  [[nodiscard]] std::chrono::nanoseconds cooldown(const Instant& now) const;

 private:
  // Events and parts of events that concern the machine as a whole; the role handles the rest.
  void handle(const Instant& now, const event::Start& event);
  void handle(const Instant& now, const event::SetReady& event);
  void handle(const Instant& now, const event::Stop& event);
  void handle(const Instant& now, const event::Release& event);
  void handle(const Instant& now, const event::Renew& event);
  void handle(const Instant& now, const event::WorkEnded& event);
  void handle(const Instant& now, const event::WorkFailed& event);
  void handle(const Instant& now, const event::ReadReply& event);
  void handle(const Instant& now, const event::WriteReply& event);
  void handle(const Instant& now, const event::HolderProvenDead& event);
  void handle(const Instant& now, const event::TokenSeen& event);
  template <class Event>
  void handle(const Instant& now, const Event& event) {
    deliver(now, event);
  }

  template <class Event>
  void deliver(const Instant& now, const Event& event);
  void checkDeadlines(const Instant& now);
  void giveUpOverdueRequest(const Instant& now);
  void advance(const Instant& now);
  void refuseReport(FencingToken token);

  void install(const Instant& now, NextRole next);
  void enter(const Instant& /*now*/, next::Stay&& /*next*/) {}
  void enter(const Instant& now, next::Challenge&& next);
  void enter(const Instant& now, next::Lead&& next);
  void enter(const Instant& now, next::Release&& next);
  void enter(const Instant& now, next::Stop&& next);

  MachineCore core_;
  std::variant<Idle, Challenger, Holder, Releaser, Over> role_{};
};

}  // namespace tenure
