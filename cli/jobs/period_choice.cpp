#include "period_choice.hpp"

#include <algorithm>

#include "cli/text/period_text.hpp"
#include "config/src/words.hpp"
#include "lockcore/port/quoted_text.hpp"

namespace tenure::cli {
namespace {

using std::chrono::sys_seconds;

std::string faultBy(const Schedule& schedule, sys_seconds period, const std::string& job) {
  const sys_seconds before = schedule.latestAt(period);
  if (before == period) return {};
  return periodText(period) + " is not a period of job " + inQuotes(job) + "; the one before it is " +
         periodText(before) + ", and the one after it is " + periodText(schedule.after(period));
}

/// Each once, the latest run first.
std::vector<std::string> listedIn(const JobHistory& history) {
  std::vector<std::string> periods;
  const auto add = [&](sys_seconds period) {
    const std::string text = periodText(period);
    if (std::find(periods.begin(), periods.end(), text) == periods.end()) periods.push_back(text);
  };
  if (history.open) add(history.open->period);
  for (auto run = history.past.rbegin(); run != history.past.rend(); ++run) add(run->period);
  return periods;
}

}  // namespace

std::string faultOfChoice(sys_seconds period, const std::string& job, const JobRuns& ledger, const GroupConfig& config,
                          const std::string& file) {
  const auto inFile =
      std::find_if(config.jobs.begin(), config.jobs.end(), [&](const JobConfig& each) { return each.name == job; });
  if (inFile != config.jobs.end()) return faultBy(*scheduleOf(*inFile), period, job);
  const std::vector<std::string> listed = listedIn(ledger.history());
  if (!ledger.contains(period) || std::find(listed.begin(), listed.end(), periodText(period)) != listed.end())
    return {};
  return periodText(period) + " cannot be forgotten: " + file + " does not have job " + inQuotes(job) +
         ", so only the periods that tenure jobs lists can" + (listed.empty() ? "" : ": " + config::listed(listed));
}

}  // namespace tenure::cli
