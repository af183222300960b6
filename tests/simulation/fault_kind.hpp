// The kinds of faults of a simulated world. Each kind has its own random stream, so that leaving one out does not shift
// the others.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tenure::test {

enum class FaultKind : unsigned {
  // Drawn for each message between a process and the store.
  loseRequest,
  loseReply,
  twiceRequest,
  twiceReply,
  lateRequest,
  lateReply,
  // Drawn for each answer of the store.
  reject,         ///< not applied, transient
  throttle,       ///< not applied, throttled
  credentials,    ///< not applied
  misconfigured,  ///< not applied
  corrupt,        ///< the record cannot be understood
  unknown,        ///< applied or not; the answer says neither
  hideImage,      ///< a conflict whose answer does not show the record
  staleRead,      ///< a read shows an earlier record
  silentClient,   ///< no answer at all instead of a time-out (drawn for a run)
  outage,
  oneWay,  ///< for a while a process's requests arrive, late and in any order, but it gets no replies
  // Faults of the record.
  erase,
  ttl,          ///< deleted, but only if nobody has written for two lease durations
  overwrite,    ///< somebody else's record replaces it, without a condition
  foreign,      ///< a foreign client (another implementation of the same protocol, without tokens) competes
  loseCounter,  ///< the fencing counter is deleted; the copy in the record stays
  operatorStepDown,
  // Faults of clocks.
  slew,      ///< MONOTONIC and BOOTTIME run up to 8.3 % wrong (drawn for a run)
  suspend,   ///< RAW and MONOTONIC stand still, BOOTTIME continues
  freeze,    ///< the process and all of its clocks stand still: only the fence holds
  wildRate,  ///< RAW runs far more wrong than the guard covers: only the fence holds
  // Faults of a process.
  pause,
  crash,
  politeStop,
  stepDown,
  workFails,
  slowWork,
  stuckWork,  ///< the work reports no progress any more
  lateTimer,
  // Load and configuration.
  tokenTold,     ///< a resource reports the highest token that it has seen
  hints,         ///< changes are notified
  deathNotices,  ///< the store reports the death of a process (drawn for a run)
  mixedLeases,   ///< candidates are configured differently (drawn for a run)
  crowd,         ///< up to 50 candidates (drawn for a run)
  cutOff,        ///< some candidates never reach the store again when the others recover (drawn for a run)
  // New ones come last: a kind's position selects its random stream, and regressions are seeds.
  pauseInStep,  ///< right after the machine asked for something: a request is under way, or a callback is called
  crashInStep,
  deferred,         ///< the answer is an error that says neither yes nor no, and the write is applied a little later
  stopInStep,       ///< a regular stop soon after the machine asked for something
  changedLease,     ///< a holder asks for another lease duration
  manualHeartbeat,  ///< a candidate renews only when its owner asks; the owner may forget a term (drawn for a life)
  sighting,         ///< a candidate begins with what another part of its process saw a while ago
  newcomer,         ///< a candidate that starts just after the record was deleted, and has never seen it
  nonsenseToken,    ///< a resource reports tokens that somebody invented
  lie,              ///< a middlebox answers a transaction of DynamoDB with a bare success, and nothing is stored
  locks,            ///< a process competes for locks, one OneTerm candidacy after another (drawn for a life)
  refusedData,      ///< the work asks for data in the record, and the store refuses them for good (drawn for its work)
  failover,         ///< a standby is promoted; the last commits may be lost
  fork,             ///< the old primary lives on for a while and answers some of the processes: only the fence holds
  cancelledWait,    ///< a commit is answered although its synchronous standby has not confirmed it
  staleWriters,     ///< work of a term that is over writes on, and overlapping transactions hold the term (drawn for a
                    ///< run)
  streamLies,       ///< a stream of changes keeps back, repeats and invents, stands still, and ends
  unready,          ///< a candidate may not be elected for a while
  namedSuccessor,   ///< whoever is to step down is told for whom; that candidate may be dead
  count
};

inline constexpr std::size_t faultKinds = static_cast<std::size_t>(FaultKind::count);

using FaultSet = std::bitset<faultKinds>;

[[nodiscard]] std::string_view toString(FaultKind kind) noexcept;
[[nodiscard]] std::optional<FaultKind> faultKindOf(std::string_view name) noexcept;

/// "loseReply,crash", "all", "none", "all-foreign-crash". Empty if a name is not known; `unknown` is that name.
[[nodiscard]] std::optional<FaultSet> faultsFrom(std::string_view list, std::string& unknown);
[[nodiscard]] std::string toString(const FaultSet& faults);

inline bool has(const FaultSet& faults, FaultKind kind) { return faults.test(static_cast<std::size_t>(kind)); }

}  // namespace tenure::test
