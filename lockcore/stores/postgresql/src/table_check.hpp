// Whether the table is what the store needs.
#pragma once

#include <optional>
#include <string>

#include "outcomes/errors.hpp"

namespace tenure::postgresql_store {

/// What readLayout says about the table.
struct TableState {
  bool exists{false};
  std::optional<StoreError> fault{};  ///< why the store cannot use it
};

[[nodiscard]] TableState tableStateFrom(const Call& call, const Row& row);

}  // namespace tenure::postgresql_store
