// The thin shell round LeaseMachine: one lease, one store, one scheduler.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <tenure/lockcore/lease_store.hpp>
#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/outcomes.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "lockcore/lease/lease_machine.hpp"
#include "term_cell.hpp"

namespace tenure {

/// What the driver tells its owner, on the scheduler, in order.
using LeaseNotice = std::variant<action::Elected, action::Renewed, action::InDoubt, action::Revoked,
                                 action::LeaderChanged, action::GaveUp, action::Stopped>;

/// Drives one LeaseMachine: reads the clock, keeps the one timer, calls the store, publishes the term. All methods
/// may be called from any thread and return at once; the machine itself is only touched on the scheduler.
class LeaseDriver {
 public:
  struct Options {
    MachineOptions machine;
    Logger logger{};
    /// Runs on the scheduler: must return at once, must not throw.
    std::function<void(const LeaseNotice&)> onNotice{};
    /// Whether Start looks at the store's schema (and makes it). False: the owner of many drivers does it once.
    bool checksSchema{true};
  };

  LeaseDriver(Options options, std::shared_ptr<LeaseStore> store, std::shared_ptr<Scheduler> scheduler,
              std::unique_ptr<RandomSource> random);
  /// Ends the driver without releasing; replies that are still under way change nothing. Not from the scheduler's
  /// own tasks other than onNotice's.
  ~LeaseDriver();
  LeaseDriver(const LeaseDriver&) = delete;
  LeaseDriver& operator=(const LeaseDriver&) = delete;

  /// What the destructor does, which other owners of the driver may delay. Once it has returned the driver has let go
  /// of the scheduler, and nothing that still comes from a store or a user touches it; only a task of the driver that
  /// runs on the scheduler just then may hold it, until that task ends.
  void close() noexcept;

  /// Whether the calling thread is one of the scheduler's; false after close().
  [[nodiscard]] bool isOnScheduler() const;

  /// Hands an event to the machine: Start, StepDown, Stop, Release, Renew, WorkEnded, WorkFailed, TokenSeen.
  void submit(LeaseEvent event);

  /// Stop, ahead of every event that the machine has not taken yet: no acquisition begins after this call. True: one
  /// was begun whose outcome is open; it is released in the background if it won.
  [[nodiscard]] bool withdraw();

  /// The work of term `token` was told to stop at its deadline. Should the machine lead it even so, because a renewal
  /// was acknowledged in that very moment, the term ends all the same. No effect on another term.
  void endTerm(FencingToken token);

  /// The work is alive. Lock-free; counted at the next heartbeat.
  void reportProgress() noexcept;

  /// The published term; reads are lock-free. Lives as long as anyone holds it.
  [[nodiscard]] const std::shared_ptr<const TermCell>& term() const noexcept;

  /// A snapshot; takes a short lock that is never held over I/O or user code.
  [[nodiscard]] LeaseStatus status() const;

 private:
  class Impl;
  class Gate;
  std::shared_ptr<Gate> gate_;
  std::shared_ptr<const TermCell> term_;
};

}  // namespace tenure
