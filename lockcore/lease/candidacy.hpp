// A candidacy that ends by itself: how long it has waited, and how long its process has had the lease already.
#pragma once

#include <chrono>
#include <memory>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/fencing_token.hpp>

#include "lease_machine.hpp"
#include "lease_memory.hpp"

namespace tenure {

/// What outlives the wait of OneTerm, whose options every question brings along.
class Candidacy {
 public:
  /// `waited`: before it began to compete.
  void start(const Instant& now, std::chrono::nanoseconds waited) noexcept;

  [[nodiscard]] std::chrono::nanoseconds patienceLeft(const OneTerm& rules, const Instant& now) const;
  /// The patience has an end, and that has come.
  [[nodiscard]] bool waitIsOver(const OneTerm& rules, const Instant& now) const;

  /// Somebody else was seen to hold the lease, or was not.
  void sawHolder(bool other) noexcept { waited_ = waited_ || other; }
  [[nodiscard]] bool waited() const noexcept { return waited_; }

  /// This candidate and its predecessor in the line are of one process.
  void joinTurn(const OneTerm& rules, const LeaseMemory& memory);
  /// A term was won. Its token tells whether somebody had the lease since the last one of this process.
  void beginTurn(const OneTerm& rules, const Instant& now, FencingToken token);
  /// The term of this token is over.
  void endTurn(const Instant& now, FencingToken token);
  /// What is left of the time for which this process leaves the lease to others. Counted from the end of its last term:
  /// who comes back later than that owes nothing. It never makes a bounded wait miss its only chance.
  [[nodiscard]] std::chrono::nanoseconds restOwed(const OneTerm& rules, const Instant& now) const;
  [[nodiscard]] const std::shared_ptr<const LeaseTurn>& turn() const noexcept { return turn_; }

 private:
  Instant startedAt_{};
  std::chrono::nanoseconds waitedBefore_{0};
  std::shared_ptr<const LeaseTurn> turn_{};  ///< of this process, until the last term of it that ended; mostly none
  bool waited_{false};                       ///< somebody else held it
};

}  // namespace tenure
