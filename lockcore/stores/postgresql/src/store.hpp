// The store on any database: what makePostgresqlStore() and the simulation build.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/runtime.hpp>
#include <tenure/lockcore/stores/postgresql_store.hpp>

#include "database.hpp"
#include "lockcore/port/lease_store.hpp"

namespace tenure::postgresql_store {

struct StoreParts {
  std::shared_ptr<Database> database;
  /// Calls the function soon after a notification with this payload; LeaseStore::watch(). May be empty.
  std::function<std::shared_ptr<void>(std::string payload, std::function<void()> hint)> watch{};
  Logger logger{};
  /// Its clock counts the deadlines; it answers calls that ask nobody.
  std::shared_ptr<Scheduler> scheduler{};
};

/// Of the options it uses schema, table and livenessDirectory.
[[nodiscard]] std::shared_ptr<LeaseStore> makeStore(const PostgresqlStoreOptions& options, StoreParts parts);

}  // namespace tenure::postgresql_store
