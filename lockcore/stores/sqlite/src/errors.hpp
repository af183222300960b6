// SQLite's result codes as errors of the library.
#pragma once

#include <string>

#include <tenure/lockcore/store_error.hpp>

namespace tenure::sqlite_store {

class Connection;

[[nodiscard]] ErrorClass classOf(int code, int systemErrno) noexcept;

/// True after faults that leave a connection usable, so that it need not be opened again.
[[nodiscard]] bool connectionSurvives(int code) noexcept;

/// `what` is the step that failed ("reading lease billing"). The text ends with what to do, where that is known.
[[nodiscard]] StoreError sqliteError(const std::string& store, const std::string& what, int code,
                                     const Connection& connection);

}  // namespace tenure::sqlite_store
