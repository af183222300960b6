// The list of the stores that a group's file can name.
#pragma once

#include <variant>

#include <tenure/lockcore/stores/dynamodb_store.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>
#include <tenure/lockcore/stores/sqlite_store.hpp>

namespace tenure {

/// The store section: one alternative for each `store.type`, in the order in which texts and messages name them. The
/// first one is that of the samples.
using StoreConfig = std::variant<SqliteStoreOptions, DynamoDbStoreOptions, MemoryStoreOptions>;

}  // namespace tenure
