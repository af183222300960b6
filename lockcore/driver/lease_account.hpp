// Counts what one driver does, for metrics and histories. Written on the scheduler, read from any thread.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/outcomes.hpp>

#include "event_ring.hpp"
#include "lockcore/lease/lease_action.hpp"
#include "lockcore/lease/lease_event.hpp"

namespace tenure {

/// One writer: the driver that it was given to. Reading and writing wait for nobody. So a reader gets numbers of
/// slightly different moments, each of them right.
class TENURE_API LeaseAccount {
 public:
  // The writer.
  void sent(Attempt attempt, WriteRequest::Purpose purpose, const Instant& now) noexcept;
  void took(const LeaseEvent& event, FencingToken term, const Instant& now);
  /// `wakeup`: when the machine must be stepped again at the latest; empty: never.
  void armed(const std::optional<Instant>& wakeup) noexcept;
  /// The work of this term is really done from now on, until leadership ends.
  void effective(const TermState& term, const Instant& now) noexcept;
  void published(const TermState& term, const Instant& now) noexcept;
  void told(const action::Elected& elected);
  void told(const action::Renewed& renewed);
  void told(const action::InDoubt& doubt, FencingToken term);
  void told(const action::Revoked& revoked);
  void told(const action::LeaderChanged& changed, const Instant& now) noexcept;
  void told(const action::Stopped& stopped, const Instant& now) noexcept;

  // Any thread.
  [[nodiscard]] LeaseCounts counts(const Instant& now) const noexcept;
  [[nodiscard]] std::vector<TermEvent> events() const;
  /// When the present or the last term began, by the wall clock; 0: there was none.
  [[nodiscard]] std::int64_t electedAtMillis() const noexcept { return electedAt_.load(relaxed); }
  /// For how long the machine should have been stepped; zero if it is not due.
  [[nodiscard]] std::chrono::nanoseconds overdue(const Instant& now) const noexcept;

 private:
  static constexpr auto relaxed = std::memory_order_relaxed;
  using Counter = std::atomic<std::uint64_t>;
  struct Entry {
    std::int64_t atMillis{0};
    std::uint64_t token{0};
    std::uint32_t kind{0};
    std::uint16_t reason{0};
    std::uint16_t length{0};
    std::array<char, maxTermEventDetail> detail{};
  };
  static constexpr std::uint16_t noReason = 0xFFFF;

  /// There is one writer, so a plain load and store count right, and cost no locked instruction.
  static void add(Counter& counter, std::uint64_t more = 1) noexcept {
    counter.store(counter.load(relaxed) + more, relaxed);
  }
  void leaderlessUntil(const Instant& now) noexcept;
  [[nodiscard]] std::chrono::nanoseconds effectiveAt(const Instant& now) const noexcept;
  static std::chrono::nanoseconds risen(std::atomic<std::int64_t>& shown, std::chrono::nanoseconds value) noexcept;
  void answered(const WriteOutcome& outcome, std::chrono::nanoseconds time) noexcept;
  void note(TermEvent::Kind kind, FencingToken token, std::uint16_t reason, std::string_view detail);

  // The writer's own.
  Attempt renewal_{0};
  FencingToken effectiveTerm_{};
  Instant renewalSentAt_{};

  static constexpr std::int64_t never = INT64_MAX;
  Counter terms_{0}, doubts_{0}, refusals_{0};
  std::array<Counter, revokeReasons> revocations_{};
  std::array<Counter, renewalOutcomes> renewals_{};
  std::array<Counter, renewalTimeBounds.size() + 1> renewalTimes_{};
  Counter renewalTimeSum_{0};
  std::atomic<std::int64_t> leaderlessFrom_{-1};  ///< CLOCK_BOOTTIME less the nanoseconds before; a leader: -1 - these
  Counter effective_{0};                          ///< nanoseconds, of the terms that are over
  std::atomic<std::int64_t> effectiveFrom_{-1};   ///< CLOCK_BOOTTIME less `effective_`; none: -1 - `effective_`
  std::atomic<std::int64_t> effectiveUntil_{0};   ///< if no renewal comes
  mutable std::atomic<std::int64_t> leaderlessShown_{0}, effectiveShown_{0};  ///< the most that a reader got
  std::atomic<std::int64_t> electedAt_{0};
  std::atomic<std::int64_t> dueAt_{never};  ///< CLOCK_BOOTTIME
  EventRing<Entry, maxTermEvents> ring_{};
};

}  // namespace tenure
