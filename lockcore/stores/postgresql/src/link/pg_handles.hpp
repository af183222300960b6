// libpq's objects with their ends.
#pragma once

#include <memory>
#include <string>

#include "lockcore/stores/postgresql/src/database.hpp"

#include <libpq-fe.h>

namespace tenure::postgresql_store {

struct FinishConnection {
  void operator()(PGconn* connection) const noexcept { PQfinish(connection); }
};
using ConnectionHandle = std::unique_ptr<PGconn, FinishConnection>;

struct ClearResult {
  void operator()(PGresult* result) const noexcept { PQclear(result); }
};
using ResultHandle = std::unique_ptr<PGresult, ClearResult>;

/// What the server said; without severity if libpq made this result itself.
[[nodiscard]] ServerError serverErrorOf(const PGresult* result);

/// libpq's text of its last error, in one line.
[[nodiscard]] std::string lastErrorOf(const PGconn* connection);

/// Control characters, as line breaks are, and runs of spaces become one space.
[[nodiscard]] std::string inOneLine(const char* text);

/// What a serverError says about waiting: a refused role or an unknown database does not pass by itself.
[[nodiscard]] JobReply::Cause causeOf(const std::string& sqlState) noexcept;

}  // namespace tenure::postgresql_store
