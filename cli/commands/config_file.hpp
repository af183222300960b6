// What every command does first with the group's file.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <tenure/config/group_config.hpp>
#include <tenure/lockcore/lease_key.hpp>
#include <tenure/lockcore/lease_store.hpp>

namespace tenure::cli {

/// Empty if the file has faults, all of which were told on stderr, one a line. Nothing is touched.
[[nodiscard]] std::optional<GroupConfig> loadOrComplain(const std::string& file);

/// The same for a command that is about the one lease of a group: a group with shards has none, which is told too.
[[nodiscard]] std::optional<GroupConfig> loadUnshardedOrComplain(const std::string& file);

/// A group's lease as seen by an operator's command, which is no candidate.
struct LeaseOfGroup {
  LeaseKey key;
  std::shared_ptr<LeaseStore> store;
};

/// For a config without faults. Warnings of the store go to stderr.
[[nodiscard]] LeaseOfGroup leaseOf(const GroupConfig& config);

}  // namespace tenure::cli
