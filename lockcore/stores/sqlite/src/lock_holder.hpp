// Finds the process that keeps everybody else from writing.
#pragma once

#include <chrono>
#include <string>

#include "file_identity.hpp"
#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::sqlite_store {

/// Of the database's write lock. To be used on the thread whose connection has the files open.
///
/// The kernel names no process for a lock of an open file description, and a search through all of /proc may take
/// longer than a holder waits for an answer. So a call that waits searches within its time, the next one goes on where
/// it stopped, and errors give what was found.
class WriteLockHolder {
 public:
  /// Does nothing unless the lock is one of an open file description and its process is not known yet.
  void search(const StoreFiles& files, std::chrono::nanoseconds atMost);

  /// "process 4711 (backup), which is stopped", for messages. Empty if it cannot be determined: the lock was released
  /// meanwhile, or another connection of this very process has it.
  [[nodiscard]] std::string text(const StoreFiles& files) const;

 private:
  long found_{0};     ///< has, or had, a lock of an open file description; 0: none
  long searched_{0};  ///< no process up to this one has it, as far as this search has come
};

/// The same for the process that has an exclusive flock(2) on the file; "a process" if it cannot be determined.
[[nodiscard]] std::string describeFlockHolder(const UniqueFd& file);

/// "process 4711 (backup), which is stopped": name and state as /proc knows them.
[[nodiscard]] std::string describeProcess(long pid);

}  // namespace tenure::sqlite_store
