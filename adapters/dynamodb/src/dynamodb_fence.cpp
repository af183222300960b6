#include <algorithm>
#include <future>
#include <stdexcept>
#include <utility>

#include <boost/json/serialize.hpp>

#include <tenure/adapters/dynamodb_fence.hpp>

#include "fence_requests.hpp"
#include "lockcore/aws/make_json_client.hpp"
#include "lockcore/runtime/process_mark.hpp"
#include "lockcore/runtime/regular_file.hpp"

namespace tenure {

using namespace dynamodb_fence;

class DynamoDbFence::Impl {
 public:
  Impl(DynamoDbFenceOptions options, std::shared_ptr<aws::JsonClient> client)
      : options_{std::move(options)}, client_{std::move(client)}, where_{client_->describe()} {}

  /// The client answers every call, at the latest when the call's time is over.
  [[nodiscard]] aws::JsonOutcome call(const char* operation, const boost::json::object& request) {
    if (!isHere()) {
      return aws::JsonCallError{
          {ErrorClass::misconfigured, "this process is a forked child of the one that made the fence; make one here"},
          false};
    }
    std::promise<aws::JsonOutcome> answer;
    const auto timeout = std::min<std::chrono::milliseconds>(options_.timeout, std::chrono::hours{24});
    client_->call(std::string{"DynamoDB_20120810."} + operation, boost::json::serialize(request), timeout,
                  [&answer](aws::JsonOutcome outcome) { answer.set_value(std::move(outcome)); });
    return answer.get_future().get();
  }

  [[nodiscard]] bool isHere() const noexcept { return mark_.isHere(); }

  const ProcessMark mark_{};
  const DynamoDbFenceOptions options_;
  const std::shared_ptr<aws::JsonClient> client_;
  const std::string where_;
};

DynamoDbFence::DynamoDbFence(DynamoDbFenceOptions options, Logger logger) {
  if (const std::string fault = faultOfPath(options.caFile); !fault.empty()) {
    throw std::invalid_argument{"DynamoDbFenceOptions: caFile " + fault};
  }
  aws::JsonClientOptions client;
  client.region = options.region;
  client.endpoint = options.endpoint;
  client.profile = options.profile;
  client.caFile = options.caFile;
  auto made = aws::makeJsonClient(std::move(client), std::move(logger));
  impl_ = std::make_unique<Impl>(std::move(options), std::move(made));
}

DynamoDbFence::DynamoDbFence(DynamoDbFenceOptions options, std::shared_ptr<aws::JsonClient> client)
    : impl_{std::make_unique<Impl>(std::move(options), std::move(client))} {}

DynamoDbFence::~DynamoDbFence() {
  if (impl_ && !impl_->isHere()) leaveToParent(std::move(impl_));
}
DynamoDbFence::DynamoDbFence(DynamoDbFence&&) noexcept = default;
DynamoDbFence& DynamoDbFence::operator=(DynamoDbFence&&) noexcept = default;

FenceResult<DynamoDbWritten> DynamoDbFence::write(const TermStamp& stamp, const DynamoDbWrite& what) {
  if (auto error = errorOf(stamp)) return *std::move(error);
  const auto request = itemRequest(stamp, what);
  if (!request) return request.error();
  const char* operation = what.kind == DynamoDbWrite::Kind::put ? "PutItem" : "UpdateItem";
  return writtenIn(stamp, !what.condition.empty(), impl_->where_, impl_->call(operation, *request));
}

FenceResult<DynamoDbWritten> DynamoDbFence::transact(const TermStamp& stamp, const std::vector<DynamoDbWrite>& what) {
  if (auto error = errorOf(stamp)) return *std::move(error);
  const auto request = transactRequest(stamp, impl_->options_.guard, what);
  if (!request) return request.error();
  return writtenIn(stamp, false, impl_->where_, impl_->call("TransactWriteItems", *request));
}

FenceResult<std::optional<TermStamp>> DynamoDbFence::highestSeen(const std::string& lease) {
  if (impl_->options_.guard.table.empty()) {
    return fenceError(
        {ErrorClass::misconfigured, "without DynamoDbFenceOptions::guard there is no highest token to read"});
  }
  return seenIn(lease, impl_->where_, impl_->call("GetItem", readGuardRequest(lease, impl_->options_.guard)));
}

}  // namespace tenure
