// A JsonClient for tests against a DynamoDB, and one call of it.
#pragma once

#include <memory>
#include <string>

#include "lockcore/aws/json_client.hpp"

namespace tenure::test {

/// For http://127.0.0.1:8000: a few threads that each keep one connection, with a signature that is made up. It shares
/// no code with the real client, so that tests of the store do not depend on that client. For an https:// URL, such as
/// AWS's own: the real client, since only that signs, with the credentials and the region of the environment.
[[nodiscard]] std::shared_ptr<aws::JsonClient> makeSocketClient(const std::string& endpoint);

/// One request that must succeed (otherwise std::runtime_error). Returns the answer's body without blanks between
/// members, whichever server wrote it. `operation`: "PutItem".
std::string callNow(aws::JsonClient& client, const std::string& operation, std::string body);

}  // namespace tenure::test
