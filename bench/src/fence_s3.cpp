#include "fence_s3.hpp"

#include <future>
#include <stdexcept>
#include <unistd.h>
#include <utility>

#include <tenure/adapters/s3_fence.hpp>

#include "lockcore/aws/object_client.hpp"

namespace tenure::bench {
namespace {

S3FenceOptions s3OptionsFor(const std::string& endpoint, const std::string& bucket) {
  S3FenceOptions options;
  options.endpoint = endpoint;
  options.bucket = bucket;
  return options;
}

std::shared_ptr<aws::ObjectClient> s3ClientFor(const std::string& endpoint) {
  aws::JsonClientOptions options;
  options.endpoint = endpoint;
  return aws::makeObjectClient(std::move(options));
}

}  // namespace

class S3Writes::Impl {
 public:
  Impl(const std::string& endpoint, TermStamp stamp)
      : client_{s3ClientFor(endpoint)}, fence_{s3OptionsFor(endpoint, bucket_)}, stamp_{std::move(stamp)} {
    put("", "");
  }

  void bare() { put("bare", what_.bytes); }
  void fenced() {
    const auto written = fence_.write(stamp_, what_);
    if (written.has_error()) throw std::runtime_error(FenceError{written.error()}.message);
  }

 private:
  void put(const std::string& key, const std::string& bytes) {
    std::promise<aws::ObjectOutcome> answer;
    client_->call({"PUT", bucket_, key, {}, {}, bytes}, std::chrono::seconds{10},
                  [&answer](aws::ObjectOutcome outcome) { answer.set_value(std::move(outcome)); });
    const auto outcome = answer.get_future().get();
    if (!outcome || outcome->status != 200) throw std::runtime_error("S3 refused a bare write");
  }

  const std::string bucket_ = "bench-" + std::to_string(getpid());
  const std::shared_ptr<aws::ObjectClient> client_;
  S3Fence fence_;
  const TermStamp stamp_;
  const S3Put what_{.key = "fenced", .bytes = "an entry of some forty bytes, as ledgers have"};
};

S3Writes::S3Writes(const std::string& endpoint, TermStamp stamp)
    : impl_{std::make_unique<Impl>(endpoint, std::move(stamp))} {}
S3Writes::~S3Writes() = default;
void S3Writes::bare() { impl_->bare(); }
void S3Writes::fenced() { impl_->fenced(); }

}  // namespace tenure::bench
