// The correctness core: one candidate's view of one lease as a pure state machine.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/lease_options.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "lease_action.hpp"
#include "lease_event.hpp"

namespace tenure {

class LeaseMemory;  // internal: what a machine knew when it ended, for the next one of the same key

/// A candidacy that ends by itself: that of a lock. The lock is won once or not at all, and is not acquired again after
/// it was lost.
struct OneTerm {
  /// How long to compete, counted from Start; unset: for ever; zero: one look. A request that is under way when the
  /// time ends is not waited for, with three exceptions: the first look, an acquisition, and the look that finds out
  /// what became of an acquisition. If that look shows a free lease, there is one more attempt.
  std::optional<std::chrono::nanoseconds> patience{};
  bool mustExist{false};                        ///< never creates a record
  std::shared_ptr<const LeaseMemory> memory{};  ///< of an earlier machine of the same key and holder; may be null
  /// For how long terms of this process may follow each other before it leaves the lease to others; unset: for ever.
  std::optional<std::chrono::nanoseconds> maxConsecutiveHold{};
  std::chrono::nanoseconds yieldFor{0};  ///< how long it then leaves the lease to others, from the end of the last term
};

/// What a leader says about itself in the data of its record.
struct LeaderStatement {
  std::string address{};  ///< empty: none
  unsigned priority{0};   ///< 0: the best one, or none is stated

  friend bool operator==(const LeaderStatement&, const LeaderStatement&) = default;
};

/// Constant during the life of a machine, except `timing`, which Renew may change.
struct MachineOptions {
  LeaseKey key;
  std::string holder;  ///< the candidate's unique text (newCandidate)
  LeaseTiming timing;
  /// As in DNS SRV: lower numbers go first. Priority 50 waits one extra lease before taking a free one.
  unsigned priority{0};
  std::string data{};
  std::map<std::string, std::string> attributes{};
  DataRule dataRule{DataRule::replaceUnlessEmpty};  ///< for the acquisition
  std::optional<OneTerm> oneTerm{};                 ///< unset: only Stop ends the candidacy
  bool observesOnly{false};                         ///< never competes
  bool manualHeartbeat{false};                      ///< a holder renews only when Renew asks for it
  std::optional<std::chrono::nanoseconds> poll{};   ///< the expected heartbeat of the holder; unset: as timing says
  std::string address{};                            ///< of this candidate, for LeaderInfo
  /// Finds the statement of the leader of a term in the data of its record. It depends on nothing else. Null: records
  /// have none.
  LeaderStatement (*statementIn)(const std::string& data, FencingToken term){nullptr};
  /// Wall-clock milliseconds that records show to people. They are not the input of any decision. Null: zero.
  std::int64_t (*displayClock)() noexcept {nullptr};
};

/// Follows the protocol of the AWS DynamoDB lock client: a holder changes the RVN at each heartbeat; a challenger
/// takes over once it has seen one RVN for the whole lease duration written in the record, on its own clock. No
/// I/O, no threads, no clock reads, no logging: time and randomness are arguments, work to do is returned.
///
/// The rules, by invariant:
/// - I2: a holder's right counts from before its last acknowledged write was sent.
/// - I3: a challenger's wait counts from after it received the RVN.
/// - I4: deadlines are checked before any event is handled, so that a late success cannot revive a lease.
/// - I5: Elected and Revoked alternate strictly.
/// - I8: an unanswered write is neither a success nor a failure. It is resolved by a later read, or by a condition that
///   accepts each RVN that it may have left.
/// - I9: the work ends before the release is sent.
/// - I10: only Stop ends the candidacy.
///
/// Not thread-safe: one owner calls it serially, with `now` never going back on any of its clocks.
class LeaseMachine {
 public:
  LeaseMachine(MachineOptions options, RandomSource& random);
  ~LeaseMachine();
  LeaseMachine(LeaseMachine&&) noexcept;
  LeaseMachine& operator=(LeaseMachine&&) noexcept;

  /// Handles an event and returns what is to be done, in order. Every event is allowed in every state.
  [[nodiscard]] LeaseActions step(const Instant& now, const LeaseEvent& event);

  /// Latest time for the next step, with Wakeup if nothing else happens; zero: now; empty: no step is needed.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilWakeup(const Instant& now) const;

  /// An acquisition was sent that has won, may have won or may still win, and is not given up. To leave now would leave
  /// something behind.
  [[nodiscard]] bool acquisitionOpen() const noexcept;

  [[nodiscard]] const LeaseKey& key() const noexcept;
  [[nodiscard]] LeaseState state() const noexcept;
  /// The term as it was published; the reader judges it by its own clock.
  [[nodiscard]] TermState term() const noexcept;
  [[nodiscard]] bool workRunning() const noexcept;
  [[nodiscard]] bool inDoubt() const noexcept;
  [[nodiscard]] bool isReady() const noexcept;
  /// For how long it still does not acquire, although it is a candidate. Never negative.
  [[nodiscard]] std::chrono::nanoseconds cooldown(const Instant& now) const;
  [[nodiscard]] const std::optional<LeaderInfo>& leader() const noexcept;
  /// When the leader was last confirmed by a reply; empty before the first.
  [[nodiscard]] std::optional<Instant> leaderSeenAt() const noexcept;
  [[nodiscard]] bool leaderRenews() const noexcept;
  [[nodiscard]] const std::optional<StoreError>& lastError() const noexcept;
  [[nodiscard]] std::optional<Instant> lastErrorAt() const noexcept;
  [[nodiscard]] std::uint64_t terms() const noexcept;
  [[nodiscard]] std::chrono::nanoseconds heartbeatLag() const noexcept;
  [[nodiscard]] std::chrono::nanoseconds worstHeartbeatLag() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenure
