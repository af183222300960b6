// A store that a user wrote in front of another one: what the library finds of the store behind it.
#include "lockcore/port/extended_store.hpp"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/lockcore/stores/memory_store.hpp>
#include <tenure/testing/manual_runtime.hpp>

namespace tenure {
namespace {

/// Offers everything, and says which call came.
class WholeStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  mutable std::vector<std::string> calls{};

  [[nodiscard]] OptionFaults faultsOfPayload(const LeaseKey& /*key*/, const std::string& /*data*/,
                                             const std::map<std::string, std::string>& /*attributes*/) const override {
    return {{"data", "has no room"}};
  }
  [[nodiscard]] bool keepsGroupsTogether() const noexcept override { return true; }
  void list(std::string prefix, CallOptions options, ListHandler handler) override {
    calls.push_back("list");
    ForwardingStore::list(std::move(prefix), options, std::move(handler));
  }
  void listName(std::string name, CallOptions options, ListHandler handler) override {
    calls.push_back("listName");
    ForwardingStore::listName(std::move(name), options, std::move(handler));
  }
  void readTokens(const LeaseKey& key, CallOptions options, TokensHandler handler) override {
    calls.push_back("readTokens");
    ForwardingStore::readTokens(key, options, std::move(handler));
  }
  [[nodiscard]] std::shared_ptr<void> watchLoss(std::function<void()> /*hint*/) override {
    return std::make_shared<int>();
  }
};

/// As a test outside of this tree writes it: the six functions that must be there.
class UsersStore : public LeaseStore {
 public:
  explicit UsersStore(std::shared_ptr<LeaseStore> inner) : inner_{std::move(inner)} {}
  int reads{0};
  int lists{0};

  [[nodiscard]] std::string describe() const override { return "in front of " + inner_->describe(); }
  void ensureSchema(CallOptions options, StatusHandler handler) override {
    inner_->ensureSchema(options, std::move(handler));
  }
  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override {
    ++reads;
    inner_->read(key, options, std::move(handler));
  }
  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    inner_->write(std::move(request), options, std::move(handler));
  }
  void list(std::string prefix, CallOptions options, ListHandler handler) override {
    ++lists;
    inner_->list(std::move(prefix), options, std::move(handler));
  }
  void requestStepDown(const LeaseKey& key, FencingToken token, CallOptions options, WriteHandler handler) override {
    inner_->requestStepDown(key, token, options, std::move(handler));
  }

 protected:
  const std::shared_ptr<LeaseStore> inner_;
};

class OpenUsersStore final : public UsersStore {
 public:
  using UsersStore::UsersStore;
  [[nodiscard]] std::shared_ptr<LeaseStore> behind() const override { return inner_; }
};

class ExtendedStoreTest : public testing::Test {
 protected:
  const std::shared_ptr<test::ManualScheduler> scheduler_ = std::make_shared<test::ManualScheduler>();
  const std::shared_ptr<WholeStore> whole_ = std::make_shared<WholeStore>(makeMemoryStore(scheduler_));
};

TEST_F(ExtendedStoreTest, aStoreOfThisTreeIsItself) {
  EXPECT_EQ(extended(whole_), whole_);
  EXPECT_EQ(extended(*whole_).get(), whole_.get());
  EXPECT_EQ(extended(std::shared_ptr<LeaseStore>{}), nullptr);
}

TEST_F(ExtendedStoreTest, aUsersStoreInFrontHasWhatTheStoreBehindItOffers) {
  const auto users = std::make_shared<OpenUsersStore>(whole_);
  const auto store = extended(users);
  EXPECT_TRUE(store->keepsGroupsTogether());
  EXPECT_EQ(store->faultsOfPayload({"a"}, "", {}).size(), 1U);
  EXPECT_TRUE(store->watchLoss([] {}));
  store->readTokens({"a"}, {}, [](const auto&) {});
  store->listName("a", {}, [](const auto&) {});
  EXPECT_EQ(whole_->calls, (std::vector<std::string>{"readTokens", "listName"}));
  EXPECT_EQ(users->lists, 0);
  scheduler_->runReady();
}

TEST_F(ExtendedStoreTest, itsOwnCallsStayItsOwn) {
  const auto users = std::make_shared<OpenUsersStore>(whole_);
  const auto store = extended(users);
  EXPECT_EQ(store->describe(), users->describe());
  store->read({"a"}, {}, [](const auto&) {});
  store->list("", {}, [](const auto&) {});
  EXPECT_EQ(users->reads, 1);
  EXPECT_EQ(users->lists, 1);
  scheduler_->runReady();
}

TEST_F(ExtendedStoreTest, storesInFrontOfEachOtherReachTheLastOne) {
  const auto outer = std::make_shared<OpenUsersStore>(std::make_shared<OpenUsersStore>(whole_));
  EXPECT_TRUE(extended(*outer)->keepsGroupsTogether());
  EXPECT_TRUE(ForwardingStore{outer}.keepsGroupsTogether());
}

TEST_F(ExtendedStoreTest, aUsersStoreThatNamesNoneHasTheDefaults) {
  const auto users = std::make_shared<UsersStore>(whole_);
  const auto store = extended(users);
  EXPECT_FALSE(store->keepsGroupsTogether());
  EXPECT_TRUE(store->faultsOfPayload({"a"}, "", {}).empty());
  EXPECT_EQ(store->watchLoss([] {}), nullptr);
  EXPECT_EQ(store->deathNotice(), nullptr);
  store->listName("a", {}, [](const auto&) {});
  store->listPage("a", "", {}, [](const auto&) {});
  EXPECT_EQ(users->lists, 2);
  EXPECT_EQ(whole_->calls, (std::vector<std::string>{"list", "list"}));
  scheduler_->runReady();
}

}  // namespace
}  // namespace tenure
