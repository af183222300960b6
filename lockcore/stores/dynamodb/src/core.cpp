#include "core.hpp"

namespace tenure::dynamodb_store {
namespace {

void answerUnsent(const CorePtr& core, const char* why, aws::JsonHandler handler) {
  core->scheduler->post([why, handler = std::move(handler)] {
    handler(aws::JsonCallError{{ErrorClass::transient, why}, false});
  });
}

}  // namespace

void send(const CorePtr& core, std::string_view operation, std::string body, const Deadline& deadline,
          aws::JsonHandler handler) {
  const std::chrono::nanoseconds left = deadline.left();
  if (left.count() <= 0) return answerUnsent(core, "the time was over before a request was sent", std::move(handler));
  const auto client = core->client.lock();
  if (!client) return answerUnsent(core, "the store was closed", std::move(handler));
  std::string target{"DynamoDB_20120810."};
  client->call(target += operation, std::move(body), left, std::move(handler));
}

}  // namespace tenure::dynamodb_store
