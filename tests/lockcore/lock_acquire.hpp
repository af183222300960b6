// Two clients that acquire locks, on a manual clock.
#pragma once

#include <memory>

#include <gtest/gtest.h>

#include "lockcore/lock_world.hpp"

namespace tenure::test {

class LockAcquire : public testing::Test {
 protected:
  LockWorld world;
  std::unique_ptr<LockClient> a{world.makeClient("a")};
  std::unique_ptr<LockClient> b{world.makeClient("b")};

  void TearDown() override {
    // Clients wait for their locks' releases in real time, and nobody would run the scheduler then.
    for (auto* client : {&a, &b}) {
      if (*client) world.blocking([&] { return (*client)->close(); });
    }
  }
};

}  // namespace tenure::test
