#include "support/eventually.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr Eventually eventually{20ms};

TEST(Eventually, looksOnceAtLeastAndNoMoreOnceTheConditionHolds) {
  int looks = 0;
  EXPECT_TRUE(eventually([&] { return ++looks == 1; }, 0ms));
  EXPECT_EQ(looks, 1);
  EXPECT_FALSE(eventually([&] { return ++looks == 0; }, 0ms));
  EXPECT_EQ(looks, 2);
}

TEST(Eventually, isTrueWhenAnotherThreadMakesItSo) {
  for (const auto between : {0ms, 1ms}) {
    std::atomic<int> looks{0};
    std::atomic<bool> done{false};
    std::thread other{[&] {
      while (looks < 3) std::this_thread::yield();
      done = true;
    }};
    EXPECT_TRUE((Eventually{30s, between}([&] { return ++looks, done.load(); })));
    other.join();
  }
}

TEST(Eventually, sleepsBetweenItsLooks) {
  int looks = 0;
  EXPECT_FALSE((Eventually{20ms, 10ms}([&] { return ++looks == 0; })));
  EXPECT_LE(looks, 3);
}

TEST(Eventually, isFalseAfterTheBoundAndNotBefore) {
  const auto never = [] { return false; };
  const auto from = steady_clock::now();
  EXPECT_FALSE(eventually(never));
  EXPECT_GE(steady_clock::now() - from, 20ms) << "the usual one";
  const auto second = steady_clock::now();
  EXPECT_FALSE(eventually(never, 40ms));
  EXPECT_GE(steady_clock::now() - second, 40ms) << "the given one";
}

}  // namespace
}  // namespace tenure::test
