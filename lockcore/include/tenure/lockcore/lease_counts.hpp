// What a candidate has done since it is counted: numbers for metrics, and the events of its terms.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/fencing_token.hpp>
#include <tenure/lockcore/outcomes.hpp>

namespace tenure {

/// What became of one renewal that was sent.
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
struct TENURE_API LeaseCounts {
  std::uint64_t terms{0};                                  ///< won
  std::array<std::uint64_t, revokeReasons> revocations{};  ///< by RevokeReason
  std::array<std::uint64_t, renewalOutcomes> renewals{};   ///< by RenewalOutcome
  std::uint64_t doubts{0};                                 ///< begun
  std::uint64_t refusals{0};                               ///< Leadership::reportStaleToken
  /// Renewals that were answered, by the time from sending to answer; not cumulative.
  std::array<std::uint64_t, renewalTimeBounds.size() + 1> renewalTimes{};
  std::chrono::nanoseconds renewalTimeSum{0};
  std::chrono::nanoseconds leaderless{0};  ///< time in which it saw that nobody holds the lease

  friend bool operator==(const LeaseCounts&, const LeaseCounts&) = default;
};

/// Something that happened to a term.
struct TENURE_API TermEvent {
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
