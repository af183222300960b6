// The thin shell around LeaseMachine: one lease, one store, one scheduler.
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

/// The notices that the driver gives its owner, on the scheduler, in order.
using LeaseNotice = std::variant<action::Elected, action::Renewed, action::InDoubt, action::Revoked,
                                 action::LeaderChanged, action::GaveUp, action::Stopped>;

/// Drives one LeaseMachine: reads the clock, keeps the one timer, calls the store, publishes the term. All methods may
/// be called from any thread and return at once. The machine itself is used only on the scheduler.
class LeaseDriver {
 public:
  struct Options {
    MachineOptions machine;
    Logger logger{};
    /// Runs on the scheduler: must return at once, must not throw.
    std::function<void(const LeaseNotice&)> onNotice{};
    /// Whether Start checks the store's schema (and creates it). False: the owner of many drivers does it once for all.
    bool checksSchema{true};
  };

  LeaseDriver(Options options, std::shared_ptr<LeaseStore> store, std::shared_ptr<Scheduler> scheduler,
              std::unique_ptr<RandomSource> random);
  /// Ends the driver without releasing the lease. Replies that are still under way have no effect. Do not call it in
  /// tasks of the scheduler other than onNotice's.
  ~LeaseDriver();
  LeaseDriver(const LeaseDriver&) = delete;
  LeaseDriver& operator=(const LeaseDriver&) = delete;

  /// Does what the destructor does, which other owners of the driver may delay. Once it has returned, the driver has
  /// released the scheduler, and nothing that still comes from a store or a user uses it. Only a task of the driver
  /// that runs on the scheduler at that moment may hold it, until that task ends.
  void close() noexcept;

  /// Whether the calling thread belongs to the scheduler; false after close().
  [[nodiscard]] bool isOnScheduler() const;

  /// Passes an event to the machine: Start, StepDown, Stop, Release, Renew, WorkEnded, WorkFailed, TokenSeen.
  void submit(LeaseEvent event);

  /// Stop, before every event that the machine has not taken yet: no acquisition begins after this call. True: an
  /// acquisition with an open outcome was begun before; if it won, it is released in the background.
  [[nodiscard]] bool withdraw();

  /// The work of term `token` was told to stop at its deadline. If the machine still leads that term, because a renewal
  /// was acknowledged at that very moment, the term ends all the same. No effect on another term.
  void endTerm(FencingToken token);

  /// The work is alive. Lock-free; it counts at the next heartbeat.
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
