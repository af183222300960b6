#include <filesystem>
#include <utility>

#include "cli/commands.hpp"
#include "cli/group/config_file.hpp"
#include "cli/text/exit_codes.hpp"
#include "cli/text/output.hpp"
#include "config/src/store_types.hpp"
#include "hook_run.hpp"
#include "job_arguments.hpp"
#include "supervisor.hpp"

namespace tenure::cli {

namespace {

struct RunArguments {
  std::string config;
  bool once{false};
  std::optional<std::chrono::milliseconds> wait{};
  bool busyOk{false};
  std::string http{};    ///< where to listen; empty: as the file says
  std::string notify{};  ///< job: it finds the service manager's variables as well; empty: it does not
  JobArguments job{};
  std::vector<std::string> command;
};

int execute(const RunArguments& arguments, const SignalState& signals) {
  ServiceEnvironment service = ServiceEnvironment::take();
  const auto config = loadUnshardedOrComplain(arguments.config);
  if (!config) return exitUsage;
  if (config->options.candidate.mode == CandidateMode::observe) {
    complain(
        arguments.config +
        ": candidate.mode is observe, so this copy would never lead and never run the command; take that line out, "
        "or see who leads with `tenure status --watch`. Nothing was done");
    return exitUsage;
  }
  if (const auto& store = config::typeOf(config->store); store.ofOneProcess) {
    complain("warning: store.type " + store.name +
             " is seen by this process only; another copy would lead at the same time");
  }
  ChosenJob chosen = chosenJob(arguments.job, *config, arguments.config);
  if (!chosen.fault.empty()) {
    complain(chosen.fault);
    return exitUsage;
  }
  const std::string listen = arguments.http.empty()    ? config->httpListen
                             : arguments.http == "off" ? ""
                                                       : arguments.http;
  if (const std::string fault = listen.empty() ? "" : ops::faultOfListen(listen); !fault.empty()) {
    complain("--http: " + fault + "; nothing was done");
    return exitUsage;
  }
  if (const auto fault = faultOfHooks(config->hooks)) {
    complain(fault->message + "; nothing was done");
    return fault->exitCode;
  }
  SupervisorOptions options;
  options.http = listen;
  options.httpHosts = config->httpHosts;
  options.job = std::move(chosen.job);
  options.busyIsFine = arguments.busyOk;
  options.command = arguments.command;
  options.once = arguments.once;
  options.wait = arguments.wait;
  options.hooks = config->hooks;
  options.service = std::move(service);
  options.jobMayNotify = !arguments.notify.empty();
  options.configFile = std::filesystem::absolute(arguments.config).string();
  return Supervisor{*config, std::move(options), signals}.run();
}

void declareJob(Options& options, JobArguments& to) {
  options.duration("--per DURATION", to.per, "periods of this length, counted from 1970 on in UTC")
      .given("--schedule CRON", to.schedule, "periods begin as crontab says: \"0 3 * * *\", @daily")
      .given("--time-zone ZONE", to.timeZone, "of --schedule, such as Europe/Berlin (default UTC)")
      .oneOf("--guarantee G", to.guarantee, {"at_most_once", "at_least_once"},
             "at_most_once (default): a started run is never repeated; at_least_once: until a run exits with 0")
      .oneOf("--missed M", to.missed, {"skip", "once", "all"},
             "periods in which no run began: skip, once (default: the present one at any time in it), all (in their "
             "order)")
      .given("--job NAME", to.name,
             "a job of the file's section jobs; with --per or --schedule: the name of this one (default job)", "name");
}

void declareRun(Options& options, RunArguments& to) {
  options.groupFile(to.config, false)
      .flag(
          "--once", to.once,
          "run COMMAND in one term only; exit with its exit code. A periodic job: run what is due now, if anything is")
      .duration("--wait DURATION", to.wait,
                "exit with code 82 if not elected within this time, such as 30s; 0s: as soon as another copy is seen "
                "leading")
      .flag("--busy-ok", to.busyOk, "with --once and --wait: 0 instead if another copy leads");
  declareJob(options, to.job);
  options
      .given(
          "--http ADDRESS", to.http,
          "show over HTTP who leads: 127.0.0.1:9200, [::1]:9200 or unix:/PATH (/leader, /metrics, /status, /history, "
          "...); instead of the file's http.listen; off: nowhere")
      .oneOf("--notify job", to.notify, {"job"},
             "under systemd: COMMAND may notify as well (it finds NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID)")
      .job(to.command, "tenure run --config group.yaml -- ./job")
      .check([&to]() -> std::string {
        if (!to.busyOk || (to.once && to.wait)) return faultOf(to.job);
        return "--busy-ok says how the program ends if another copy leads when the wait is over; give --once and "
               "--wait with it, as in: --once --wait 0s --busy-ok";
      });
}

}  // namespace

Command runCommand() {
  return {
      .name = "run",
      .summary = "compete for a lease, and run a program while this copy leads",
      .about =
          R"(COMMAND is started when this copy is elected and ended when leadership ends: it gets SIGTERM, and SIGKILL after
lease.drain_timeout or when the lease ends, whichever comes first. If it ends earlier, the lease is released at once
and this copy competes again after a pause of one lease duration (longer after repeated failures).

With --per, --schedule or a --job of the file, COMMAND is a periodic job: the copy that leads starts it once in each
period, and stays the leader between the runs. The leader's record says which periods were run, so no other copy and no
later start runs one again. Wall clocks only name the periods.

Commands of the file's section hooks run before COMMAND starts, at each renewal, and when COMMAND has ended.)",
      .more = R"(COMMAND finds in its environment:
  TENURE_FENCING_TOKEN    number of this term; stamp every write with it, so
                          that the resource can refuse a former leader
  TENURE_LEASE, TENURE_GROUP, TENURE_CANDIDATE, TENURE_STORE, TENURE_CONFIG,
  TENURE_LEASE_DURATION, TENURE_DRAIN_TIMEOUT, TENURE_JOB
  TENURE_PROGRESS_FD      only with lease.progress_timeout and no lease.probe:
                          write a byte to this descriptor at least that often,
                          or the lease ends
  TENURE_JOB_NAME, TENURE_PERIOD (2026-11-21T03:00:00Z), TENURE_PERIOD_EPOCH
  (in seconds), TENURE_ATTEMPT (1, 2, ...)    of a periodic job's run

Signals: SIGTERM, SIGINT and SIGHUP stop gracefully (end COMMAND, release, exit); a second one (500 ms later or more), or
SIGQUIT, kills COMMAND at once. SIGUSR1 and SIGUSR2 go to COMMAND.)",
      .exits = {{"0",
                 "stopped by a signal; with --once: nothing was due, or COMMAND's own code (128 + N if signal N "
                 "ended it, or this program before COMMAND ran)"},
                {"1", "failed"},
                {"80", "on_lost: terminate, and COMMAND did not end in time; it was killed"},
                {"81", "--once: leadership was lost before COMMAND was done; it was ended"},
                {"82", "--wait: not elected in time, another copy leads"},
                {"83",
                 "the store can never be used as it is configured, or did not record the start of a run; --wait: "
                 "not elected in time, the store cannot be reached"},
                {"86", "--wait: not elected in time; it is not known whether an attempt arrived"},
                {"126", "COMMAND cannot be executed"},
                {"127", "COMMAND was not found"}},
      .examples = {"tenure run --config group.yaml -- ./scheduler --verbose",
                   R"(tenure run -c group.yaml --schedule "0 3 * * *" -- ./nightly-report)",
                   "tenure run -c group.yaml --once --wait 0s --busy-ok --per 24h -- ./backup"},
      .options = optionsOf<RunArguments>(declareRun, execute),
      .holds = true,
  };
}

}  // namespace tenure::cli
