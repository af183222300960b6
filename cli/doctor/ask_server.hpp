// What a store's server says of itself: the time and its version.
#pragma once

#include <optional>

#include <tenure/config/group_config.hpp>

#include "facts.hpp"

namespace tenure::cli::doctor {

/// Blocking, for a few seconds for each server that does not answer. Empty: the store has none.
[[nodiscard]] std::optional<ServerFacts> askServer(const StoreConfig& store);

}  // namespace tenure::cli::doctor
