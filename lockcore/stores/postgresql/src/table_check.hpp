// Whether the table is what the store needs.
#pragma once

#include <optional>

#include "store_core.hpp"

namespace tenure::postgresql_store {

/// What readLayout says about the table.
struct TableState {
  bool exists{false};
  std::optional<StoreError> fault{};  ///< why the store cannot use it
};

[[nodiscard]] TableState tableStateFrom(const Call& call, const Row& row);

/// Creates the table if it is missing, and checks it if it exists.
void ensureTable(const CorePtr& core, const Deadline& deadline, StatusHandler handler);

}  // namespace tenure::postgresql_store
