// The directory beside the database, with notification files ("wake files" in the code), liveness files ("beacons") and
// claims. It is hidden, so that `rm NAME*` does not remove it together with the database.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tenure/lockcore/lease_key.hpp>

#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::sqlite_store {

/// 16 hex digits for a file's name, the same in all processes and versions (FNV-1a, 64 bits). Two leases may have the
/// same digits; code for which that matters checks the content of the file.
[[nodiscard]] std::string fileNameOf(const LeaseKey& key);

[[nodiscard]] std::string wakeFilePath(const std::string& sidecar, const LeaseKey& key);

/// Notifies those that watch the lease that something was committed. Never fails: a process that misses it polls.
void touchWakeFile(const std::string& sidecar, const LeaseKey& key) noexcept;

/// The file, created if it is missing; errno is set if there is no descriptor.
[[nodiscard]] UniqueFd openWakeFile(const std::string& path) noexcept;

}  // namespace tenure::sqlite_store
