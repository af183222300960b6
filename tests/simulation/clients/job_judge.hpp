// The ledger that the simulation keeps of scheduled jobs: what their work itself notes. It has no bound, forgets
// nothing and knows true time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <tenure/jobs/job_ledger.hpp>

namespace tenure::test {

/// A job of the simulation, the same in all processes.
struct JobKind {
  std::string name;
  Schedule schedule;
  JobPolicy policy;
  Overlap overlap;
};
[[nodiscard]] const std::vector<JobKind>& jobKinds();

/// How much the wall clock of the process says at the moment, and whether it was set shortly before.
struct WallReading {
  std::chrono::sys_seconds now;
  std::chrono::seconds slack;  ///< how long before this the run may have been decided
  bool wasSet;
};

class JobJudge {
 public:
  using Broke = std::function<void(std::string_view oracle, const std::string& what)>;
  explicit JobJudge(Broke broke) : broke_{std::move(broke)} {}

  void begins(std::size_t job, const JobRun& run, const WallReading& wall);
  void ends(std::size_t job, const JobRun& run, bool good);
  /// The process of a run has died.
  void dies(std::size_t job, const JobRun& run) { running_.erase({job, run.term.fencingToken().value()}); }
  [[nodiscard]] bool isRunning(std::size_t job, FencingToken token) const {
    return running_.count({job, token.value()}) != 0;
  }

  /// What must have run, and has not. `calm`: from then on there were no faults, and all wall clocks were right.
  /// `alwaysRight`: they were before, too.
  [[nodiscard]] std::string missing(std::chrono::sys_seconds calm, std::chrono::sys_seconds now,
                                    bool alwaysRight) const;
  [[nodiscard]] std::uint64_t runs() const noexcept { return runs_; }

 private:
  struct Period {
    unsigned attempts{0};
    bool good{false};
    std::uint64_t goodToken{0};
  };
  using Periods = std::map<std::chrono::sys_seconds, Period>;

  [[nodiscard]] bool mayBegin(std::size_t job, const JobRun& run, const WallReading& wall) const;
  [[nodiscard]] bool isDue(std::size_t job, std::chrono::sys_seconds period, std::chrono::sys_seconds current) const;

  const Broke broke_;
  std::map<std::size_t, Periods> noted_{};
  std::set<std::pair<std::size_t, std::uint64_t>> running_{};
  std::uint64_t runs_{0};
};

}  // namespace tenure::test
