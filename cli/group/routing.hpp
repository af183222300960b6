// The section `routing` of a group's file.
#pragma once

#include <functional>

#include <tenure/config/group_config.hpp>
#include <tenure/election/leadership.hpp>
#include <tenure/lockcore/lease_store.hpp>
#include <tenure/lockcore/logger.hpp>

namespace tenure::cli {

/// Called at each election; it returns at once. The pod has the label of the leader until the term ends. Empty: the
/// file has no such section. Throws std::runtime_error as makeStore() does. The end of the last copy waits for at most
/// a second until the label is gone.
using Routing = std::function<void(const Leadership& term)>;
[[nodiscard]] Routing routingOf(const GroupConfig& config, Logger logger);

/// Whether the user has the rights that the section needs. Blocks for at most storePatience.
[[nodiscard]] StoreStatus checkRouting(const GroupConfig& config);

}  // namespace tenure::cli
