// A term that was won: how long its right lasts, and the writes that carry it.
#pragma once

#include <chrono>
#include <vector>

#include <tenure/lockcore/lease_options.hpp>
#include <tenure/lockcore/outcomes.hpp>

#include "own_writes.hpp"

namespace tenure {

class MachineCore;

/// Goes from the holder to the releaser. A candidate that gives up lets go by the same rules, without a term: it has no
/// token and no version, only acquisitions that nobody answered.
class HeldTerm {
 public:
  HeldTerm(const UnansweredWrite& won, FencingToken token);
  explicit HeldTerm(UnansweredWrites acquisitions) : unanswered{std::move(acquisitions)} {}

  [[nodiscard]] bool isNone() const noexcept { return right.token.isNone(); }
  [[nodiscard]] std::chrono::nanoseconds leadsLeft(const Instant& now) const noexcept;
  [[nodiscard]] std::chrono::nanoseconds validLeft(const Instant& now) const noexcept;
  [[nodiscard]] std::chrono::nanoseconds heartbeatDueIn(const Instant& now, std::chrono::nanoseconds heartbeat) const;
  /// The versions that the record may have.
  [[nodiscard]] std::vector<RecordVersion> versions() const { return unanswered.named(version); }

  /// The first heartbeat of the term may have been due before the term was won. That is no lag.
  void forgiveFirstHeartbeat(const Instant& now, std::chrono::nanoseconds heartbeat);
  /// Before a write that may shorten the lease is sent: from then on a challenger may find the shorter one in the
  /// record, and count it from that moment on. A longer one is counted once it is known to be there. Tells whether the
  /// right became shorter.
  [[nodiscard]] bool limit(const Instant& now, const LeaseTiming& timing);
  /// What a look at the record proves that shows `landed` there. A renewal of `later` may have arrived at any time
  /// since the look was asked for, and if it states a shorter lease, a challenger counts that one from then on. Where
  /// the right of before reaches further it stays: it has been limited by each renewal that was sent.
  [[nodiscard]] UnansweredWrite provenBy(const Instant& askedAt, const UnansweredWrite& landed,
                                         const UnansweredWrites& later) const;
  /// `proven` is what the record has now: acknowledged, or shown by a read-back. For how long the holder leads by it is
  /// the holder's to say.
  void renew(MachineCore& core, const Instant& now, const UnansweredWrite& proven);

  TermState right{};
  RecordVersion version{};  ///< the last one that the store acknowledged
  UnansweredWrites unanswered{};
  std::chrono::milliseconds statedLease{0};  ///< the longest that the store's counter is known to state

 private:
  std::chrono::nanoseconds overdueWhenWon_{0};
};

}  // namespace tenure
