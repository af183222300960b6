// The rate of the clocks against each other: it is measured, reported once, and shown in the status.
#include "lockcore/runtime/clock_gauge.hpp"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "lockcore/driver_world.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

/// A minute in which CLOCK_MONOTONIC runs `ppm` parts per million faster than RAW.
Instant aMinuteOn(const Instant& at, int ppm) {
  const std::chrono::nanoseconds apart{60'000LL * ppm};
  return {at.raw + 1min, at.monotonic + 1min + apart, at.boottime + 1min + apart};
}

TEST(ClockGauge, knowsNothingBeforeAMinuteIsOver) {
  ClockGauge gauge;
  EXPECT_FALSE(gauge.noteBeyond({1h, 2h, 3h}));
  EXPECT_FALSE(gauge.noteBeyond({1h + 59s, 3h, 4h}));
  EXPECT_EQ(gauge.ppm(), std::nullopt);
}

TEST(ClockGauge, measuresFasterAndSlower) {
  ClockGauge gauge;
  Instant at{1h, 2h, 3h};
  EXPECT_FALSE(gauge.noteBeyond(at));
  for (const int ppm : {0, 40, -40, 499, -499}) {
    at = aMinuteOn(at, ppm);
    EXPECT_FALSE(gauge.noteBeyond(at)) << ppm;
    ASSERT_TRUE(gauge.ppm());
    EXPECT_NEAR(*gauge.ppm(), ppm, 0.1);
  }
}

TEST(ClockGauge, aSuspendIsNoRate) {
  ClockGauge gauge;
  Instant at{1h, 2h, 3h};
  EXPECT_FALSE(gauge.noteBeyond(at));
  at = aMinuteOn(at, 10);
  at.boottime += 8h;
  EXPECT_FALSE(gauge.noteBeyond(at));
  EXPECT_NEAR(*gauge.ppm(), 10, 0.1);
}

TEST(ClockGauge, tellsOnceAndAgainAfterAnHour) {
  for (const int ppm : {501, -501, 83'000}) {
    ClockGauge gauge;
    Instant at{1h, 2h, 3h};
    EXPECT_FALSE(gauge.noteBeyond(at));
    int told = 0;
    for (int minute = 0; minute < 120; ++minute) {
      at = aMinuteOn(at, ppm);
      told += gauge.noteBeyond(at) ? 1 : 0;
      ASSERT_GE(told, 1) << "not told with the first";
    }
    EXPECT_EQ(told, 2) << ppm;
  }
}

TEST(ClockGauge, whatPassedAndComesBackIsNewsAgain) {
  ClockGauge gauge;
  Instant at{1h, 2h, 3h};
  EXPECT_FALSE(gauge.noteBeyond(at));
  EXPECT_TRUE(gauge.noteBeyond(at = aMinuteOn(at, 600)));
  EXPECT_FALSE(gauge.noteBeyond(at = aMinuteOn(at, 600)));
  EXPECT_FALSE(gauge.noteBeyond(at = aMinuteOn(at, 20)));
  EXPECT_TRUE(gauge.noteBeyond(at = aMinuteOn(at, 600)));
}

TEST(LeaseDriverStatus, showsTheRateOfTheClocks) {
  DriverWorld world;
  world.start();
  world.pass(30s);
  EXPECT_EQ(world.driver->status().clockRatePpm, std::nullopt);
  for (int second = 0; second < 150; ++second) {
    world.scheduler->moveClocks({.monotonic = 1ms, .boottime = 1ms});  // 0.1 % fast
    world.pass(1s);
  }
  ASSERT_TRUE(world.driver->status().clockRatePpm);
  EXPECT_NEAR(*world.driver->status().clockRatePpm, 1'000, 50);
  const auto warned = std::count_if(world.lines.begin(), world.lines.end(), [](const std::string& line) {
    return line.find("parts per million apart") != std::string::npos;
  });
  EXPECT_EQ(warned, 1);
}

}  // namespace
}  // namespace tenure::test
