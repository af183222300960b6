// The processes of this machine, as /proc shows them.
#pragma once

#include <array>
#include <dirent.h>
#include <functional>
#include <memory>
#include <string>
#include <sys/types.h>

#include "lockcore/runtime/unique_fd.hpp"

namespace tenure::cli {

/// Reads /proc. It opens the directory once, and has spare descriptors for its reads. So it can look even when all
/// descriptors of the process are in use, or something else was mounted over /proc. For one thread.
class ProcessTable {
 public:
  /// Throws std::system_error.
  ProcessTable();

  /// Calls `goesOn` with the number of each process until it says no. Returns whether every process was seen and could
  /// be looked at. False proves nothing: see error().
  [[nodiscard]] bool forEach(const std::function<bool(pid_t)>& goesOn);

  /// A file of a process; empty if there is none or this user may not read it.
  [[nodiscard]] std::string read(pid_t process, const char* name);
  /// Empty if there is no such process.
  [[nodiscard]] UniqueFd pidfdOf(pid_t process);

  /// Why the last look did not see everything (an errno); 0: it saw all, or was ended by `goesOn`.
  [[nodiscard]] int error() const noexcept { return error_; }

 private:
  [[nodiscard]] UniqueFd opened(const std::function<int()>& open);
  [[nodiscard]] std::string content(const std::string& path);
  void keepSpares() noexcept;

  struct Closer {
    void operator()(DIR* directory) const noexcept { closedir(directory); }
  };
  std::unique_ptr<DIR, Closer> directory_;
  std::array<UniqueFd, 2> spares_{};  ///< a process is read again while its pidfd is held
  int error_{0};
};

}  // namespace tenure::cli
