#include "config_file.hpp"

#include <cstdio>

#include <tenure/config/load_group.hpp>

#include "cli/output.hpp"

namespace tenure::cli {

std::optional<GroupConfig> loadOrComplain(const std::string& file) {
  auto config = loadGroupConfig(file);
  if (config) return std::move(*config);
  std::fputs((toString(config.error()) + '\n').c_str(), stderr);
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

}  // namespace tenure::cli
