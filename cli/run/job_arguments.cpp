#include "job_arguments.hpp"

#include <algorithm>
#include <vector>

#include "config/src/store_types.hpp"
#include "config/src/words.hpp"
#include "election/jobs/src/jobs_document.hpp"
#include "lockcore/port/quoted_text.hpp"

namespace tenure::cli {
namespace {

constexpr const char* defaultName = "job";

JobConfig configOf(const JobArguments& arguments) {
  JobConfig job;
  job.name = arguments.name.empty() ? defaultName : arguments.name;
  job.per = arguments.per;
  job.schedule = arguments.schedule;
  if (!arguments.timeZone.empty()) job.timeZone = arguments.timeZone;
  if (arguments.guarantee == "at_least_once") job.policy.guarantee = Guarantee::atLeastOnce;
  if (arguments.missed == "skip") job.policy.missed = Missed::skip;
  if (arguments.missed == "all") job.policy.missed = Missed::all;
  return job;
}

std::string optionAtFault(const OptionFault& fault) {
  return fault.field == "timeZone" ? "--time-zone" : fault.field == "per" ? "--per" : "--schedule";
}

std::string scheduleOption(const JobArguments& arguments) { return arguments.per ? "--per" : "--schedule"; }

/// An option that says nothing without a schedule.
std::string withoutSchedule(const JobArguments& arguments) {
  if (arguments.givesSchedule()) return {};
  if (!arguments.timeZone.empty()) return "--time-zone";
  if (!arguments.guarantee.empty()) return "--guarantee";
  return arguments.missed.empty() ? "" : "--missed";
}

std::string noSuchJob(const std::string& name, const GroupConfig& config) {
  const std::string remedy =
      "say when the job runs: there, or by --per 24h or --schedule \"0 3 * * *\" with --job " + name;
  if (config.jobs.empty()) return ": there is no section jobs with a job " + inQuotes(name) + "; " + remedy;
  std::vector<std::string> names;
  for (const JobConfig& job : config.jobs) names.push_back(job.name);
  const auto meant = config::closest(name, names);
  return ": jobs has no job " + inQuotes(name) +
         (meant ? config::didYouMean(meant) : "; it has " + config::listed(names) + "; or " + remedy);
}

}  // namespace

std::string faultOf(const JobArguments& arguments) {
  if (arguments.per && !arguments.schedule.empty()) {
    return "--per and --schedule both say when the job runs; give one of them";
  }
  if (const std::string option = withoutSchedule(arguments); !option.empty()) {
    if (!arguments.name.empty()) {
      return option + " cannot be given for a job of the group's file; write it there, under jobs." + arguments.name;
    }
    return option + " is for a periodic job; say when it runs, by --per 24h or --schedule \"0 3 * * *\"";
  }
  if (arguments.per && !arguments.timeZone.empty()) {
    return "--time-zone goes with --schedule; --per counts its periods in UTC";
  }
  if (!arguments.name.empty()) {
    if (const auto fault = faultOfNewJobName(arguments.name)) return "--job: " + *fault;
  }
  if (!arguments.givesSchedule()) return {};
  const auto schedule = scheduleOf(configOf(arguments));
  if (schedule) return {};
  const OptionFaults faults = schedule.error();
  return optionAtFault(faults.front()) + ": " + faults.front().message;
}

ChosenJob chosenJob(const JobArguments& arguments, const GroupConfig& config, const std::string& file) {
  if (!arguments.givesSchedule() && arguments.name.empty()) return {};
  JobConfig job = configOf(arguments);
  const auto inFile =
      std::find_if(config.jobs.begin(), config.jobs.end(), [&](const JobConfig& one) { return one.name == job.name; });
  if (arguments.givesSchedule() && inFile != config.jobs.end()) {
    // Copies that name the periods of one job in two ways would run it twice.
    return {{},
            file + ": jobs." + job.name + " says when this job runs, and " + scheduleOption(arguments) +
                " does so too; leave out " + scheduleOption(arguments) + ", or name another job by --job"};
  }
  if (!arguments.givesSchedule()) {
    if (inFile == config.jobs.end()) return {{}, file + noSuchJob(job.name, config)};
    job = *inFile;
  }
  if (job.overlap == Overlap::replace) {
    return {{},
            file + ": jobs." + job.name +
                ".overlap is replace, but tenure run lets a run end before the next one begins; write wait there"};
  }
  // The ledger of the job's runs is in the record.
  const auto& whyForgets = config::typeOf(config.store).whyForgets;
  if (const std::string why = whyForgets ? whyForgets(config.store) : ""; !why.empty()) {
    return {{},
            file + ": " + why +
                ", but the record says which periods of the job were run, and each release would delete it; take that "
                "line out"};
  }
  return {TermLedger::Job{job.name, *scheduleOf(job), job.policy}, {}};
}

}  // namespace tenure::cli
