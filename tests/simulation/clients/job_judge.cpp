#include "simulation/clients/job_judge.hpp"

#include <algorithm>

namespace tenure::test {

using namespace std::chrono_literals;
using std::chrono::sys_seconds;

namespace {

std::string textOf(sys_seconds time) { return std::to_string(time.time_since_epoch().count()); }

std::string nameOf(std::size_t job, const JobRun& run) {
  return jobKinds()[job].name + " of " + textOf(run.period) + ", attempt " + std::to_string(run.attempt) + ", token " +
         toString(run.term.fencingToken());
}

}  // namespace

const std::vector<JobKind>& jobKinds() {
  const auto repeated = [](Missed missed) { return JobPolicy{Guarantee::atLeastOnce, missed, 60s, 1000, 1000, 2s}; };
  const auto everyTenMinutes = Schedule::every(10min).value();
  static const std::vector<JobKind> kinds{
      {"skip", Schedule::every(7min).value(), {Guarantee::atMostOnce, Missed::skip, 60s}, Overlap::wait},
      {"once", everyTenMinutes, {Guarantee::atMostOnce, Missed::once}, Overlap::replace},
      {"all", everyTenMinutes, repeated(Missed::all), Overlap::wait},
      {"nightly", Schedule::cron("30 2 * * *", "Europe/Berlin").value(), repeated(Missed::once), Overlap::wait},
  };
  return kinds;
}

void JobJudge::begins(std::size_t job, const JobRun& run, const WallReading& wall) {
  ++runs_;
  const std::uint64_t token = run.term.fencingToken().value();
  if (!running_.emplace(job, token).second) broke_("beside", "two runs at once: " + nameOf(job, run));
  if (run.job != jobKinds()[job].name) broke_("job", "work of another job: " + nameOf(job, run));
  if (!mayBegin(job, run, wall))
    broke_("due", nameOf(job, run) + " is not what was due; the wall clock shows " + textOf(wall.now));
  Period& period = noted_[job][run.period];
  if (jobKinds()[job].policy.guarantee == Guarantee::atMostOnce && period.attempts > 0)
    broke_("twice", nameOf(job, run) + " was begun before");
  if (period.attempts >= run.attempt) broke_("attempt", nameOf(job, run) + " is no further one");
  if (period.good && period.goodToken == token) broke_("again", nameOf(job, run) + " had a good end in this term");
  period.attempts = run.attempt;
}

void JobJudge::ends(std::size_t job, const JobRun& run, bool good) {
  dies(job, run);
  Period& period = noted_[job][run.period];
  if (!good) return;
  period.good = true;
  period.goodToken = run.term.fencingToken().value();
}

/// A first attempt is of the period that the policy says, given what was begun before. What was decided shortly before
/// it began may have been decided in the period before.
bool JobJudge::mayBegin(std::size_t job, const JobRun& run, const WallReading& wall) const {
  const JobKind& kind = jobKinds()[job];
  const sys_seconds last = kind.schedule.latestAt(wall.now), first = kind.schedule.latestAt(wall.now - wall.slack);
  if (run.attempt > 1 || wall.wasSet) return true;
  if (kind.policy.missed == Missed::skip && wall.now - run.period > kind.policy.lateBy + wall.slack) return false;
  return isDue(job, run.period, last) || isDue(job, run.period, first);
}

bool JobJudge::isDue(std::size_t job, sys_seconds period, sys_seconds current) const {
  const JobKind& kind = jobKinds()[job];
  if (kind.policy.missed != Missed::all) return period == current;
  const auto noted = noted_.find(job);
  if (noted == noted_.end()) return period == current;
  const Periods& begun = noted->second;
  if (begun.count(current) != 0) return false;
  const auto next = begun.lower_bound(current);
  if (next == begun.begin()) return period == current;
  sys_seconds due = kind.schedule.after(std::prev(next)->first);
  const auto most = kind.policy.mostMissed * 10min;  // how far it goes back
  return period == std::max(due, current - most);
}

std::string JobJudge::missing(sys_seconds calm, sys_seconds now, bool alwaysRight) const {
  for (std::size_t job = 0; job < jobKinds().size(); ++job) {
    const JobKind& kind = jobKinds()[job];
    const auto noted = noted_.find(job);
    if (noted == noted_.end()) return kind.name + " was never run";
    const bool all = alwaysRight && kind.policy.missed == Missed::all;
    const sys_seconds since = all ? noted->second.begin()->first : calm;
    // The last one may go on, or be due just now.
    for (sys_seconds period = kind.schedule.after(since); period < kind.schedule.latestAt(now - 2min);
         period = kind.schedule.after(period)) {
      const auto found = noted->second.find(period);
      if (found == noted->second.end()) return kind.name + " of " + textOf(period) + " was not run";
    }
    if (kind.policy.guarantee == Guarantee::atMostOnce) continue;
    for (const auto& [period, what] : noted->second) {
      const bool replaced = kind.policy.missed != Missed::all && period != std::prev(noted->second.end())->first;
      if (!what.good && !replaced && period < kind.schedule.latestAt(now))
        return kind.name + " of " + textOf(period) + " has no good end";
    }
  }
  return {};
}

}  // namespace tenure::test
