// Finds the process that keeps everybody else from writing.
#pragma once

#include <string>

#include "file_identity.hpp"
#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::sqlite_store {

/// "process 4711 (backup), which is stopped", for messages. Empty if it cannot be determined: the lock was released
/// meanwhile, or another connection of this very process has it. Call it on the thread whose connection has the files
/// open.
[[nodiscard]] std::string writeLockHolder(const StoreFiles& files);

/// The same for the process that has an exclusive flock(2) on the file; "a process" if it cannot be determined.
[[nodiscard]] std::string describeFlockHolder(const UniqueFd& file);

/// "process 4711 (backup), which is stopped": name and state as /proc knows them.
[[nodiscard]] std::string describeProcess(long pid);

}  // namespace tenure::sqlite_store
