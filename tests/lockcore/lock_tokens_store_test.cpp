// Lock tokens over a store that does not keep its contract: it throws, or answers twice.
#include <functional>
#include <stdexcept>

#include <gtest/gtest.h>

#include <tenure/lockcore/lock_tokens.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

class UnrulyStore final : public LeaseStore {
 public:
  enum class Manner { keepsItsContract, throws, answersTwice };
  Manner manner{Manner::keepsItsContract};

  [[nodiscard]] std::string describe() const override { return "unruly"; }
  void ensureSchema(CallOptions options, StatusHandler handler) override {
    inner_->ensureSchema(options, std::move(handler));
  }
  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override {
    inner_->read(key, options, misbehaving(std::move(handler)));
  }
  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    inner_->write(std::move(request), options, misbehaving(std::move(handler)));
  }
  void list(std::string prefix, CallOptions options, ListHandler handler) override {
    inner_->list(std::move(prefix), options, std::move(handler));
  }
  void requestStepDown(const LeaseKey& key, FencingToken token, CallOptions options, WriteHandler handler) override {
    inner_->requestStepDown(key, token, options, std::move(handler));
  }

 private:
  template <class Handler>
  [[nodiscard]] Handler misbehaving(Handler handler) const {
    if (manner == Manner::throws) throw std::runtime_error{"a fault of the store's"};
    if (manner == Manner::keepsItsContract) return handler;
    return [handler](auto outcome) {
      handler(outcome);
      handler(outcome);
    };
  }

  const std::shared_ptr<LeaseStore> inner_{makeMemoryStore()};
};

TEST(LockTokensOverAnUnrulyStore, aSecondAnswerChangesNothing) {
  const auto store = std::make_shared<UnrulyStore>();
  store->manner = UnrulyStore::Manner::answersTwice;
  LockTokens tokens{store};
  const auto token = tokens.acquire({"orders"}, {});
  ASSERT_TRUE(token.has_value()) << token.error().message;
  EXPECT_TRUE(tokens.check(*token).has_value());
  EXPECT_TRUE(tokens.renew(*token).has_value());
}

TEST(LockTokensOverAnUnrulyStore, whatItThrowsIsAnError) {
  const auto store = std::make_shared<UnrulyStore>();
  LockTokens tokens{store};
  const auto token = tokens.acquire({"orders"}, {});
  ASSERT_TRUE(token.has_value()) << token.error().message;
  store->manner = UnrulyStore::Manner::throws;
  const auto renewed = tokens.renew(*token);
  ASSERT_TRUE(renewed.has_error());
  EXPECT_NE(renewed.error().message.find("a fault of the store's"), std::string::npos) << renewed.error().message;
  TokenAcquireOptions once;
  once.waitFor = 100ms;
  EXPECT_TRUE(tokens.acquire({"invoices"}, once).has_error());
}

}  // namespace
}  // namespace tenure::test
