// Internal: what an elector and a lock client have in common for each lease on which they are candidates.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "lockcore/driver/watchdog.hpp"
#include "lockcore/port/lease_store.hpp"
#include "lockcore/runtime/process_mark.hpp"
#include "lockcore/runtime/thread_pool.hpp"

namespace tenure {

/// Constant.
struct TENURE_API CandidateContext {
  std::shared_ptr<LeaseStore> store;
  std::weak_ptr<Scheduler> scheduler;  ///< only its own tasks may lock it: elsewhere its loop may be gone
  std::shared_ptr<const Clock> clock;
  Logger logger;
  std::string candidate;                   ///< its unique text
  Executor executor;                       ///< never throws
  std::shared_ptr<ThreadPool> stopTokens;  ///< where users' callbacks of stop tokens run, which may block
  std::shared_ptr<ThreadPool> callbacks;   ///< what `executor` is; null: the user's executor
  /// Null: the clock is not the system's. Whoever may win a term keeps what the term needs.
  std::shared_ptr<void> watchdog;
  ProcessMark mark{};

  /// `name`: the owner, for log lines. `executor` may be empty, and may throw. Throws std::system_error where the
  /// system has no thread or descriptor left that a term needs.
  [[nodiscard]] static std::shared_ptr<const CandidateContext> make(std::shared_ptr<LeaseStore> store,
                                                                    const std::shared_ptr<Scheduler>& scheduler,
                                                                    Logger logger, std::string candidate,
                                                                    Executor executor, std::string name);

  /// Has the watchdog keep the deadlines of a term that was won now. Only where the scheduler shows the system's time;
  /// where it shows another clock, deadlines are left to the scheduler (null).
  [[nodiscard]] std::shared_ptr<TermWatch> watch(WatchedTerm term) const;

  /// Why nothing ran a callback that was posted `waited` ago; empty: a thread takes it now. Tries again to start one.
  [[nodiscard]] std::optional<std::string> whyNothingRuns(std::chrono::milliseconds waited) const;

  struct LivenessSearch {
    std::string owner;  ///< for log lines
    std::chrono::nanoseconds patience;
    std::function<void(std::function<void()>)> onScheduler;  ///< runs a task there
  };
  /// Passes on the liveness file of this process, on a thread where file work may block, or inside this call if there
  /// is none. A store that throws, or cannot make the file, costs no more than the file: a crash then costs a lease. So
  /// does a system that gives no thread for it within `patience`.
  void findLivenessFile(const LivenessSearch& search, std::function<void(std::optional<LivenessFile>)> found) const;
};

}  // namespace tenure
