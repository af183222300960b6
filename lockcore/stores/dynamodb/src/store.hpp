// The store, with every part that tests replace as a parameter.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <tenure/lockcore/runtime.hpp>
#include <tenure/lockcore/stores/dynamodb_store.hpp>

#include "lockcore/aws/json_client.hpp"

namespace tenure::dynamodb_store {

/// What the store takes from its surroundings.
struct Surroundings {
  std::shared_ptr<aws::JsonClient> client;
  Logger logger;
  std::shared_ptr<Scheduler> scheduler;        ///< for answers without a request, and for waiting for a table
  std::function<std::int64_t()> epochSeconds;  ///< the wall clock
};

/// As makeDynamoDbStore().
[[nodiscard]] std::shared_ptr<LeaseStore> makeStore(DynamoDbStoreOptions options, Surroundings surroundings);

}  // namespace tenure::dynamodb_store
