// What every command first does with the group's file.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <tenure/config/group_config.hpp>
#include <tenure/lockcore/lease_record.hpp>
#include <tenure/lockcore/lease_store.hpp>

namespace tenure::cli {

/// Empty if the file has faults; all of them were reported on stderr, one on each line. It changes nothing.
[[nodiscard]] std::optional<GroupConfig> loadOrComplain(const std::string& file);

/// The same for a command that works on the one lease of a group. A group with shards has no such lease; that is
/// reported too.
[[nodiscard]] std::optional<GroupConfig> loadUnshardedOrComplain(const std::string& file);

/// A group's lease as seen by an operator's command, which is no candidate.
struct LeaseOfGroup {
  LeaseKey key;
  std::shared_ptr<LeaseStore> store;
};

/// For a config without faults. The store's warnings go to stderr.
[[nodiscard]] LeaseOfGroup leaseOf(const GroupConfig& config);

}  // namespace tenure::cli
