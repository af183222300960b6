// A JsonClient for tests against a DynamoDB that does not check signatures (DynamoDB Local).
#pragma once

#include <memory>
#include <string>

#include "lockcore/aws/json_client.hpp"

namespace tenure::test {

/// Plain HTTP, a few threads that each keep one connection. `endpoint`: http://127.0.0.1:8000. It shares no code with
/// the real client, so that tests of the store do not depend on that client.
[[nodiscard]] std::shared_ptr<aws::JsonClient> makeSocketClient(const std::string& endpoint);

/// One request that must succeed (otherwise std::runtime_error). Returns the answer's body. `operation`: "PutItem".
std::string callNow(aws::JsonClient& client, const std::string& operation, std::string body);

}  // namespace tenure::test
