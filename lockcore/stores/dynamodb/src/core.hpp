// What every call of a store uses, and how it sends its requests.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/runtime.hpp>
#include <tenure/lockcore/stores/dynamodb_store.hpp>

#include "layout.hpp"
#include "lockcore/aws/json_client.hpp"

namespace tenure::dynamodb_store {

using Deadline = CallDeadline;

/// Shared by the store and its calls under way. Constant.
struct Core {
  DynamoDbStoreOptions options;
  Layout layout;
  std::string where;  ///< describes the store
  Logger logger;
  std::shared_ptr<Scheduler> scheduler;
  /// Owned by the store. When the store is destroyed, the client answers the requests under way, and no call starts
  /// another request.
  std::weak_ptr<aws::JsonClient> client;
  std::function<std::int64_t()> epochSeconds;
};
using CorePtr = std::shared_ptr<const Core>;

/// Sends one request with what is left of the call's time. The handler is called once and never inside this call. If no
/// time is left or the client is gone, it gets an error that says that nothing was sent.
void send(const CorePtr& core, std::string_view operation, std::string body, const Deadline& deadline,
          aws::JsonHandler handler);

/// The same in several copies: for reads, and for a write whose rejection shows the record.
void sendRepeatedly(const CorePtr& core, std::string_view operation, std::string body, const Deadline& deadline,
                    aws::JsonHandler handler);

}  // namespace tenure::dynamodb_store
