// A term that was won: how long its right lasts, and the writes that it depends on.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <tenure/lockcore/lease_options.hpp>
#include <tenure/lockcore/outcomes.hpp>

#include "own_writes.hpp"

namespace tenure {

class MachineCore;

/// The holder passes it to the releaser. A candidate that gives up releases by the same rules, but without a term: it
/// has no token and no version, only acquisitions that were not answered.
class HeldTerm {
 public:
  HeldTerm(const UnansweredWrite& won, FencingToken token);
  explicit HeldTerm(UnansweredWrites acquisitions) : unanswered{std::move(acquisitions)} {}

  [[nodiscard]] bool isNone() const noexcept { return right.token.isNone(); }
  [[nodiscard]] std::chrono::nanoseconds leadsLeft(const Instant& now) const noexcept;
  [[nodiscard]] std::chrono::nanoseconds validLeft(const Instant& now) const noexcept;
  [[nodiscard]] std::chrono::nanoseconds heartbeatDueIn(const Instant& now, std::chrono::nanoseconds heartbeat) const;
  /// The versions that the record may have now.
  [[nodiscard]] std::vector<RecordVersion> versions() const { return unanswered.named(version); }

  /// The first heartbeat of the term may have been due before the term was won. That does not count as lag.
  void forgiveFirstHeartbeat(const Instant& now, std::chrono::nanoseconds heartbeat);
  /// To be called before a write is sent that may shorten the lease: from then on a challenger may find the shorter
  /// lease in the record, and it counts that from the moment of its read. A longer lease counts only once it is known
  /// to be in the record. Returns whether the right became shorter.
  [[nodiscard]] bool limit(const Instant& now, const LeaseTiming& timing);
  /// What is proved by a read that shows `landed` in the record. A renewal of `later` may have arrived at any time
  /// after the read was sent. If it states a shorter lease, a challenger counts the shorter one from then on. If the
  /// previous right reaches further, it stays: each renewal that was sent has already limited it.
  [[nodiscard]] UnansweredWrite provenBy(const Instant& askedAt, const UnansweredWrite& landed,
                                         const UnansweredWrites& later) const;
  /// `proven` is what the record contains now: it was acknowledged, or a read showed it. The holder decides for how
  /// long it leads by it.
  void renew(MachineCore& core, const Instant& now, const UnansweredWrite& proven);

  TermState right{};
  RecordVersion version{};  ///< the last version that the store acknowledged
  UnansweredWrites unanswered{};
  std::chrono::milliseconds statedLease{0};        ///< the longest lease that the store's counter is known to state
  std::unique_ptr<const std::string> successor{};  ///< the name for which it is released; usually null

 private:
  std::chrono::nanoseconds overdueWhenWon_{0};
};

}  // namespace tenure
