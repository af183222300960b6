// A waiting lock token is told of a holder's death, even if the store sends many hints at the same time.
#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include <tenure/lockcore/lock_tokens.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>

#include "lockcore/port/extended_store.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

/// Sends hundreds of hints and then proves the death, before the caller can handle either.
class NoisyStore final : public ForwardingStore, public DeathNotice, public std::enable_shared_from_this<NoisyStore> {
 public:
  NoisyStore() : ForwardingStore{makeMemoryStore()} {}

  [[nodiscard]] std::shared_ptr<void> watch(const LeaseKey& /*key*/, std::function<void()> hint) override {
    hint_ = std::move(hint);
    return std::make_shared<int>(0);
  }
  [[nodiscard]] std::shared_ptr<DeathNotice> deathNotice() override { return shared_from_this(); }

  [[nodiscard]] StoreResult<LivenessFile> livenessFile() override { return StoreError{ErrorClass::transient, "none"}; }
  [[nodiscard]] int descriptor() const noexcept override { return -1; }
  [[nodiscard]] std::shared_ptr<void> follow(const LeaseRecord& record,
                                             std::function<void(RecordVersion)> proven) override {
    std::thread{[&] {
      for (int i = 0; i < 100; ++i) hint_();
      proven(record.version);
    }}.join();
    return std::make_shared<int>(0);
  }

 private:
  std::function<void()> hint_{};
};

TEST(LockTokensProof, IsNotLostAmongHints) {
  const auto store = std::make_shared<NoisyStore>();
  WriteRequest request{{"orders"}, WriteRequest::Purpose::acquire, {}, {}};
  request.record.holder = "dead";
  request.record.version = RecordVersion{"1"};
  request.record.leaseDuration = 60s;
  request.record.livenessFile = LivenessFile{"livenessFile", "boot", 1, 2};
  store->write(std::move(request), {1s}, [](const WriteOutcome&) {});
  TokenAcquireOptions options;
  options.waitFor = 2s;
  const auto token = LockTokens{store}.acquire({"orders"}, options);
  ASSERT_TRUE(token.has_value()) << token.error().message;
  EXPECT_EQ(token->fencingToken(), FencingToken{2});
}

}  // namespace
}  // namespace tenure::test
