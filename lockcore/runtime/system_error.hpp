// Failed system calls as errors of a store.
#pragma once

#include <string>
#include <system_error>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/store_error.hpp>

namespace tenure {

/// "No space left on device", in English whatever locale the host has set. Thread-safe.
[[nodiscard]] TENURE_API std::string errnoText(int systemErrno);
[[nodiscard]] TENURE_API std::string errnoText(const std::error_code& error);
/// To throw. Its what() is `what`, a colon and errnoText().
[[nodiscard]] TENURE_API std::system_error errnoException(int systemErrno, const std::string& what);
/// The same for a code of getaddrinfo(), right after it.
[[nodiscard]] TENURE_API std::string lookupFaultText(int code);

/// `what` is the step that failed ("making directory /var/x"). The text ends with what to do, where that is known.
[[nodiscard]] TENURE_API StoreError systemError(const std::string& store, const std::string& what, int systemErrno);

[[nodiscard]] TENURE_API bool meansFull(int systemErrno) noexcept;
/// Of the process or the machine, and for the moment: descriptors, memory.
[[nodiscard]] TENURE_API bool meansNoResources(int systemErrno) noexcept;

/// What to do where meansFull().
inline constexpr const char* adviceOnFullDisk = "the disk (or a quota or file size limit) is full; free space";

}  // namespace tenure
