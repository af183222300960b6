// The group's file: reading it for every command; `tenure check` and `tenure init`.
#include "config_file.hpp"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <stdexcept>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include <tenure/config/group_config.hpp>
#include <tenure/config/load_group.hpp>
#include <tenure/lockcore/lease_options.hpp>

#include "cli/commands.hpp"
#include "cli/run/hook_run.hpp"
#include "cli/text/exit_codes.hpp"
#include "cli/text/output.hpp"
#include "config/src/config_keys.hpp"
#include "config/src/duration.hpp"
#include "config/src/store_types.hpp"
#include "election/ops/src/listen_socket.hpp"
#include "lockcore/runtime/open_file.hpp"
#include "lockcore/runtime/system_error.hpp"
#include "lockcore/runtime/unique_fd.hpp"
#include "routing.hpp"
#include "store_calls.hpp"

namespace tenure::cli {

std::optional<GroupConfig> loadOrComplain(const std::string& file) {
  auto config = loadGroupConfig(file);
  if (config) return std::move(*config);
  tell(toString(config.error()) + '\n');
  const std::size_t count = config.error().size();
  complain(std::to_string(count) + (count == 1 ? " fault in " : " faults in ") + file + "; nothing was done");
  return std::nullopt;
}

std::optional<GroupConfig> loadUnshardedOrComplain(const std::string& file) {
  auto config = loadOrComplain(file);
  if (!config || config->options.shards.shardNames().empty()) return config;
  const std::string& group = config->options.group;
  complain(file + ": group " + group + " has shards, each with a lease of its own (" + group + "/" +
           config->options.shards.shardNames().front() +
           ", ...), and this command is for a group with one lease; a program takes part with tenure::ShardedElector, "
           "see docs/sharding.md. Nothing was done");
  return std::nullopt;
}

LeaseOfGroup leaseOf(const GroupConfig& config) {
  return {LeaseKey{config.options.group},
          madeOrEnd(exitStore, [&] { return makeStore(config.store, Logger::toStderr(LogLevel::warn)); })};
}

namespace {

/// The fault, and the SQL that mends it if an administrator's SQL does.
int cannotBeUsed(const GroupConfig& config, const LeaseStore& store, const StoreError& error) {
  complain(faultText(store, error));
  const auto& schemaSql = config::typeOf(config.store).schemaSql;
  if (!error.lacksSchema || !schemaSql) return exitStore;
  complain(
      "the SQL on stdout gives what is missing; somebody who may create tables in that schema, or the owner of the "
      "table, runs it (tenure store sql prints it too)");
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
  if (config.httpListen.empty()) return here;
  if (const auto fault = ops::ListenSocket::obstacle(*parseListen(config.httpListen))) {
    here.missing.push_back("http.listen: " + fault->message);
  }
  return here;
}

}  // namespace

int checkCommand(const CheckArguments& arguments) {
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

namespace {

int cannotWrite(const std::string& file) {
  const int error = errno;
  const bool exists = error == EEXIST;
  complain(file + ": " +
           (exists ? "is there already; give another name, or --force to replace it"
                   : "cannot be written: " + errnoText(error)));
  return exitFailed;
}

}  // namespace

int initCommand(const InitArguments& arguments) {
  const std::string sample = sampleGroupYaml(arguments.store);
  if (arguments.file == "-") return say(sample) ? exitOk : exitFailed;
  const int how = arguments.force ? O_TRUNC : O_EXCL;
  const UniqueFd file{openToWrite(arguments.file, O_WRONLY | O_CREAT | O_CLOEXEC | how, 0644)};
  if (!file) return cannotWrite(arguments.file);
  const ssize_t written = write(file.get(), sample.data(), sample.size());
  if (written >= 0 && static_cast<std::size_t>(written) < sample.size()) errno = ENOSPC;  // a part of it was written
  if (written != static_cast<ssize_t>(sample.size()) || fsync(file.get()) != 0) return cannotWrite(arguments.file);
  return say("wrote " + arguments.file + "; next: tenure check --config " + arguments.file + '\n') ? exitOk
                                                                                                   : exitFailed;
}

}  // namespace tenure::cli
