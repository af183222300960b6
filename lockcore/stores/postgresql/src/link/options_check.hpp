// Whether options can be used at all.
#pragma once

#include <tenure/lockcore/stores/postgresql_store.hpp>

namespace tenure::postgresql_store {

/// Throws std::invalid_argument with all faults.
void checkOptions(const PostgresqlStoreOptions& options);

}  // namespace tenure::postgresql_store
