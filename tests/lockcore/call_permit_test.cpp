#include "lockcore/runtime/call_permit.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include <gtest/gtest.h>

namespace tenure {
namespace {

constexpr std::chrono::seconds longEnough{30};

TEST(CallPermit, nothingRunsAfterItWasRevoked) {
  CallPermit permit;
  int calls = 0;
  permit.call([&] { ++calls; });
  permit.revoke();
  permit.call([&] { ++calls; });
  EXPECT_EQ(calls, 1);
}

TEST(CallPermit, revokingWaitsForTheCallThatIsRunning) {
  CallPermit permit;
  std::promise<void> inside;
  std::promise<void> closing;
  std::atomic<bool> ended{false};
  std::thread caller{[&] {
    permit.call([&] {
      inside.set_value();
      EXPECT_EQ(closing.get_future().wait_for(longEnough), std::future_status::ready);
      ended = true;
    });
  }};
  ASSERT_EQ(inside.get_future().wait_for(longEnough), std::future_status::ready);
  std::thread closer{[&] {
    closing.set_value();
    permit.revoke();
    EXPECT_TRUE(ended);
  }};
  closer.join();
  caller.join();
}

TEST(CallPermit, aCallMayRevokeItsOwnPermit) {
  CallPermit permit;
  permit.call([&] { permit.revoke(); });
  bool called = false;
  permit.call([&] { called = true; });
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace tenure
