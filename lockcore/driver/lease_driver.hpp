// The thin shell around LeaseMachine: one lease, one store, one scheduler.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_store.hpp>
#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/outcomes.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "lease_account.hpp"
#include "lockcore/lease/lease_machine.hpp"
#include "term_cell.hpp"

namespace tenure {

/// The notices that the driver gives its owner, on the scheduler, in order.
using LeaseNotice =
    std::variant<action::Publish, action::Elected, action::Renewed, action::Recorded, action::InDoubt, action::Revoked,
                 action::LeaderChanged, action::VacancyExpected, action::GaveUp, action::Stopped>;

/// Drives one LeaseMachine: reads the clock, keeps the one timer, calls the store, publishes the term. All methods may
/// be called from any thread and return at once. The machine itself is used only on the scheduler.
class TENURE_API LeaseDriver {
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
  /// Ends the driver without releasing the lease. Replies that are still under way have no effect. On the scheduler,
  /// destroy it only inside onNotice.
  ~LeaseDriver();
  LeaseDriver(const LeaseDriver&) = delete;
  LeaseDriver& operator=(const LeaseDriver&) = delete;

  /// Ends the driver as the destructor does, but now, even if others still own it. Afterwards nothing that comes from a
  /// store or a user reaches the scheduler. Only a task of the driver that is running on the scheduler at that moment
  /// keeps the scheduler alive, until that task ends.
  void close() noexcept;
  /// Waits for no lock.
  [[nodiscard]] bool isClosed() const noexcept;

  /// Has the scheduler run `task` after this time, unless the driver is closed before. False: it is closed already.
  bool schedule(std::chrono::nanoseconds delay, Scheduler::Task task);

  /// The owner's handle was destroyed where nothing may wait: the scheduler keeps `owner` until the machine has
  /// stopped, but no longer than `atMost`, and no longer than it lasts itself.
  void keep(std::shared_ptr<void> owner, std::chrono::nanoseconds atMost);

  /// Whether the calling thread belongs to the scheduler; false after close().
  [[nodiscard]] bool isOnScheduler() const;

  /// Passes an event to the machine: Start, StepDown, SetReady, Stop, Release, Renew, WorkEnded, WorkFailed, TokenSeen.
  void submit(LeaseEvent event);

  /// Stops as the event Stop does, but overtakes the events that the machine has not taken yet: no acquisition begins
  /// after this call. True: an acquisition is still unanswered; if it won, it is released in the background.
  [[nodiscard]] bool withdraw();

  /// Ends term `token`, whose work was told to stop at its deadline, even if a renewal was acknowledged at that very
  /// moment. No effect on another term.
  void endTerm(FencingToken token);

  /// The work is alive. Lock-free; it counts at the next heartbeat.
  void reportProgress(const Instant& at) noexcept;
  /// The work of the term with this token is really done from now on; for the account.
  void reportEffective(FencingToken token);

  /// The published term; reads are lock-free. Lives as long as anyone holds it.
  [[nodiscard]] const std::shared_ptr<const TermCell>& term() const noexcept;

  /// A snapshot; takes a short lock that is never held over I/O or user code.
  [[nodiscard]] LeaseStatus status() const;
  /// The same without waiting for the lock; empty if it is held just now.
  [[nodiscard]] std::optional<LeaseStatus> tryStatus() const;

  /// From now on `account` is told what happens. Returns at once; events that are submitted after this call count.
  void countIn(std::shared_ptr<LeaseAccount> account);

 private:
  class Impl;
  class Link;
  std::shared_ptr<Link> link_;
  std::shared_ptr<const TermCell> term_;
};

}  // namespace tenure
