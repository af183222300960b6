// What becomes of periods that were missed or overlap, and of runs that did not end well.
#pragma once

#include <chrono>
#include <cstddef>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_options.hpp>

namespace tenure {

/// What a crash may cost. No scheduler can promise exactly one: between the job's work and the note of its end there is
/// always a moment at which a crash leaves it unknown whether the job is done. Together with a fence that refuses the
/// work of older terms, `atLeastOnce` with work that may be repeated is as good.
enum class Guarantee {
  /// A run that was begun is never begun again, whatever became of it: it failed, crashed, or lost leadership.
  atMostOnce,
  /// A run without a good end is begun again: JobPolicy::mostAttempts, JobPolicy::backoff.
  atLeastOnce,
};

/// What happens with periods in which no run began, because nobody led or because an earlier run took long.
enum class Missed {
  skip,  ///< they are left out, and a period may begin only within JobPolicy::lateBy of its occurrence
  once,  ///< the current period begins at any time in it, and makes up for all that were missed before it
  all,   ///< they are run in order, at most JobPolicy::mostMissed, and then the current one
};

/// What happens if a run still goes on when the next period begins. No job runs twice at a time.
enum class Overlap {
  wait,  ///< the next period waits for its end, and then begins if JobPolicy::missed says so
  /// The stop token of the run fires if the next period could begin now; that begins once the run has ended. Not
  /// together with Missed::all, where each run that makes up for a missed period would be stopped at once.
  replace,
};

struct TENURE_API JobPolicy {
  Guarantee guarantee{Guarantee::atMostOnce};
  Missed missed{Missed::once};
  /// For Missed::skip: how long after its occurrence a period may still begin. 1 s .. 366 d.
  std::chrono::milliseconds lateBy{60'000};
  /// For Missed::all: the most missed periods that are run; if there were more, the earliest are left out. 1..1000.
  unsigned mostMissed{10};
  /// For Guarantee::atLeastOnce: how often one period is begun at most. After that it counts as failed. 1..1000.
  unsigned mostAttempts{10};
  /// For Guarantee::atLeastOnce: the pause before the second attempt. It doubles with each further one, up to 5 min.
  /// 0 .. 5 min.
  std::chrono::milliseconds backoff{1'000};

  friend bool operator==(const JobPolicy&, const JobPolicy&) = default;
};

/// The most jobs of one group. The ledgers of all its jobs are one text in the lease's record, and each begin and each
/// end of a run reads and writes all of it on the thread that renews the lease: some 70 ms for 64 jobs that are due at
/// once, and the square of that for more. For more jobs, use several groups.
inline constexpr std::size_t mostJobs = 64;

inline constexpr std::chrono::milliseconds longestBackoff = std::chrono::minutes{5};

/// Every fault of the policy, also of what its guarantee does not use.
[[nodiscard]] TENURE_API OptionFaults faultsOf(const JobPolicy& policy);

/// The pause before this attempt; the first one (1) has none.
[[nodiscard]] TENURE_API std::chrono::milliseconds pauseBefore(const JobPolicy& policy, unsigned attempt);

}  // namespace tenure
