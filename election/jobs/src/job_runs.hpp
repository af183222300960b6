// The ledger of one job: which periods were begun, and by whom. A pure value: no I/O, no threads, no clock.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <variant>

#include <tenure/jobs/job_ledger.hpp>
#include <tenure/jobs/schedule.hpp>
#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_record.hpp>

namespace tenure {

/// Begin this period, as this attempt. `pause` is how long to wait before it, counted by a steady clock from the end of
/// the attempt before, or from the start of the own term if that attempt was of an earlier one. Ask again after a
/// pause.
struct BeginRun {
  std::chrono::sys_seconds period;
  unsigned attempt{1};
  std::chrono::milliseconds pause{0};

  friend bool operator==(const BeginRun&, const BeginRun&) = default;
};
/// Nothing is due before the wall clock shows this. It may be set meanwhile, so ask again at least every few seconds,
/// and do not wait on one long timer.
struct WaitUntil {
  std::chrono::sys_seconds time;

  friend bool operator==(const WaitUntil&, const WaitUntil&) = default;
};
/// A run of the own term has no end yet.
struct RunIsOpen {
  friend bool operator==(const RunIsOpen&, const RunIsOpen&) = default;
};
using JobDecision = std::variant<BeginRun, WaitUntil, RunIsOpen>;

struct RunStart {
  FencingToken token;  ///< the own term's
  std::string holder;  ///< the copy or its host, for people; longer names are cut
  std::chrono::sys_seconds now;
};

struct RunEnd {
  FencingToken token;  ///< the own term's
  RunOutcome outcome{RunOutcome::succeeded};
  std::optional<int> exitCode{};
  std::chrono::milliseconds duration{0};  ///< by a steady clock
};

enum class Forgotten {
  done,
  notThere,  ///< the period was not begun
  running,   ///< a run of the period goes on in the term that was named; stop it first
};

/// The ledger of one job. It lives in the record of the lease. `begin` counts once the renewal that carries the ledger
/// was acknowledged, and the job starts after that; `end` goes the same way. The write is conditioned on the term, so
/// of two copies only the leader's gets through.
///
/// Periods are named by instants of wall clocks, and nothing else is decided by one: who may begin a run is decided by
/// the lease, whether its period was begun by this ledger, and pauses are measured by steady clocks. A clock that is
/// wrong makes a copy begin a wrong period. It never makes two copies begin one.
///
/// At most once. A period that was begun is refused from then on, unless the ledger had to forget it. It holds at most
/// 12 spans. When there is one more, it closes the shortest gap between two of them, and the periods in that gap count
/// as missed from then on. Only if all gaps are longer than 180 days, it forgets the span in which no period was begun
/// for the longest time. That takes 13 spans with 12 such gaps, which together are longer than 2160 days. So: while
/// all periods that were ever begun lie within 2160 days (almost six years), none is forgotten, whatever the clocks
/// did; and a ledger of any age forgets none before there are 12 gaps in it of more than 180 days each, in which
/// nothing was begun. Clocks that go forward and back by an hour, or by a year, make no such number of gaps. Clocks
/// that show thirteen different years may repeat what was begun in the first of them.
///
/// No high-water mark. A period that was not begun is refused only if it lies in a gap that was closed: between two
/// begun periods that are at most 180 days apart, while there were 11 other gaps. The shortest gap before the period
/// that begins goes first, because by its clock nothing in it can come any more; then the shortest after it. So this
/// takes twelve stretches in which nothing began, and a clock that was ahead or goes back: then some periods of the gap
/// do not run. A clock that was a year ahead leaves a gap of almost a year. It blocks the periods that began under
/// it and nothing else.
///
/// A change of the schedule, of its time zone or of the system's time-zone data names periods anew: one that was begun
/// under its old name may begin under the new one.
class TENURE_API JobRuns {
 public:
  static constexpr std::size_t mostSpans = 12;
  static constexpr std::size_t mostPastRuns = 8;
  static constexpr std::size_t mostHolderBytes = 64;

  /// Nothing was begun, so nothing was missed.
  JobRuns() = default;
  /// Throws std::invalid_argument if `faultOf(history)` has something to say.
  explicit JobRuns(JobHistory history);
  /// Says in one sentence what no ledger could have written.
  [[nodiscard]] static std::optional<std::string> faultOf(const JobHistory& history);

  /// What the leader of term `ownToken` has to do while its wall clock shows `now`. The ledger is from the record of
  /// that very term, so an open run of any other token is dead: its process has ended, or the fence refuses it. Which
  /// token is greater says nothing, because operators may let tokens fall (`tenure fence recover`).
  ///
  /// - Guarantee::atLeastOnce: a run without a good end is begun again, until mostAttempts. With Missed::skip and
  ///   Missed::once another one that is due takes its place; with Missed::all it goes first.
  /// - Then, by JobPolicy::missed, a period that was not begun.
  /// - Missed::all counts as missed what lies between the last begun period before the current one and the current one.
  ///   If the current one was begun, nothing was missed.
  [[nodiscard]] JobDecision decide(std::chrono::sys_seconds now, const Schedule& schedule, const JobPolicy& policy,
                                   FencingToken ownToken) const;

  /// Notes that a run begins. False, and nothing is changed, if no `decide` can have said so: a first attempt of a
  /// period that was begun, a later attempt that does not follow the open run's, a run of the own term that has no end.
  /// An open run of another term counts as lost from here on.
  [[nodiscard]] bool begin(const BeginRun& run, const RunStart& start, const Schedule& schedule);

  /// Notes how the open run of this term ended; the outcome is not `lost`. False, and nothing is changed, if this term
  /// has no run without an end.
  [[nodiscard]] bool end(const RunEnd& end);

  /// For operators: this period was not begun. If it is the current one, it begins again; an earlier one does only with
  /// Missed::all, if none after it was begun. `liveToken` is that of the present term; none: nobody leads.
  [[nodiscard]] Forgotten forget(std::chrono::sys_seconds period, FencingToken liveToken);

  /// Takes over what this process knows of the ledger from a term of its own, because the store has lost that: what
  /// was begun there was begun, and the later runs are the ones of the higher token.
  void learn(const JobRuns& known, const Schedule& schedule);
  /// What `earlier` noted last is noted here as well. If nobody else has led since, this is no older copy of it.
  [[nodiscard]] bool hasLastOf(const JobRuns& earlier) const;
  /// The store may have lost writes of this ledger, and nobody knows whether `current`, the period of the wall clock,
  /// and those since the last one that was begun, were begun by a term that is lost. They count as begun, and `current`
  /// as a run that was lost. False, and nothing is changed, if it was begun by this ledger.
  [[nodiscard]] bool doubt(std::chrono::sys_seconds current, const RunStart& seen, const Schedule& schedule);

  /// Whether the period was begun or counts as missed.
  [[nodiscard]] bool contains(std::chrono::sys_seconds period) const;
  /// This term has begun a run that has no end yet.
  [[nodiscard]] bool isOpenIn(FencingToken term) const;

  [[nodiscard]] const JobHistory& history() const noexcept { return history_; }

  friend bool operator==(const JobRuns&, const JobRuns&) = default;

 private:
  [[nodiscard]] std::optional<BeginRun> anotherAttempt(std::chrono::sys_seconds current, const JobPolicy& policy,
                                                       FencingToken ownToken) const;
  [[nodiscard]] std::optional<std::chrono::sys_seconds> duePeriod(std::chrono::sys_seconds now,
                                                                  const Schedule& schedule,
                                                                  const JobPolicy& policy) const;
  [[nodiscard]] std::chrono::sys_seconds firstMissed(std::chrono::sys_seconds current, const Schedule& schedule,
                                                     unsigned most) const;
  [[nodiscard]] bool mayBegin(const BeginRun& run, FencingToken token) const;
  void keep(PastRun run);

  JobHistory history_;
};

}  // namespace tenure
