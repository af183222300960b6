// What a store's server says of itself over HTTP: the time and its version.
#pragma once

#include <optional>

#include <tenure/config/group_config.hpp>

#include "facts.hpp"

namespace tenure::cli::doctor {

/// Blocking, for a few seconds at most: one request without rights. Empty: the store has no server that speaks HTTP.
[[nodiscard]] std::optional<ServerFacts> askServer(const StoreConfig& store);

}  // namespace tenure::cli::doctor
