// The state and the result of a candidacy, as users see it: in electors, in locks, in status displays; and the counts
// of its events.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/store_error.hpp>

namespace tenure {

/// The present state of a candidate.
enum class LeaseState {
  idle,       ///< not started
  candidate,  ///< observes the holder and waits for the lease
  acquiring,  ///< a conditional write is under way
  leading,    ///< holds a valid term
  draining,   ///< asked the work to stop and waits for it, still renewing
  releasing,  ///< the work has ended; the release is under way
  stopped,    ///< ended for good
};

[[nodiscard]] TENURE_API std::string_view toString(LeaseState state) noexcept;
TENURE_API std::ostream& operator<<(std::ostream& out, LeaseState state);

/// The knowledge about the present term. `anchor` is the instant before the last acknowledged write was sent (I2).
struct TENURE_API TermState {
  Instant anchor{};
  std::chrono::nanoseconds leadsFor{0};  ///< zero once the work was asked to stop
  std::chrono::nanoseconds validFor{0};
  FencingToken token{};

  [[nodiscard]] bool leadsAt(const Instant& now) const noexcept {
    return !token.isNone() && elapsedForHolder(anchor, now) < leadsFor;
  }
  [[nodiscard]] bool validAt(const Instant& now) const noexcept {
    return !token.isNone() && elapsedForHolder(anchor, now) < validFor;
  }
  /// Never negative.
  [[nodiscard]] std::chrono::nanoseconds remainingAt(const Instant& now) const noexcept;
};

/// Why a term ended.
enum class RevokeReason {
  stopped,           ///< stop() was called
  steppedDown,       ///< stepDown() was called, or an operator or a better candidate asked for it
  expired,           ///< not renewed in time: a pause, a starved machine, or work without progress
  lost,              ///< another candidate owns the record, or a resource has seen a higher token
  recordMissing,     ///< the record or its database is gone
  storeUnreachable,  ///< renewals failed until the deadline
  fatal,             ///< the work threw an exception
  notStarted,        ///< the work did not begin within one lease: no thread was left, or the executor did not run it
};

/// Their names, in logs, status, metrics and docs; in the order of the enumerators.
inline constexpr std::array<std::string_view, 8> revokeReasonNames{
    "stopped", "steppedDown", "expired", "lost", "recordMissing", "storeUnreachable", "fatal", "notStarted"};
static_assert(static_cast<std::size_t>(RevokeReason::notStarted) + 1 == revokeReasonNames.size());

[[nodiscard]] TENURE_API std::string_view toString(RevokeReason reason) noexcept;
/// The term was ended on purpose, so there was no failure.
[[nodiscard]] constexpr bool wasWanted(RevokeReason reason) noexcept {
  return reason == RevokeReason::stopped || reason == RevokeReason::steppedDown;
}
TENURE_API std::ostream& operator<<(std::ostream& out, RevokeReason reason);

/// A term that has ended.
struct TermEnd {
  RevokeReason reason;
  std::string detail;  ///< a sentence for people
  FencingToken token;  ///< of the term
};

/// The state of the record after the candidate stopped.
enum class ReleaseResult {
  notHeld,     ///< the candidate did not lead, or had lost the lease before
  released,    ///< the record is marked as released
  notDrained,  ///< the work did not end in time; the lease is left to expire
  /// The store did not answer in time, or an acquisition that it never answered may still arrive. The lease expires
  /// if the release did not arrive, or if the acquisition did.
  unknown,
  shared,  ///< of a lock: another handle of the term still holds it
};

[[nodiscard]] TENURE_API std::string_view toString(ReleaseResult result) noexcept;
TENURE_API std::ostream& operator<<(std::ostream& out, ReleaseResult result);

/// The leader, as this candidate last saw it.
struct LeaderInfo {
  /// The text in the record; nameOf() gives the part for people. In an election it may be an operator's pause, under
  /// which no candidate leads: pauseIn() of <tenure/election/listener.hpp> gives its author and its reason.
  std::string holder;
  FencingToken token;
  bool self{false};  ///< this candidate
  /// The address of the leader of an election, as it states it (CandidateOptions::address). Empty: it states
  /// none, or has not yet: its first renewal states it.
  std::string address{};
  /// CandidateOptions::priority of the leader, as it states it; 0 if it states none, or has not yet.
  unsigned priority{0};

  friend bool operator==(const LeaderInfo&, const LeaderInfo&) = default;
};

/// A record that is held, as a candidate saw it.
struct HolderInfo {
  std::string holder;  ///< the text in the record; nameOf() gives the part for people
  FencingToken token;
  std::chrono::milliseconds lease{0};        ///< as the record states it
  std::chrono::nanoseconds unchangedFor{0};  ///< since this candidate first saw this version, by its own clock
  std::int64_t acquiredAtMillis{0};          ///< by the holder's wall clock, for people; 0: not known

  friend bool operator==(const HolderInfo&, const HolderInfo&) = default;
};

/// A consistent picture of one candidate, for status displays.
struct LeaseStatus {
  LeaseState state{LeaseState::idle};
  std::optional<LeaderInfo> leader{};          ///< as last seen
  std::chrono::nanoseconds leaderSeenAgo{-1};  ///< age of that knowledge; negative: nothing seen yet
  /// This candidate has seen that leader renew, so it lived then. A record alone proves no life.
  bool leaderRenews{false};
  /// The last failure, even if it has passed since. If the driver creates the store's tables
  /// (Options::checksSchema), missing tables are not a failure until it is known whether it can create them.
  std::optional<StoreError> lastError{};
  std::chrono::nanoseconds lastErrorAgo{-1};
  /// The last answer to LeaseStore::ensureSchema. Empty: no answer yet, or another part asks (Options::checksSchema).
  std::optional<StoreResult<void>> schema{};
  bool inDoubt{false};
  bool ready{true};         ///< it may acquire the lease (LeaderElector::setReady); a leader may have turned unready
  bool workRunning{false};  ///< the work of this or an earlier term has not ended yet
  std::uint64_t terms{0};   ///< won since start
  /// How much faster CLOCK_MONOTONIC ran than CLOCK_MONOTONIC_RAW in the last measured minute, in parts per million;
  /// empty before the first measurement. If a time daemon follows good servers, this is the error of the machine's
  /// own oscillator. Beyond 500 (with the default clock margin) only the fence keeps two leaders apart, and a warning
  /// is logged.
  std::optional<double> clockRatePpm{};
  /// How late the last acknowledged heartbeat was: from when it was due until the store acknowledged a renewal. It
  /// includes the time that the process, the queue of the store and the store itself take. Zero: none yet. A heartbeat
  /// that was due before the term was won (because its acquisition waited that long) counts from when the term was won:
  /// it could not have been sent earlier. A lease whose heartbeat would come too late is given up at its deadline,
  /// whatever this says.
  std::chrono::nanoseconds heartbeatLag{0};
  std::chrono::nanoseconds worstHeartbeatLag{0};  ///< of all terms
  /// For how long this candidate still leaves the lease to others: it stepped down, or a try to take the lease failed.
  std::chrono::nanoseconds cooldown{0};
};

/// The outcome of one renewal that was sent.
enum class RenewalOutcome {
  acknowledged,  ///< the store applied it
  conflict,      ///< the record was another one; whether the lease is lost is found out by its content
  rejected,      ///< the store certainly did not apply it
  unknown,       ///< its reply was lost or late
};
inline constexpr std::size_t renewalOutcomes = 4;

[[nodiscard]] TENURE_API std::string_view toString(RenewalOutcome outcome) noexcept;

/// How many RevokeReasons there are.
inline constexpr std::size_t revokeReasons = revokeReasonNames.size();

/// Upper bounds of the histogram's buckets, in milliseconds. Times beyond the last are in one more bucket.
inline constexpr std::array<std::int64_t, 12> renewalTimeBounds{1,   2,   5,   10,    25,    50,
                                                                100, 250, 500, 1'000, 2'500, 5'000};

/// Every number only rises, for as long as the process lives.
struct LeaseCounts {
  std::uint64_t terms{0};                                  ///< won
  std::array<std::uint64_t, revokeReasons> revocations{};  ///< by RevokeReason
  std::array<std::uint64_t, renewalOutcomes> renewals{};   ///< by RenewalOutcome
  std::uint64_t doubts{0};                                 ///< begun
  std::uint64_t refusals{0};                               ///< Leadership::reportStaleToken
  /// Renewals that were answered, by the time from sending to answer; not cumulative.
  std::array<std::uint64_t, renewalTimeBounds.size() + 1> renewalTimes{};
  std::chrono::nanoseconds renewalTimeSum{0};
  std::chrono::nanoseconds leaderless{0};  ///< time in which it saw that the lease had no holder
  std::chrono::nanoseconds effective{0};   ///< time in which it led and its work was at work (reportEffective)

  friend bool operator==(const LeaseCounts&, const LeaseCounts&) = default;
};

/// Something that happened to a term.
struct TermEvent {
  enum class Kind {
    elected,
    revoked,
    doubtBegan,  ///< a renewal failed or was not answered
    doubtEnded,  ///< by a renewal; a doubt also ends with its term
    refused,     ///< a resource refused a write of the term (Leadership::reportStaleToken)
  };

  Kind kind{Kind::elected};
  std::int64_t atMillis{0};  ///< by the wall clock, for people
  FencingToken token{};      ///< of the term
  /// Only of `revoked`.
  std::optional<RevokeReason> reason{};
  std::string detail{};  ///< for people; at most maxTermEventDetail bytes

  friend bool operator==(const TermEvent&, const TermEvent&) = default;
};

inline constexpr std::size_t maxTermEventDetail = 160;
/// The most events that are kept of one elector. The oldest are dropped.
inline constexpr std::size_t maxTermEvents = 128;

[[nodiscard]] TENURE_API std::string_view toString(TermEvent::Kind kind) noexcept;

}  // namespace tenure
