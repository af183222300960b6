#include "lockcore/stores/sqlite/src/call_gate.hpp"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "sqlite_support.hpp"

namespace tenure::sqlite_store {
namespace {

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
  sqlite_test::Signal inside;
  sqlite_test::Signal closing;
  std::atomic<bool> ended{false};
  std::thread caller{[&] {
    gate.call([&] {
      inside.set();
      EXPECT_TRUE(closing.wait());
      ended = true;
    });
  }};
  ASSERT_TRUE(inside.wait());
  std::thread closer{[&] {
    closing.set();
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
}  // namespace tenure::sqlite_store
