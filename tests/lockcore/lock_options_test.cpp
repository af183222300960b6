#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include <tenure/lockcore/stores/memory_store.hpp>
#include <tenure/testing/manual_runtime.hpp>

#include "lockcore/lock/lock_client_impl.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;

struct Row {
  const char* field;
  AcquireOptions good;
  AcquireOptions bad;
  const char* message;
};

// Each time is good at its bound, and refused one millisecond beyond.
const Row rows[] = {
    {"waitFor", {.waitFor = 0ms}, {.waitFor = -1ms}, "-1ms is out of range; allowed is 0ms to 86400000ms"},
    {"waitFor", {.waitFor = 24h}, {.waitFor = 24h + 1ms}, "86400001ms is out of range; allowed is 0ms to 86400000ms"},
    {"poll", {.poll = 10ms}, {.poll = 9ms}, "9ms is out of range; allowed is 10ms to 86400000ms"},
    {"poll", {.poll = 24h}, {.poll = 24h + 1ms}, "86400001ms is out of range; allowed is 10ms to 86400000ms"},
    {"maxConsecutiveHold",
     {.maxConsecutiveHold = 0ms},
     {.maxConsecutiveHold = -1ms},
     "-1ms is out of range; allowed is 0ms to 86400000ms"},
    {"maxConsecutiveHold",
     {.maxConsecutiveHold = 24h},
     {.maxConsecutiveHold = 24h + 1ms},
     "86400001ms is out of range; allowed is 0ms to 86400000ms"},
    {"yieldFor",
     {.maxConsecutiveHold = 0ms, .yieldFor = 0ms},
     {.maxConsecutiveHold = 0ms, .yieldFor = -1ms},
     "-1ms is out of range; allowed is 0ms to 86400000ms"},
    {"yieldFor",
     {.maxConsecutiveHold = 0ms, .yieldFor = 24h},
     {.maxConsecutiveHold = 0ms, .yieldFor = 24h + 1ms},
     "86400001ms is out of range; allowed is 0ms to 86400000ms"},
};

TEST(AcquireOptionsTest, eachRangeEndsWhereItSays) {
  const auto store = makeMemoryStore(std::make_shared<test::ManualScheduler>());
  for (const Row& row : rows) {
    SCOPED_TRACE(std::string{row.field} + ": " + row.message);
    EXPECT_TRUE(checked(LeaseKey{"key"}, row.good, LeaseOptions{}, *store).has_value());
    const auto refused = checked(LeaseKey{"key"}, row.bad, LeaseOptions{}, *store);
    ASSERT_TRUE(refused.has_error());
    const OptionFaults faults = refused.error();
    ASSERT_EQ(faults.size(), 1U);
    EXPECT_EQ(faults[0].field, row.field);
    EXPECT_EQ(faults[0].message, row.message);
  }
}

}  // namespace
}  // namespace tenure
