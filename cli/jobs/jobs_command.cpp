// `tenure jobs`: the runs that the leader's record knows, and what makes it forget one.
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>

#include <tenure/lockcore/candidate_id.hpp>
#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/lock_client.hpp>

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/group/config_file.hpp"
#include "cli/group/store_calls.hpp"
#include "cli/operate/operator_lease.hpp"
#include "cli/text/exit_codes.hpp"
#include "cli/text/lease_view.hpp"
#include "cli/text/output.hpp"
#include "cli/text/period_text.hpp"
#include "config/src/words.hpp"
#include "election/jobs/src/jobs_in_document.hpp"
#include "jobs_view.hpp"
#include "period_choice.hpp"

namespace tenure::cli {
namespace {

using std::chrono::sys_seconds;

constexpr std::chrono::milliseconds lookPeriod{200};

struct JobsArguments {
  std::string config;
  bool json{false};
};

struct JobsForgetArguments {
  std::string config;
  std::optional<sys_seconds> period{};  ///< empty: all of them, and the job itself
  std::string job{};                    ///< empty: the only one that has a ledger
  bool yes{false};
  std::chrono::milliseconds wait{60'000};
};

int tellError(const LeaseOfGroup& lease, const StoreError& error) {
  complain(faultText(*lease.store, error));
  return exitStore;
}

/// The record and the ledgers in it.
struct Found {
  std::optional<LeaseRecord> record;
  JobsDocument ledgers;
};

/// An error also if the ledgers are not understood. A warning goes to stderr.
StoreResult<Found> look(const LeaseOfGroup& lease) {
  StoreResult<LeaseLook> seen = lookNow(*lease.store, lease.key);
  if (!seen) return seen.error();
  if (!seen->warning.empty()) complain("lease " + toString(lease.key) + ": " + seen->warning);
  StoreResult<JobsDocument> ledgers = jobsIn(seen->record ? seen->record->data : std::string{});
  if (!ledgers) return ledgers.error();
  return Found{std::move(seen->record), *std::move(ledgers)};
}

sys_seconds wallNow() {
  return std::chrono::floor<std::chrono::seconds>(
      std::chrono::sys_time<std::chrono::milliseconds>{std::chrono::milliseconds{wallClockMillisForDisplay()}});
}

int execute(const JobsArguments& arguments) {
  const auto config = loadUnshardedOrComplain(arguments.config);
  if (!config) return exitUsage;
  const LeaseOfGroup lease = leaseOf(*config);
  const StoreResult<Found> found = look(lease);
  if (!found) return tellError(lease, found.error());
  const std::vector<JobView> jobs =
      jobViewsOf(found->ledgers, config->jobs, found->record ? &*found->record : nullptr, wallNow());
  if (!arguments.json) {
    if (jobs.empty()) complain("lease " + toString(lease.key) + " knows no run of any job");
    return say(toTable(jobs, arguments.config, stdoutHasColours())) ? exitOk : exitFailed;
  }
  std::string lines;
  for (const JobView& job : jobs) lines += toJson(job, lease.key.name, lease.store->describe());
  return say(lines) ? exitOk : exitFailed;
}

/// What is to be forgotten, and where.
struct ForgetRequest {
  LeaseOfGroup lease;
  LeaseOptions timing;
  std::string job;
  std::optional<sys_seconds> period;  ///< empty: the job's whole ledger

  [[nodiscard]] std::string what() const {
    return (period ? "period " + periodText(*period) : std::string{"the whole ledger"}) + " of job " + inQuotes(job);
  }
};

/// `liveToken`: of the present term; none: nobody leads.
Forgotten forgetIn(JobsDocument& ledgers, const ForgetRequest& request, FencingToken liveToken) {
  const auto job = ledgers.jobs.find(request.job);
  if (job == ledgers.jobs.end()) return Forgotten::notThere;
  if (request.period) return job->second.forget(*request.period, liveToken);
  if (!liveToken.isNone() && job->second.isOpenIn(liveToken)) return Forgotten::running;
  ledgers.jobs.erase(job);
  return Forgotten::done;
}

/// The job that was given, or the only one. Empty: there is none, and the reason was reported on stderr.
std::optional<std::string> jobMeant(const std::string& given, const LeaseOfGroup& lease, const JobsDocument& ledgers) {
  if (!given.empty() && ledgers.jobs.count(given) != 0) return given;
  if (given.empty() && ledgers.jobs.size() == 1) return ledgers.jobs.begin()->first;
  std::vector<std::string> names;
  for (const auto& [name, ledger] : ledgers.jobs) names.push_back(inQuotes(name));
  const std::string has = names.empty() ? " knows no run of any job" : " knows runs of " + config::listed(names);
  complain("lease " + toString(lease.key) + has +
           (given.empty() ? "; name one with --job" : ", and none of " + inQuotes(given)) + ". Nothing was done");
  return std::nullopt;
}

/// Empty: the period may be forgotten. Else what the command exits with; the reason was reported.
std::optional<int> codeOf(Forgotten answer, const ForgetRequest& request) {
  switch (answer) {
    case Forgotten::done:
      return std::nullopt;
    case Forgotten::notThere:
      complain(request.what() + " was not started, so there is nothing to forget; see tenure jobs");
      return exitFailed;
    case Forgotten::running:
      break;
  }
  complain((request.period ? request.what() : "job " + inQuotes(request.job)) +
           " is being run. Stop the run first, as with tenure resign, and then give the command again. Nothing was "
           "done");
  return exitBusy;
}

/// What the store shows once the lease of `seen` has passed, or as soon as another version is there.
StoreResult<Found> lookAfter(const LeaseOfGroup& lease, const LeaseRecord& seen) {
  for (const Instant began = readClock();;) {
    std::this_thread::sleep_for(lookPeriod);  // lint-allow(sleep): a pause between two looks
    const bool isOver = elapsedForChallenger(began, readClock()) >= seen.leaseDuration;
    const ReadOutcome record = readNow(*lease.store, lease.key);
    const bool isOther = record && !(*record && (*record)->version == seen.version);
    if (isOver || isOther) return look(lease);
  }
}

/// The same, asked of a copy before the leader is asked to step down: no leader must end for a command that then
/// changes nothing. It is asked once more under the lease, because the record may change until then. A run is under way
/// if its leader renews: the work of one that does not has ended with its lease, or a successor takes over from it.
std::optional<int> refusedNow(const ForgetRequest& request, const Found& found) {
  if (const auto code = refusedByPause(found.record)) return *code;
  const FencingToken live = isHeld(found.record) ? found.record->token : FencingToken{};
  JobsDocument ledgers = found.ledgers;
  const Forgotten answer = forgetIn(ledgers, request, live);
  if (answer != Forgotten::running) return codeOf(answer, request);
  const StoreResult<Found> later = lookAfter(request.lease, *found.record);
  if (!later) return tellError(request.lease, later.error());
  if (!isHeld(later->record) || later->record->token != live) return refusedNow(request, *later);
  const bool renews = !(later->record->version == found.record->version);
  return codeOf(renews ? answer : forgetIn(ledgers, request, FencingToken{}), request);
}

std::string consequencesOf(const ForgetRequest& request, const Found& found) {
  std::string text =
      request.what() + ", lease " + toString(request.lease.key) + " in " + request.lease.store->describe() + ":\n";
  text += request.period
              ? "Its run is forgotten, so the job runs again if this is its current period. An earlier period "
                "is run again\nonly with missed: all, if none after it was begun.\n"
              : "All its runs and started periods are forgotten, as if it had never run. If a process still runs "
                "this job, its\ncurrent period is run again.\n";
  if (isHeld(found.record))
    text += personOf(found.record->holder) + " leads and will be asked to step down, so all its work ends.\n";
  return text;
}

/// Only a user that types the job's name may go on.
bool agreed(const ForgetRequest& request) {
  tell("Type the job's name to continue: ");
  std::string answer;
  return std::getline(std::cin, answer) && answer == request.job;
}

/// Of a change that was not written, or perhaps was: reports it, and returns the exit code.
int reportUnwritten(const LockError& error, const ForgetRequest& request) {
  const bool unknown = error.code == LockErrc::unknown || error.code == LockErrc::timeout;
  complain((unknown
                ? "it is not known whether " + request.what() + " is forgotten; see \"begun\" in tenure jobs --json: "
                : request.what() + " is not forgotten: ") +
           error.message);
  return unknown ? exitUnknown : exitCodeOf(error);
}

/// With the lease held. The change is written by a renewal, not by the release: if the store refuses the data, a
/// release is done without them.
int forgetUnder(Lock& lock, const ForgetRequest& request) {
  StoreResult<JobsDocument> ledgers = jobsIn(lock.data());
  if (!ledgers) return tellError(request.lease, ledgers.error());
  if (const auto code = codeOf(forgetIn(*ledgers, request, lock.fencingToken()), request)) return *code;
  StoreResult<std::string> document = withJobs(lock.data(), *ledgers);
  if (!document) return tellError(request.lease, document.error());
  const LockResult<void> written = lock.renew({.data = *std::move(document)});
  static_cast<void>(lock.release());  // if it does not arrive, the lease ends by itself
  if (!written) return reportUnwritten(written.error(), request);
  return say(request.what() + " is forgotten\n") ? exitOk : exitFailed;
}

int forget(const ForgetRequest& request, std::chrono::milliseconds wait) {
  LeaseOptions timing = request.timing;
  timing.progressTimeout.reset();  // it is about the group's own work
  LockClient client{request.lease.store, {.candidate = "tenure jobs forget", .lease = timing}};
  std::optional<Lock> lock;
  const int code = takeFromLeaders(request.lease, wait, [&](std::chrono::milliseconds time) -> LockResult<void> {
    LockResult<Lock> taken = client.acquire(request.lease.key, {.waitFor = time});
    if (taken.has_error()) return taken.error();
    lock.emplace(*std::move(taken));
    return {};
  });
  return lock ? forgetUnder(*lock, request) : code;
}

int execute(const JobsForgetArguments& arguments) {
  if (!arguments.yes && isatty(STDIN_FILENO) == 0) {
    return refuse("this command asks for confirmation on a terminal; without a terminal give --yes", "jobs forget");
  }
  const auto config = loadUnshardedOrComplain(arguments.config);
  if (!config) return exitUsage;
  const LeaseOfGroup lease = leaseOf(*config);
  const StoreResult<Found> found = look(lease);
  if (!found) return tellError(lease, found.error());
  auto job = jobMeant(arguments.job, lease, found->ledgers);
  if (!job) return exitFailed;
  const ForgetRequest request{lease, config->options.lease, *std::move(job), arguments.period};
  if (request.period) {
    const JobRuns& ledger = found->ledgers.jobs.at(request.job);
    const auto fault = faultOfChoice(*request.period, request.job, ledger, *config, arguments.config);
    if (!fault.empty()) return complain(fault + ". Nothing was done"), exitFailed;
  }
  if (const auto code = refusedNow(request, *found)) return *code;
  tell(consequencesOf(request, *found));
  if (!arguments.yes && !agreed(request)) return complain("nothing was done"), exitUsage;
  return forget(request, arguments.wait);
}

/// What is wrong with PERIOD; empty: nothing.
std::string takePeriod(const std::string& text, JobsForgetArguments& to) {
  to.period = text == "all" ? std::nullopt : periodFrom(text);
  if (to.period || text == "all") return {};
  return inQuotes(text) + " is not a period; write it as tenure jobs shows it, such as " +
         periodText(std::chrono::sys_days{std::chrono::year{2026} / 11 / 21});
}

}  // namespace

Command jobsCommand() {
  const auto declare = [](Options& options, JobsArguments& to) {
    options.groupFile(to.config).flag("--json", to.json, "one JSON object on a line for each job, with stable keys");
  };
  return {
      .name = "jobs",
      .summary = "show which periods of a job were run, and by whom",
      .about =
          R"(Lists the runs that the leader's record keeps: the last ones of each job, the one that is running, and the
periods that were started. Reads the store and changes nothing. A period is identified by its start time, in UTC.
For jobs of the group's file the next period is shown as well, by this machine's clock.)",
      .more =
          R"(A run is running, succeeded, failed, stopped (it was ended because its copy gave up leadership) or lost (no copy
noted how it ended).)",
      .exits = {{"0", "listed, even if there is no leader"},
                {"83", "the store cannot be reached, or its record is not understood"}},
      .examples = {"tenure jobs --config group.yaml",
                   "tenure jobs --config group.yaml --json | jq -r '.runs[0].state'"},
      .options = optionsOf<JobsArguments>(declare, execute),
  };
}

Command jobsForgetCommand() {
  const auto declare = [](Options& options, JobsForgetArguments& to) {
    options
        .value(
            "PERIOD", [&to](const std::string& text) { return takePeriod(text, to); },
            "its start time: 2026-11-21T03:00:00Z\nall: the job with all its periods, as if it had "
            "never run")
        .required()
        .groupFile(to.config, false)
        .given("--job NAME", to.job, "which job; needed if the record has runs of several", "name")
        .flag("--yes", to.yes, "do not ask; needed where there is no terminal")
        .duration("--wait DURATION", to.wait, "how long to wait for the lease (default 1m)");
  };
  return {
      .name = "jobs forget",
      .summary = "forget that a period was started, so that it runs again",
      .about =
          R"(Asks for a confirmation. Then it asks the leader to step down, takes the lease for a moment, and changes the
leader's record. All work of the leader ends for this.

The job runs again if PERIOD is its current one. An earlier period is run again only with missed: all, if none after it
was begun. If the group's file does not have the job, only a period that tenure jobs lists can be forgotten.)",
      .exits = {{"0", "forgotten"},
                {"1",
                 "PERIOD is not a period of the job, or was not begun; or no such job is there; or the leader is of "
                 "another client, which cannot be asked"},
                {"2", "wrong arguments or configuration, or not confirmed"},
                {"81", "the lease was lost before the change was written"},
                {"82", "a run of this period is in progress, or the group is paused"},
                {"83", "the store cannot be reached, or its record is not understood"},
                {"85", "the lease could not be acquired in time"},
                {"86", "the store did not answer; it is not known whether the period is forgotten"}},
      .examples = {"tenure jobs forget 2026-11-21T03:00:00Z --config group.yaml --job nightly"},
      .options = optionsOf<JobsForgetArguments>(declare, execute),
      .holds = true,
  };
}

}  // namespace tenure::cli
