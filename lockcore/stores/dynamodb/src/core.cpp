#include "core.hpp"

namespace tenure::dynamodb_store {
namespace {

void answerUnsent(const CorePtr& core, const char* why, aws::JsonHandler handler) {
  core->scheduler->post([why, handler = std::move(handler)] {
    handler(aws::JsonCallError{{ErrorClass::transient, why}, false});
  });
}

using Way = void (aws::JsonClient::*)(std::string, std::string, std::chrono::nanoseconds, aws::JsonHandler);

void sendBy(Way way, const CorePtr& core, std::string_view operation, std::string body, const Deadline& deadline,
            aws::JsonHandler handler) {
  const std::chrono::nanoseconds left = deadline.left();
  if (left.count() <= 0)
    return answerUnsent(core, "the time of the call was over before a request was sent", std::move(handler));
  const auto client = core->client.lock();
  if (!client) return answerUnsent(core, "the store was closed", std::move(handler));
  std::string target{"DynamoDB_20120810."};
  ((*client).*way)(target += operation, std::move(body), left, std::move(handler));
}

}  // namespace

void send(const CorePtr& core, std::string_view operation, std::string body, const Deadline& deadline,
          aws::JsonHandler handler) {
  sendBy(&aws::JsonClient::call, core, operation, std::move(body), deadline, std::move(handler));
}

void sendRepeatedly(const CorePtr& core, std::string_view operation, std::string body, const Deadline& deadline,
                    aws::JsonHandler handler) {
  sendBy(&aws::JsonClient::callRepeatedly, core, operation, std::move(body), deadline, std::move(handler));
}

}  // namespace tenure::dynamodb_store
