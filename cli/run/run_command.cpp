#include <filesystem>
#include <utility>

#include "cli/commands.hpp"
#include "cli/group/config_file.hpp"
#include "cli/text/exit_codes.hpp"
#include "cli/text/output.hpp"
#include "config/src/store_types.hpp"
#include "hook_run.hpp"
#include "supervisor.hpp"

namespace tenure::cli {

int runCommand(const RunArguments& arguments, const SignalState& signals) {
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

}  // namespace tenure::cli
