// The group's file: reading it for every command; `tenure check` and `tenure init`.
#include "config_file.hpp"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

#include <tenure/config/group_config.hpp>
#include <tenure/config/load_group.hpp>
#include <tenure/lockcore/lease_options.hpp>

#include "cli/exit_codes.hpp"
#include "cli/output.hpp"
#include "cli/routing.hpp"
#include "cli/store_calls.hpp"
#include "commands.hpp"
#include "config/src/config_keys.hpp"
#include "config/src/duration.hpp"
#include "config/src/store_types.hpp"
#include "lockcore/runtime/open_file.hpp"
#include "lockcore/runtime/system_error.hpp"
#include "lockcore/runtime/unique_fd.hpp"

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
  return {LeaseKey{config.options.group}, makeStore(config.store, Logger::toStderr(LogLevel::warn))};
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

/// A file may be for another place, such as a pod, whose store cannot be made here. The file is good all the same.
std::string storeText(const GroupConfig& config) {
  try {
    return leaseOf(config).store->describe();
  } catch (const std::runtime_error& cannot) {
    return fmt::format("{} (which cannot be used from here: {})", config::typeOf(config.store).name, cannot.what());
  }
}

}  // namespace

int checkCommand(const CheckArguments& arguments) {
  const auto config = loadOrComplain(arguments.config);
  if (!config) return exitUsage;
  if (arguments.connect) {
    if (const int code = connect(*config, leaseOf(*config)); code != exitOk) return code;
  }
  if (arguments.effective) return say(effectiveYaml(*config)) ? exitOk : exitFailed;
  const LeaseTiming timing = LeaseTiming::from(config->options.lease).value();
  const std::string line = fmt::format("{}: OK: group {}, lease {}, heartbeat {}, store {}{}\n", arguments.config,
                                       toString(LeaseKey{config->options.group}), durationText(timing.duration()),
                                       durationText(timing.heartbeat()), storeText(*config),
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
