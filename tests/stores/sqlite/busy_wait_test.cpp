#include "lockcore/stores/sqlite/src/busy_wait.hpp"

#include <atomic>
#include <chrono>

#include <gtest/gtest.h>

namespace tenure::sqlite_store {
namespace {

using namespace std::chrono_literals;

struct BusyWaitTest : testing::Test {
  std::atomic<bool> cancelled{false};
  BusyWait wait{cancelled};
};

TEST_F(BusyWaitTest, waitsWhileTheCallHasTime) {
  const BusyWait::Guard guard{wait, Deadline{systemClock(), 1h}};
  EXPECT_TRUE(wait.step(0));
  EXPECT_TRUE(wait.step(1));
}

TEST_F(BusyWaitTest, endsOnceTheCallsTimeIsOver) {
  const BusyWait::Guard guard{wait, Deadline{systemClock(), 0ns}};
  EXPECT_FALSE(wait.step(0));
}

TEST_F(BusyWaitTest, endsOnceItIsCancelledThoughTheCallHasTime) {
  const BusyWait::Guard guard{wait, Deadline{systemClock(), 1h}};
  cancelled = true;
  EXPECT_FALSE(wait.step(0));
}

TEST_F(BusyWaitTest, doesNotBeginOutsideOfACall) {
  EXPECT_FALSE(wait.step(0));
  { const BusyWait::Guard guard{wait, Deadline{systemClock(), 1h}}; }
  EXPECT_FALSE(wait.step(0));
}

}  // namespace
}  // namespace tenure::sqlite_store
