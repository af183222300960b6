// Two clients that hold locks, on a manual clock.
#pragma once

#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "lockcore/lock_world.hpp"

namespace tenure::test {

class LockHold : public testing::Test {
 protected:
  LockWorld world;
  std::unique_ptr<LockClient> a{world.makeClient("a")};
  std::unique_ptr<LockClient> b{world.makeClient("b")};

  void TearDown() override {
    for (auto* client : {&a, &b}) {
      if (*client) world.blocking([&] { return (*client)->close(); });
    }
  }

  /// An asynchronous renewal; it is decided without passing time unless the store fails.
  std::shared_ptr<std::optional<LockResult<void>>> renew(Lock& lock, RenewOptions options = {}) {
    auto outcome = std::make_shared<std::optional<LockResult<void>>>();
    lock.renewAsync(std::move(options), [outcome](LockResult<void> result) { outcome->emplace(std::move(result)); });
    world.settle();
    return outcome;
  }
  static bool isGood(const std::shared_ptr<std::optional<LockResult<void>>>& outcome) {
    return *outcome && (*outcome)->has_value();
  }
};

}  // namespace tenure::test
