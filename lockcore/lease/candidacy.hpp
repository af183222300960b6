// A candidacy that ends by itself: how long it has waited, and for how long its process has already had the lease.
#pragma once

#include <chrono>
#include <memory>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/lease_record.hpp>

#include "lease_machine.hpp"
#include "lease_memory.hpp"

namespace tenure {

/// State that must outlive the waiting time of OneTerm. The OneTerm options are an argument of every call.
class Candidacy {
 public:
  /// `waited`: how long it had waited before it began to compete.
  void start(const Instant& now, std::chrono::nanoseconds waited) noexcept;

  [[nodiscard]] std::chrono::nanoseconds patienceLeft(const OneTerm& rules, const Instant& now) const;
  /// True if the patience is limited and has run out.
  [[nodiscard]] bool waitIsOver(const OneTerm& rules, const Instant& now) const;

  /// A read showed whether somebody else holds the lease.
  void sawHolder(bool other) noexcept { waited_ = waited_ || other; }
  [[nodiscard]] bool waited() const noexcept { return waited_; }

  /// A turn is a row of terms of one process without another holder in between. This candidate continues the turn of
  /// its predecessor in the line, which belongs to the same process.
  void joinTurn(const OneTerm& rules, const LeaseMemory& memory);
  /// A term was won. Its token and that of the record before it (none: it was gone) show whether somebody else had the
  /// lease after the last term of this process. Some stores leave gaps between tokens.
  void beginTurn(const OneTerm& rules, const Instant& now, FencingToken token, FencingToken before);
  /// The term with this token is over.
  void endTurn(const Instant& now, FencingToken token);
  /// After a turn of OneTerm::maxConsecutiveHold, this process leaves the lease to others for OneTerm::yieldFor. This
  /// is what is left of that time, counted from the end of its last term; a process that comes back later than that
  /// owes nothing. It is never so long that a candidate with a bounded wait misses its only chance.
  [[nodiscard]] std::chrono::nanoseconds yieldOwed(const OneTerm& rules, const Instant& now) const;
  [[nodiscard]] const std::shared_ptr<const LeaseTurn>& turn() const noexcept { return turn_; }

 private:
  Instant startedAt_{};
  std::chrono::nanoseconds waitedBefore_{0};
  std::shared_ptr<const LeaseTurn> turn_{};  ///< of this process, until its last term that ended; usually null
  bool waited_{false};                       ///< somebody else held the lease
};

}  // namespace tenure
