// The kinds of trouble of a simulated world. Each has a random stream of its own, so that leaving one out does not
// shift the others.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tenure::test {

enum class FaultKind : unsigned {
  // Of each message between a process and the store.
  loseRequest,
  loseReply,
  twiceRequest,
  twiceReply,
  lateRequest,
  lateReply,
  // Of each answer of the store.
  reject,         ///< not applied, transient
  throttle,       ///< not applied, throttled
  credentials,    ///< not applied
  misconfigured,  ///< not applied
  corrupt,        ///< the record is not understood
  unknown,        ///< applied or not, and answered with neither
  hideImage,      ///< a conflict that does not tell the record
  staleRead,      ///< a read shows an earlier record
  silentClient,   ///< no answer at all instead of a time-out (drawn for a run)
  outage,
  oneWay,  ///< a process's requests arrive, late and in any order, and no reply comes back, for a while
  // Of the record.
  erase,
  ttl,          ///< deleted, but only if nobody has written for two leases
  overwrite,    ///< somebody else's record is written over it without a condition
  foreign,      ///< a client of another make competes by the same protocol, without tokens
  loseCounter,  ///< the fencing counter is deleted; the record's copy is left
  operatorStepDown,
  // Of clocks.
  slew,      ///< MONOTONIC and BOOTTIME run up to 8.3 % wrong (drawn for a run)
  suspend,   ///< RAW and MONOTONIC stand still, BOOTTIME goes on
  freeze,    ///< the process and all of its clocks stand still: only the fence holds
  wildRate,  ///< RAW runs far more wrong than the guard covers: only the fence holds
  // Of a process.
  pause,
  crash,
  politeStop,
  stepDown,
  workFails,
  slowWork,
  stuckWork,  ///< no progress is reported any more
  lateTimer,
  // Of load and set-up.
  tokenTold,     ///< a resource tells of the highest token that it has seen
  hints,         ///< changes are told
  deathNotices,  ///< the end of a process is told (drawn for a run)
  mixedLeases,   ///< candidates are configured differently (drawn for a run)
  crowd,         ///< up to 50 candidates (drawn for a run)
  cutOff,        ///< a part of the candidates never reaches the store again when the rest heals (drawn for a run)
  // New ones come last: a kind's place is its random stream, and regressions name seeds.
  pauseInStep,  ///< right after the machine asked for something: a request is on its way, a callback is called
  crashInStep,
  deferred,         ///< answered with an error that says neither yes nor no, and applied a little later
  stopInStep,       ///< a polite stop soon after the machine asked for something
  changedLease,     ///< a holder asks for another lease duration
  manualHeartbeat,  ///< a candidate renews only when its owner asks, who may forget a term (drawn for a life)
  sighting,         ///< a candidate begins with what its process saw by another way a while ago
  newcomer,         ///< one starts just after the record was deleted, and has never seen it
  nonsenseToken,    ///< a resource tells of tokens that somebody made up
  lie,              ///< a middlebox answers a transaction of DynamoDB with a bare success, and nothing is stored
  locks,            ///< a process competes for locks, one candidacy of one term after another (drawn for a life)
  count
};

inline constexpr std::size_t faultKinds = static_cast<std::size_t>(FaultKind::count);

using FaultSet = std::bitset<faultKinds>;

[[nodiscard]] std::string_view toString(FaultKind kind) noexcept;
[[nodiscard]] std::optional<FaultKind> faultKindOf(std::string_view name) noexcept;

/// "loseReply,crash", "all", "none", "all-foreign-crash". Empty if a name is not known; `unknown` tells which.
[[nodiscard]] std::optional<FaultSet> faultsFrom(std::string_view list, std::string& unknown);
[[nodiscard]] std::string toString(const FaultSet& faults);

inline bool has(const FaultSet& faults, FaultKind kind) { return faults.test(static_cast<std::size_t>(kind)); }

}  // namespace tenure::test
