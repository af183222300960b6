// Whether options can be used at all.
#pragma once

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/stores/postgresql_store.hpp>

#include "lockcore/port/lease_store.hpp"

namespace tenure::postgresql_store {

/// Throws std::invalid_argument with all faults.
void checkOptions(const PostgresqlStoreOptions& options);

/// Service file, certificates, key, password file and passfile, without a connection. libpq itself opens most of them
/// when a server answers, so only what is certainly no such file is a permanent error: a directory, no PEM, a service
/// file that libpq cannot read, no password in its file.
[[nodiscard]] TENURE_API StoreStatus readLocalFiles(const PostgresqlStoreOptions& options);

}  // namespace tenure::postgresql_store
