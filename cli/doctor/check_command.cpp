// `tenure check`: whether the group's file is right, and its store usable.
#include <stdexcept>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include <tenure/config/group_config.hpp>
#include <tenure/config/load_group.hpp>
#include <tenure/lockcore/lease_options.hpp>

#include "cli/commands.hpp"
#include "cli/group/config_file.hpp"
#include "cli/group/routing.hpp"
#include "cli/group/store_calls.hpp"
#include "cli/run/hook_run.hpp"
#include "cli/run/probe_file.hpp"
#include "cli/text/exit_codes.hpp"
#include "cli/text/output.hpp"
#include "config/src/config_keys.hpp"
#include "config/src/duration.hpp"
#include "config/src/store_types.hpp"
#include "election/ops/src/listen_socket.hpp"

namespace tenure::cli {
namespace {

struct CheckArguments {
  std::string config;
  bool connect{false};
  bool effective{false};
};

/// The fault, and the SQL that mends it if an administrator's SQL does.
int cannotBeUsed(const GroupConfig& config, const LeaseStore& store, const StoreError& error) {
  complain(faultText(store, error));
  const auto& schemaSql = config::typeOf(config.store).schemaSql;
  if (!error.lacksSchema || !schemaSql) return exitStore;
  complain(
      "the SQL on stdout gives what is missing; a user who may create tables in that schema, or the owner of the "
      "table, has to run it (tenure store sql prints it too)");
  return say(schemaSql(config.store, {})) ? exitStore : exitFailed;
}

/// Where the store is a file, it shows without a write whether this user may write it.
StoreStatus makeReady(LeaseStore& store, const std::optional<FileAccess>& access) {
  if (!access) return ensureSchemaNow(store);
  if (access->obstacle) return *access->obstacle;
  return {};
}

int connect(const GroupConfig& config, const LeaseOfGroup& lease) {
  const auto& look = config::typeOf(config.store).access;
  const std::optional<FileAccess> access = look ? std::optional{look(config.store)} : std::nullopt;
  if (const StoreStatus ready = makeReady(*lease.store, access); !ready) {
    return cannotBeUsed(config, *lease.store, ready.error());
  }
  if (const ReadOutcome record = readNow(*lease.store, lease.key); !record) {
    return cannotBeUsed(config, *lease.store, record.error());
  }
  if (const StoreStatus routing = checkRouting(config); !routing) {
    return cannotBeUsed(config, *lease.store, routing.error());
  }
  const FileAccess found = access.value_or(FileAccess{});
  for (const std::string& text : {found.strangers, found.wide}) {
    if (!text.empty()) complain("warning: " + lease.store->describe() + ": " + text);
  }
  return exitOk;
}

/// What a look at this machine has found: the code with which `tenure run` would end for good, or what is only missing
/// here. A file may be for another place, such as a pod, and is good all the same.
struct Here {
  std::string store{};  ///< its name, with its place where it can be made
  int code{exitOk};
  std::vector<std::string> broken{};
  std::vector<std::string> missing{};

  void note(const StoreError& error) {
    if (mayPass(error)) return;
    if (error.permanent) code = exitStore;
    (error.permanent ? broken : missing).push_back(error.message);
  }
};

/// A store that is a file shows without a request whether it can be one.
StoreStatus lookAtFile(const GroupConfig& config, LeaseStore& store) {
  const auto& type = config::typeOf(config.store);
  if (!type.access) return {};
  if (const FileAccess access = type.access(config.store); access.obstacle) return *access.obstacle;
  const ReadOutcome record = readNow(store, LeaseKey{config.options.group});
  return record ? StoreStatus{} : StoreStatus{record.error()};
}

void lookAtStore(const GroupConfig& config, Here& here) {
  const auto& type = config::typeOf(config.store);
  here.store = type.name;
  try {
    const auto store = makeStore(config.store, Logger::toStderr(LogLevel::warn));
    here.store = store->describe();
    for (const StoreStatus& looked : {type.readFiles(config.store), lookAtFile(config, *store)}) {
      if (!looked) here.note(looked.error());
    }
  } catch (const UnusableHere& cannot) {
    here.missing.emplace_back(cannot.what());
  } catch (const std::system_error&) {
    throw;
  } catch (const std::runtime_error& fault) {
    here.note({ErrorClass::misconfigured, fault.what(), true});
  }
}

/// By the code that `tenure run` uses.
Here lookHere(const GroupConfig& config) {
  Here here;
  lookAtStore(config, here);
  if (const auto fault = faultOfHooks(config.hooks)) {
    const bool absent = fault->exitCode == exitNotFound;
    (absent ? here.missing : here.broken).push_back(fault->message);
    if (!absent && here.code == exitOk) here.code = fault->exitCode;
  }
  if (const std::string& file = config.hooks.probeWrite; !file.empty()) {
    const std::string fault = faultOfProbeFile(file);
    if (!fault.empty()) here.missing.push_back("lease.probe_write: " + file + ": " + fault);
  }
  if (config.httpListen.empty()) return here;
  if (const auto fault = ops::ListenSocket::obstacle(*parseListen(config.httpListen))) {
    here.missing.push_back("http.listen: " + fault->message);
  }
  return here;
}

int execute(const CheckArguments& arguments) {
  const auto config = loadOrComplain(arguments.config);
  if (!config) return exitUsage;
  const Here here = lookHere(*config);
  for (const std::string& fault : here.broken) complain(arguments.config + ": is broken: " + fault);
  if (here.code != exitOk) return here.code;
  if (arguments.connect) {
    if (const int code = connect(*config, leaseOf(*config)); code != exitOk) return code;
  }
  for (const std::string& cause : here.missing) complain(arguments.config + ": cannot be used here: " + cause);
  if (arguments.effective) return say(effectiveYaml(*config)) ? exitOk : exitFailed;
  const LeaseTiming timing = LeaseTiming::from(config->options.lease).value();
  const std::string line = fmt::format("{}: OK: group {}, lease {}, heartbeat {}, store {}{}\n", arguments.config,
                                       toString(LeaseKey{config->options.group}), durationText(timing.duration()),
                                       durationText(timing.heartbeat()), here.store,
                                       arguments.connect ? ", which is reached and ready" : "");
  return say(line) ? exitOk : exitFailed;
}

}  // namespace

Command checkCommand() {
  const auto declare = [](Options& options, CheckArguments& to) {
    options.groupFile(to.config)
        .flag(
            "--connect", to.connect,
            "reach the store too, and create what it needs if missing. If this user may not create a table, or lacks a "
            "right, print the SQL for an administrator, on stdout. With routing: name the rights on pods that "
            "are missing")
        .flag("--effective", to.effective, "print the whole configuration with every default");
  };
  return {
      .name = "check",
      .summary = "validate a configuration file, and reach its store",
      .about =
          R"(Reports every fault at once, as FILE:LINE:COLUMN: KEY: what is wrong and what is allowed. Creates and contacts
nothing, unless --connect is given. A store that can only be used elsewhere, such as in a pod, is no fault of the file.)",
      .exits = {{"0", "the file is good, and with --connect the store is usable"},
                {"2", "the file has faults; they are on stderr. Or the shell cannot read a hook"},
                {"83", "the store cannot be reached or used"},
                {"126", "the program of a hook exists but cannot be executed"}},
      .examples = {"tenure check --config group.yaml --connect"},
      .options = optionsOf<CheckArguments>(declare, execute),
  };
}

}  // namespace tenure::cli
