// What the library asks a store about itself, apart from its calls: its name, and what it would take. A store is the
// user's code, so both may throw.
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include <tenure/lockcore/lock_tokens.hpp>

#include "lockcore/lock_world.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

const OptionFaults uncheckable{{"store", "threw while it checked data and attributes: injected"}};

class StoreQuestions : public testing::Test {
 protected:
  LockWorld world;
  std::unique_ptr<LockClient> client{world.makeClient()};

  void throwForPayloads() {
    world.store->onFaultsOfPayload = [] { throw std::runtime_error{"injected"}; };
  }
  [[nodiscard]] bool logged(const std::string& part) const {
    for (const std::string& line : world.lines) {
      if (line.find(part) != std::string::npos) return true;
    }
    return false;
  }
};

TEST_F(StoreQuestions, aLockWhosePayloadCannotBeCheckedIsNotAcquired) {
  throwForPayloads();
  const auto refused = world.tryNow(*client, "orders", {.data = "x"});
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(refused.error().code, LockErrc::invalidOptions);
  EXPECT_EQ(refused.error().faults, uncheckable);
  EXPECT_EQ(refused.error().message,
            "lock orders: invalid options; store: threw while it checked data and attributes: injected");

  world.store->onFaultsOfPayload = [] { throw 42; };
  const auto oddly = world.tryNow(*client, "orders", {.data = "x"});
  ASSERT_TRUE(oddly.has_error());
  EXPECT_NE(oddly.error().message.find("something that is not a std::exception"), std::string::npos)
      << oddly.error().message;
  EXPECT_FALSE(world.stored("orders"));
}

TEST_F(StoreQuestions, aChangeThatCannotBeCheckedIsRefusedAndTheLockHeldOn) {
  Lock lock = world.acquireNow(*client, "orders");
  throwForPayloads();
  std::optional<LockResult<void>> renewed;
  lock.renewAsync({.data = "x"}, [&](LockResult<void> result) { renewed.emplace(std::move(result)); });
  world.settle();
  ASSERT_TRUE(renewed);
  ASSERT_TRUE(renewed->has_error());
  EXPECT_EQ(renewed->error().faults, uncheckable);
  EXPECT_TRUE(lock.isHeld());
  EXPECT_EQ(world.release(lock), ReleaseResult::released);
}

/// Lock::release() is noexcept, and a lock that was not released would be held until its lease ends.
TEST_F(StoreQuestions, aReleaseGoesOnWithoutDataThatCannotBeChecked) {
  Lock lock = world.acquireNow(*client, "orders");
  throwForPayloads();
  EXPECT_EQ(world.release(lock, {.data = "x"}), ReleaseResult::released);
  EXPECT_TRUE(world.stored("orders")->released);
  EXPECT_EQ(world.stored("orders")->data, "");
  EXPECT_TRUE(
      logged("the lock is released without the data given with the release: store: threw while it checked data "
             "and attributes: injected"));
}

TEST_F(StoreQuestions, aTokenWhosePayloadCannotBeCheckedIsNotAcquired) {
  throwForPayloads();
  const auto refused = LockTokens{world.store}.acquire({"orders"}, {.waitFor = 0ms});
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(refused.error().code, LockErrc::invalidOptions);
  EXPECT_EQ(refused.error().message, "the store: threw while it checked data and attributes: injected");
}

/// The name is for people only.
TEST_F(StoreQuestions, aTokenOfAStoreThatThrowsForItsNameNamesAStore) {
  const auto store = std::make_shared<FaultStore>(makeMemoryStore(), sharedScheduler());
  store->onDescribe = [] { throw std::runtime_error{"injected"}; };
  LockTokens tokens{store};
  const auto token = tokens.acquire({"orders"}, {.waitFor = 0ms});
  ASSERT_TRUE(token.has_value()) << token.error().message;
  EXPECT_EQ(token->store(), "store");
  const auto renewed = tokens.renew(*token);
  ASSERT_TRUE(renewed.has_value()) << renewed.error().message;
  EXPECT_EQ(renewed->store(), "store");
  const auto resumed = tokens.resume({"orders"}, token->owner());
  ASSERT_TRUE(resumed.has_value()) << resumed.error().message;
  EXPECT_EQ(resumed->store(), "store");
}

}  // namespace
}  // namespace tenure::test
