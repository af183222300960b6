// The list of events: bounded, and never waits.
#include "lockcore/driver/event_ring.hpp"

#include <atomic>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

namespace tenure::test {
namespace {

struct Pair {
  std::uint64_t number{0};
  std::uint64_t twice{0};
};

TEST(EventRing, KeepsTheLastValuesInOrder) {
  EventRing<Pair, 4> ring;
  EXPECT_TRUE(ring.all().empty());
  for (std::uint64_t i = 1; i <= 3; ++i) ring.push({i, 2 * i});
  ASSERT_EQ(ring.all().size(), 3U);
  EXPECT_EQ(ring.all().front().number, 1U);
  for (std::uint64_t i = 4; i <= 10; ++i) ring.push({i, 2 * i});
  const auto all = ring.all();
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all.front().number, 7U);
  EXPECT_EQ(all.back().number, 10U);
}

TEST(EventRing, ReaderNeverSeesHalfAValue) {
  EventRing<Pair, 8> ring;
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> looks{0};
  std::thread writer{[&] {
    for (std::uint64_t i = 1; i <= 200'000 || looks.load() < 10; ++i) ring.push({i, 2 * i});
    done.store(true);
  }};
  bool whole = true, ordered = true;
  while (!done.load()) {
    std::uint64_t last = 0;
    for (const Pair& each : ring.all()) {
      whole = whole && each.twice == 2 * each.number;
      ordered = ordered && each.number > last;
      last = each.number;
    }
    ++looks;
  }
  writer.join();
  EXPECT_TRUE(whole);
  EXPECT_TRUE(ordered);
}

}  // namespace
}  // namespace tenure::test
