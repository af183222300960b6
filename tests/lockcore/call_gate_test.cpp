#include "lockcore/runtime/call_gate.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include <gtest/gtest.h>

namespace tenure {
namespace {

constexpr std::chrono::seconds longEnough{30};

TEST(CallGate, nothingRunsAfterItWasClosed) {
  CallGate gate;
  int calls = 0;
  gate.call([&] { ++calls; });
  gate.close();
  gate.call([&] { ++calls; });
  EXPECT_EQ(calls, 1);
}

TEST(CallGate, closingWaitsForTheCallThatIsRunning) {
  CallGate gate;
  std::promise<void> inside;
  std::promise<void> closing;
  std::atomic<bool> ended{false};
  std::thread caller{[&] {
    gate.call([&] {
      inside.set_value();
      EXPECT_EQ(closing.get_future().wait_for(longEnough), std::future_status::ready);
      ended = true;
    });
  }};
  ASSERT_EQ(inside.get_future().wait_for(longEnough), std::future_status::ready);
  std::thread closer{[&] {
    closing.set_value();
    gate.close();
    EXPECT_TRUE(ended);
  }};
  closer.join();
  caller.join();
}

TEST(CallGate, aCallMayCloseItsOwnGate) {
  CallGate gate;
  gate.call([&] { gate.close(); });
  bool called = false;
  gate.call([&] { called = true; });
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace tenure
