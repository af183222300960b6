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

class LeaseMemory;  // internal: what a machine had seen when it ended, for the next one of the same key

/// A candidacy that ends by itself: that of a lock, which is won once or not at all, and never comes back when it was
/// lost.
struct OneTerm {
  /// How long to compete, counted from Start; unset: for ever; zero: one look. A request that is under way when it
  /// ends is not awaited, but for the first look, for an acquisition, and for the look at what became of one. If that
  /// shows a free lease, it is tried once more.
  std::optional<std::chrono::nanoseconds> patience{};
  bool mustExist{false};                        ///< never makes a record
  std::shared_ptr<const LeaseMemory> memory{};  ///< of an earlier machine of the same key and holder; may be null
  /// How long terms of this process may follow each other before it leaves the lease to others; unset: for ever.
  std::optional<std::chrono::nanoseconds> turn{};
  std::chrono::nanoseconds rest{0};  ///< for how long it does, from when the last of them ended
};

/// Constant for the life of a machine, but for `timing`, which Renew may change.
struct MachineOptions {
  LeaseKey key;
  std::string holder;  ///< the candidate's unique text (CandidateId::text)
  LeaseTiming timing;
  /// As in DNS SRV: lower numbers go first. Priority 50 waits one extra lease before taking a free one.
  unsigned priority{0};
  std::string data{};
  std::map<std::string, std::string> attributes{};
  DataRule dataRule{DataRule::replaceUnlessEmpty};  ///< of the acquisition
  std::optional<OneTerm> oneTerm{};                 ///< unset: only Stop ends the candidacy
  bool observesOnly{false};                         ///< never competes
  bool manualHeartbeat{false};                      ///< a holder renews only when Renew asks for it
  std::optional<std::chrono::nanoseconds> poll{};   ///< how often the holder is thought to renew; unset: as timing says
  /// Wall-clock milliseconds for people, put into records. Not a decision's input. Null: zero.
  std::int64_t (*displayClock)() noexcept {nullptr};
};

/// Follows the protocol of the AWS DynamoDB lock client: a holder changes the RVN at each heartbeat; a challenger
/// takes over once it has seen one RVN for the whole lease duration written in the record, on its own clock. No
/// I/O, no threads, no clock reads, no logging: time and randomness are arguments, work to do is returned.
///
/// The rules, by invariant: a holder's right counts from before its last acknowledged write was sent (I2), a
/// challenger's wait from after it received the RVN (I3), deadlines are looked at before any event so that a late
/// success cannot revive a lease (I4), Elected and Revoked alternate strictly (I5), an unanswered write is neither
/// success nor failure and is resolved by a later read or by a condition that accepts each RVN it may have left
/// (I8), the work ends before the release is sent (I9), and only Stop ends the candidacy (I10).
///
/// Not thread-safe: one owner calls it serially, with `now` never going back on any of its clocks.
class LeaseMachine {
 public:
  LeaseMachine(MachineOptions options, RandomSource& random);
  ~LeaseMachine();
  LeaseMachine(LeaseMachine&&) noexcept;
  LeaseMachine& operator=(LeaseMachine&&) noexcept;

  /// Takes an event in and returns what is to be done, in order. Every event is allowed in every state.
  [[nodiscard]] LeaseActions step(const Instant& now, const LeaseEvent& event);

  /// When to step with Wakeup at the latest if nothing else happens; zero: now; empty: no need.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilWakeup(const Instant& now) const;

  /// An acquisition was sent that has won, may have won or may win yet, and is not given up: to leave now would leave
  /// something behind.
  [[nodiscard]] bool acquisitionOpen() const noexcept;

  [[nodiscard]] const LeaseKey& key() const noexcept;
  [[nodiscard]] LeaseState state() const noexcept;
  /// The term as published: judged by the reader's clock.
  [[nodiscard]] TermState term() const noexcept;
  [[nodiscard]] bool workRunning() const noexcept;
  [[nodiscard]] bool inDoubt() const noexcept;
  [[nodiscard]] const std::optional<LeaderInfo>& leader() const noexcept;
  /// When the leader was last confirmed by a reply; empty before the first.
  [[nodiscard]] std::optional<Instant> leaderSeenAt() const noexcept;
  [[nodiscard]] const std::optional<StoreError>& lastError() const noexcept;
  [[nodiscard]] std::optional<Instant> lastErrorAt() const noexcept;
  [[nodiscard]] std::uint64_t terms() const noexcept;
  [[nodiscard]] const HeartbeatLag& heartbeatLag() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenure
