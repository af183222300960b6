// SQLite's result codes in the library's words.
#pragma once

#include <string>

#include <tenure/lockcore/store_error.hpp>

namespace tenure::sqlite_store {

class Connection;

[[nodiscard]] ErrorClass classOf(int code, int systemErrno) noexcept;

/// True after faults that leave a connection usable: it need not be opened again.
[[nodiscard]] bool connectionSurvives(int code) noexcept;

/// `what` is the step that failed ("reading lease billing"); the text ends with what to do where that is known.
[[nodiscard]] StoreError sqliteError(const std::string& store, const std::string& what, int code,
                                     const Connection& connection);

/// For failed system calls of our own.
[[nodiscard]] StoreError systemError(const std::string& store, const std::string& what, int systemErrno);

/// "No space left on device", thread-safe.
[[nodiscard]] std::string errnoText(int systemErrno);

}  // namespace tenure::sqlite_store
