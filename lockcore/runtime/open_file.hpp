// Internal: files and sockets that are written never get the number of stdin, stdout or stderr.
#pragma once

#include <string>
#include <sys/types.h>

#include <tenure/lockcore/export.hpp>

namespace tenure {

/// A program may be started with descriptors 0 to 2 closed. The next files that it opens get these numbers, and what
/// any part of it then prints goes into them: a log line into a database. So those that are closed are opened:
/// /dev/null, in the direction that lets a use of them fail as before (EBADF).
TENURE_API void occupyStandardDescriptors() noexcept;

/// open(2) for a file that is written. The descriptor is 3 or higher; -1: errno says why.
[[nodiscard]] TENURE_API int openToWrite(const std::string& path, int flags, mode_t mode = 0) noexcept;
/// The same for openat(2).
[[nodiscard]] TENURE_API int openToWrite(int directory, const std::string& name, int flags, mode_t mode = 0) noexcept;

}  // namespace tenure
