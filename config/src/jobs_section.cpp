
#include <set>
#include <utility>

#include "election/jobs/src/job_faults.hpp"
#include "election/jobs/src/job_ranges.hpp"
#include "election/jobs/src/jobs_document.hpp"
#include "sections.hpp"

namespace tenure {
namespace {

constexpr const char* onlyOneLease =
    "cannot be given in a group with shards; jobs run under one lease, in a separate group";
constexpr const char* onlyWatches =
    "cannot be given together with candidate.mode observe; an observer never leads, so it runs no job";

}  // namespace

boost::system::result<Schedule, OptionFaults> scheduleOf(const JobConfig& job) {
  if (job.schedule.empty() && !job.per)
    return OptionFaults{{"schedule", "is missing; give it, such as schedule: \"0 3 * * *\", or per: 24h"}};
  if (!job.per) return Schedule::cron(job.schedule, job.timeZone);
  OptionFaults faults;
  if (!job.schedule.empty()) faults.push_back({"per", "cannot be given together with schedule; remove one of them"});
  if (job.timeZone != "UTC")
    faults.push_back({"timeZone", "cannot be given together with per, whose periods are counted in UTC; remove it"});
  auto every = Schedule::every(*job.per);
  if (!every) {
    for (OptionFault& fault : every.error()) faults.push_back({"per", std::move(fault.message), fault.outOfOwnRange});
  }
  if (!faults.empty()) return faults;
  return every;
}

}  // namespace tenure

namespace tenure::config {
namespace {

using std::chrono::milliseconds;

/// `access` gives the field of a JobConfig, const or not.
template <typename T, typename Access>
KeySpec jobKey(KeyText text, Codec<T> codec, Access access) {
  return keySpec<T>(
      std::move(text), std::move(codec), [access](auto& config) -> auto& { return access(config.jobs.back()); });
}

void addPeriodKeys(std::vector<KeySpec>& out) {
  out.push_back(jobKey<std::string>(
      {.path = "jobs.*.schedule",
       .fallback = "none",
       .example = "\"0 3 * * *\"",
       .about =
           "When the job runs: minute, hour, day of month, month and day of the week, as in crontab, or a word such "
           "as @daily. Each job has either schedule or per."},
      textCodec("five fields as in crontab"), [](auto& job) -> auto& { return job.schedule; }));
  Codec<milliseconds> length = durationCodec(JobRanges::every);
  length.allowed += ", in whole seconds";
  out.push_back(jobKey<milliseconds>(
      {.path = "jobs.*.per",
       .fallback = "off",
       .example = "24h",
       .about = "Instead of schedule: once in each period of this length. Periods begin at its multiples since 1970 in "
                "UTC, so 24h begin at midnight UTC."},
      std::move(length), [](auto& job) -> auto& { return job.per; }));
  out.push_back(jobKey<std::string>(
      {.path = "jobs.*.time_zone",
       .about = "The time zone of schedule: a name of the system's time-zone data, such as Europe/Berlin."},
      textCodec("the name of a time zone"), [](auto& job) -> auto& { return job.timeZone; }));
}

void addPolicyKeys(std::vector<KeySpec>& out) {
  out.push_back(jobKey<Guarantee>(
      {.path = "jobs.*.guarantee",
       .about = "How often a period may be started: at_most_once never starts it again, whatever became of its run; "
                "at_least_once starts it again until a run succeeds."},
      choiceCodec<Guarantee>({{"at_most_once", Guarantee::atMostOnce}, {"at_least_once", Guarantee::atLeastOnce}}),
      [](auto& job) -> auto& { return job.policy.guarantee; }));
  out.push_back(jobKey<Missed>(
      {.path = "jobs.*.missed",
       .about = "How missed periods are treated: skip leaves them out; once runs the job at any time in the current "
                "period, which makes up for all before it; all runs them in order."},
      choiceCodec<Missed>({{"skip", Missed::skip}, {"once", Missed::once}, {"all", Missed::all}}),
      [](auto& job) -> auto& { return job.policy.missed; }));
  out.push_back(jobKey<milliseconds>(
      {.path = "jobs.*.late_by", .about = "With missed: skip, how long after its start a period may still be run."},
      durationCodec(JobRanges::lateBy), [](auto& job) -> auto& { return job.policy.lateBy; }));
  out.push_back(jobKey<unsigned>(
      {.path = "jobs.*.most_missed",
       .about = "With missed: all, how many missed periods are run; if there were more, the earliest are left out."},
      wholeNumberCodec(JobRanges::mostMissed), [](auto& job) -> auto& { return job.policy.mostMissed; }));
  out.push_back(jobKey<unsigned>(
      {.path = "jobs.*.most_attempts",
       .about = "With guarantee: at_least_once, how often one period is started; after that it counts as failed."},
      wholeNumberCodec(JobRanges::mostAttempts), [](auto& job) -> auto& { return job.policy.mostAttempts; }));
  out.push_back(jobKey<milliseconds>(
      {.path = "jobs.*.backoff",
       .about = "With guarantee: at_least_once, the pause before the second attempt. It doubles with each further one, "
                "up to 5m. The first pause of a new term is this value."},
      durationCodec(JobRanges::backoff), [](auto& job) -> auto& { return job.policy.backoff; }));
  out.push_back(jobKey<Overlap>(
      {.path = "jobs.*.overlap",
       .about = "If a period is due while the previous run continues: wait lets that run end; replace asks it to "
                "stop first (for SingletonScheduler, and not with missed: all)."},
      choiceCodec<Overlap>({{"wait", Overlap::wait}, {"replace", Overlap::replace}}),
      [](auto& job) -> auto& { return job.overlap; }));
}

OptionFaults faultsOfJob(const JobConfig& job) {
  OptionFaults faults;
  const std::string path = pathOfJob(job.name);
  if (auto fault = faultOfNewJobName(job.name)) faults.push_back({path, *std::move(fault)});
  const auto add = [&](const OptionFaults& some) {
    for (const OptionFault& each : some) faults.push_back({path + '.' + each.field, each.message, each.outOfOwnRange});
  };
  if (const auto schedule = scheduleOf(job); !schedule) add(schedule.error());
  add(faultsOf(job.policy));
  add(faultsOfOverlap(job.overlap, job.policy));
  return faults;
}

/// The ledger of the jobs is in the lease's record.
bool releaseDeletesLedger(const GroupConfig& config) {
  const auto* table = std::get_if<DynamoDbStoreOptions>(&config.store);
  return table != nullptr && table->deleteOnRelease;
}

}  // namespace

void addJobKeys(std::vector<KeySpec>& out) {
  addPeriodKeys(out);
  addPolicyKeys(out);
}

GroupConfig configOf(const JobConfig& job) {
  GroupConfig config;
  config.jobs.push_back(job);
  return config;
}

std::string pathOfJob(std::string_view name) { return "jobs." + shownKey(name); }

OptionFaults faultsOfJobs(const GroupConfig& config) {
  OptionFaults faults;
  if (config.jobs.empty()) return faults;
  if (!config.options.shards.shardNames().empty()) faults.push_back({"jobs", onlyOneLease});
  if (config.options.candidate.mode == CandidateMode::observe) faults.push_back({"jobs", onlyWatches});
  if (releaseDeletesLedger(config))
    faults.push_back({"store.deleteOnRelease",
                      "cannot be true in a group with jobs; the note of which runs were begun is in the item that a "
                      "release would delete"});
  for (OptionFault& fault : faultsOfCount(config.jobs.size())) faults.push_back(std::move(fault));
  std::set<std::string_view> names;
  for (const JobConfig& job : config.jobs) {
    if (!names.insert(job.name).second) faults.push_back({pathOfJob(job.name), "is given twice"});
    const OptionFaults ofJob = faultsOfJob(job);
    faults.insert(faults.end(), ofJob.begin(), ofJob.end());
  }
  return faults;
}

}  // namespace tenure::config
