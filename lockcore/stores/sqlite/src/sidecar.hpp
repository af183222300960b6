// The directory beside the database: wake files, beacons and claims. Hidden, so that `rm NAME*` does not take it away
// together with the database.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tenure/lockcore/lease_key.hpp>
#include <tenure/lockcore/store_error.hpp>

#include "unique_fd.hpp"

namespace tenure::sqlite_store {

/// Makes a directory in an existing one unless it is there. Refuses a symbolic link: others may be able to make one.
[[nodiscard]] StoreResult<void> makeDirectory(const std::string& store, const std::string& directory);

/// 16 hex digits for a file's name, the same in all processes and versions (FNV-1a, 64 bits). Two leases may share
/// them; whoever cares looks into the file.
[[nodiscard]] std::string fileNameOf(const LeaseKey& key);

/// 32 lower-case hex digits: nothing else may become part of a path.
[[nodiscard]] bool isBeaconId(std::string_view text) noexcept;

[[nodiscard]] std::string wakeFilePath(const std::string& sidecar, const LeaseKey& key);

/// Tells those who watch the lease that something was committed. Never fails: who misses it polls.
void touchWakeFile(const std::string& sidecar, const LeaseKey& key) noexcept;

/// The file, made if it is missing; errno is set if there is no descriptor.
[[nodiscard]] UniqueFd openWakeFile(const std::string& path) noexcept;

}  // namespace tenure::sqlite_store
