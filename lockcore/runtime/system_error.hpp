// Failed system calls as errors of a store.
#pragma once

#include <string>

#include <tenure/lockcore/store_error.hpp>

namespace tenure {

/// "No space left on device", thread-safe.
[[nodiscard]] std::string errnoText(int systemErrno);

/// `what` is the step that failed ("making directory /var/x"). The text ends with what to do, where that is known.
[[nodiscard]] StoreError systemError(const std::string& store, const std::string& what, int systemErrno);

[[nodiscard]] bool meansFull(int systemErrno) noexcept;
/// Of the process or the machine, and for the moment: descriptors, memory.
[[nodiscard]] bool meansNoResources(int systemErrno) noexcept;

/// What to do where meansFull().
inline constexpr const char* adviceOnFullDisk = "the disk (or a quota or file size limit) is full; free space";

}  // namespace tenure
