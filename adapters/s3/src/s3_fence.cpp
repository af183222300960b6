#include <stdexcept>
#include <utility>

#include <tenure/adapters/s3_fence.hpp>

#include "lockcore/aws/object_client.hpp"
#include "lockcore/runtime/process_mark.hpp"
#include "lockcore/runtime/regular_file.hpp"
#include "object_store.hpp"
#include "object_write.hpp"

namespace tenure {
namespace {

aws::Addressing addressingOf(std::optional<bool> pathStyle) {
  if (!pathStyle) return aws::Addressing::automatic;
  return *pathStyle ? aws::Addressing::path : aws::Addressing::virtualHost;
}

std::shared_ptr<aws::ObjectClient> clientFor(const S3FenceOptions& options, Logger logger) {
  aws::JsonClientOptions client;
  client.region = options.region;
  client.endpoint = options.endpoint;
  client.profile = options.profile;
  client.caFile = options.caFile;
  client.maxReply = options.maxObject + 2 * s3_fence::longestHead;
  return aws::makeObjectClient(std::move(client), addressingOf(options.pathStyle), std::move(logger));
}

}  // namespace

class S3Fence::Impl {
 public:
  Impl(S3FenceOptions options, std::shared_ptr<aws::ObjectClient> client)
      : store_{std::move(options), std::move(client)} {
    if (store_.options().bucket.empty()) throw std::invalid_argument{"S3FenceOptions: bucket is empty"};
    if (const std::string fault = faultOfPath(store_.options().caFile); !fault.empty()) {
      throw std::invalid_argument{"S3FenceOptions: caFile " + fault};
    }
  }
  [[nodiscard]] bool isHere() const noexcept { return mark_.isHere(); }

  const ProcessMark mark_{};
  s3_fence::ObjectStore store_;
};

namespace {

FenceError inChild() {
  return fenceError(
      {ErrorClass::misconfigured, "this process is a forked child of the one that made the fence; make one here"});
}

}  // namespace

S3Fence::S3Fence(S3FenceOptions options, Logger logger) {
  auto client = clientFor(options, std::move(logger));
  impl_ = std::make_unique<Impl>(std::move(options), std::move(client));
}
S3Fence::S3Fence(S3FenceOptions options, std::shared_ptr<aws::ObjectClient> client)
    : impl_{std::make_unique<Impl>(std::move(options), std::move(client))} {}
S3Fence::~S3Fence() {
  if (impl_ && !impl_->isHere()) leaveToParent(std::move(impl_));
}
S3Fence::S3Fence(S3Fence&&) noexcept = default;
S3Fence& S3Fence::operator=(S3Fence&&) noexcept = default;

FenceResult<void> S3Fence::write(const TermStamp& stamp, const S3Put& what) {
  auto* own = inItsProcess(impl_);
  return own != nullptr ? s3_fence::ObjectWrite{own->store_, stamp, what}.run() : inChild();
}

FenceResult<void> S3Fence::write(const FencedTerm& term, const S3Put& what) {
  if (inItsProcess(impl_) == nullptr) return inChild();
  return underTerm(term, [&](const TermStamp& stamp) {
    return s3_fence::ObjectWrite{impl_->store_, stamp, what, [&] { return term.error(); }}.run();
  });
}

FenceResult<std::optional<S3Object>> S3Fence::read(const std::string& key) {
  auto* own = inItsProcess(impl_);
  return own != nullptr ? own->store_.read(key) : inChild();
}

FenceResult<std::optional<TermStamp>> S3Fence::highestSeen(const std::string& key, const std::string& lease) {
  if (inItsProcess(impl_) == nullptr) return inChild();
  s3_fence::CallTime time{impl_->store_.options().timeout};
  const auto found = impl_->store_.look(key, false, time);
  if (!found) return found.error();
  return s3_fence::seenIn(found->head, lease);
}

}  // namespace tenure
