#include "config_file.hpp"

#include <utility>

#include <tenure/config/load_group.hpp>

#include "cli/text/exit_codes.hpp"
#include "cli/text/output.hpp"
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
  complain(file + ": group " + group + " has shards, each with its own lease (" + group + "/" +
           config->options.shards.shardNames().front() +
           ", ...), and this command is for a group with one lease; a program takes part with tenure::ShardedElector, "
           "see docs/sharding.md. Nothing was done");
  return std::nullopt;
}

LeaseOfGroup leaseOf(const GroupConfig& config) {
  return {LeaseKey{config.options.group},
          madeOrEnd(exitStore, [&] { return makeStore(config.store, Logger::toStderr(LogLevel::warn)); })};
}

}  // namespace tenure::cli
