// Checks which options are valid.
#pragma once

#include <tenure/lockcore/stores/dynamodb_store.hpp>

namespace tenure::dynamodb_store {

/// Throws std::invalid_argument that names every option at fault.
void checkOptions(const DynamoDbStoreOptions& options);

}  // namespace tenure::dynamodb_store
