// The line of waiting candidates in a process: each begins its own attempt, and only the head of the line lets the next
// one begin.
#include "lockcore/lock/lock_line.hpp"

#include <atomic>
#include <barrier>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/lockcore/stores/memory_store.hpp>

#include "lockcore/lease/lease_memory.hpp"

namespace tenure::test {
namespace {

class LockLine : public testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<PlaceInLine> join(PlaceInLine::Begin begin) const {
    return std::make_unique<PlaceInLine>(store_, LeaseKey{"orders"}, std::move(begin));
  }

  const std::shared_ptr<LeaseStore> store_{makeMemoryStore()};
};

TEST_F(LockLine, theNextBeginsWhenTheFirstLeaves) {
  int begun = 0;
  auto first = join([&](const PlaceInLine::Memory&) { begun += 1; });
  const auto second = join([&](const PlaceInLine::Memory&) { begun += 10; });
  EXPECT_EQ(begun, 1);
  first.reset();
  EXPECT_EQ(begun, 11);
}

TEST_F(LockLine, whoLeavesFromTheMiddleBeginsNobody) {
  int begun = 0;
  auto first = join([&](const PlaceInLine::Memory&) { begun += 1; });
  auto second = join([&](const PlaceInLine::Memory&) { begun += 10; });
  const auto third = join([&](const PlaceInLine::Memory&) { begun += 100; });
  second.reset();
  EXPECT_EQ(begun, 1);
  first.reset();
  EXPECT_EQ(begun, 101);
}

TEST_F(LockLine, theyBeginInTheOrderInWhichTheyCame) {
  constexpr int waiting = 5;
  std::vector<int> begun;
  std::vector<std::unique_ptr<PlaceInLine>> line;
  for (int i = 0; i < waiting; ++i) {
    line.push_back(join([&begun, i](const PlaceInLine::Memory&) { begun.push_back(i); }));
  }
  for (int i = 0; i < waiting; ++i) {
    ASSERT_EQ(begun.size(), static_cast<std::size_t>(i) + 1);
    EXPECT_EQ(begun.back(), i);
    line[static_cast<std::size_t>(i)].reset();
  }
}

/// The first one begins on its own thread, inside its own call, and without anybody's memory. On a full machine each
/// meeting of the two costs a turn of the scheduler's, and 20,000 rounds took minutes: there it ends after ten seconds.
TEST_F(LockLine, nobodyBeginsForAnother) {
  constexpr int rounds = 20'000;
  const auto enough = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  std::atomic<int> foreign{0};
  std::atomic<int> begun{0};
  // Both change while both threads wait.
  std::atomic<bool> leaving{true};
  bool over = false;
  std::barrier together{2, [&]() noexcept {
                          leaving = !leaving;
                          over = std::chrono::steady_clock::now() > enough;
                        }};
  const auto stand = [&] {
    for (int i = 0; i < rounds && !over; ++i) {
      together.arrive_and_wait();
      const auto here = std::this_thread::get_id();
      auto place = join([&](const PlaceInLine::Memory&) {
        ++begun;
        // Before any candidate has left, only the owner may begin its attempt.
        if (std::this_thread::get_id() != here && !leaving) ++foreign;
      });
      together.arrive_and_wait();
      place.reset();
    }
  };
  std::thread other{stand};
  stand();
  other.join();
  EXPECT_EQ(foreign, 0) << "of " << begun;
}

}  // namespace
}  // namespace tenure::test
