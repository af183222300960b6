// A separate program, because it counts allocations.
#include "lockcore/driver/term_cell.hpp"

#include <array>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <thread>

#include <gtest/gtest.h>

namespace {

thread_local bool counting = false;
thread_local int allocations = 0;

void* allocate(std::size_t size) {
  if (counting) ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc{};
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

/// Every field shows which state it belongs to.
TermState numbered(std::uint64_t n) {
  const nanoseconds unit{static_cast<std::int64_t>(n)};
  return {{unit, 3 * unit, 5 * unit}, 7 * unit, 11 * unit, FencingToken{n}};
}

bool equal(const TermState& a, const TermState& b) {
  return a.anchor == b.anchor && a.leadsFor == b.leadsFor && a.validFor == b.validFor && a.token == b.token;
}

TEST(TermStateTest, endsByTheHoldersClock) {
  const Instant anchor{1h, 2h, 3h};
  const TermState state{anchor, 8s, 9s, FencingToken{4}};
  EXPECT_TRUE(state.leadsAt(anchor));
  EXPECT_TRUE(state.leadsAt(anchor + (8s - 1ns)));
  EXPECT_FALSE(state.leadsAt(anchor + 8s));
  EXPECT_TRUE(state.validAt(anchor + (9s - 1ns)));
  EXPECT_FALSE(state.validAt(anchor + 9s));
  const Instant suspended{anchor.raw, anchor.monotonic, anchor.boottime + 9s};
  EXPECT_FALSE(state.leadsAt(suspended));
  EXPECT_FALSE(state.validAt(suspended));
  EXPECT_EQ(state.remainingAt(anchor), 8s);
  EXPECT_EQ(state.remainingAt(anchor + 7s), 1s);
  EXPECT_EQ(state.remainingAt(anchor + 8s), 0ns);
  EXPECT_EQ(state.remainingAt(anchor + 1h), 0ns);
}

TEST(TermStateTest, withoutATokenThereIsNoTerm) {
  const TermState none{{}, 8s, 9s, FencingToken{}};
  EXPECT_FALSE(none.leadsAt({}));
  EXPECT_FALSE(none.validAt({}));
  EXPECT_EQ(none.remainingAt({}), 0ns);
}

TEST(TermCellTest, startsWithoutATerm) {
  const TermCell cell;
  EXPECT_TRUE(equal(cell.load(), TermState{}));
}

TEST(TermCellTest, givesWhatWasPublishedLast) {
  TermCell cell;
  for (std::uint64_t n = 1; n <= 100; ++n) {  // several turns of the ring
    cell.publish(numbered(n));
    EXPECT_TRUE(equal(cell.load(), numbered(n))) << n;
    EXPECT_TRUE(equal(cell.load(), numbered(n))) << n << ", read twice";
  }
  cell.publish({});
  EXPECT_TRUE(equal(cell.load(), TermState{}));
}

TEST(TermCellTest, allocatesNothing) {
  TermCell cell;
  allocations = 0;
  counting = true;
  for (std::uint64_t n = 1; n <= 40; ++n) {
    cell.publish(numbered(n));
    static_cast<void>(cell.load());
  }
  counting = false;
  EXPECT_EQ(allocations, 0);
  counting = true;
  auto control = std::make_unique<TermState>();
  counting = false;
  EXPECT_EQ(allocations, 1) << "the count works";
}

TEST(TermCellTest, noReaderSeesATornState) {
  constexpr std::uint64_t publications = 1'000'000;
  TermCell cell;
  std::atomic<int> reading{0};
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> torn{0};
  std::atomic<std::uint64_t> backwards{0};
  std::array<std::thread, 3> readers;
  for (std::thread& reader : readers) {
    reader = std::thread{[&] {
      ++reading;
      std::uint64_t last = 0;
      for (bool more = true; more;) {
        more = !done.load();  // one more read after the last publication
        const TermState state = cell.load();
        if (!equal(state, numbered(state.token.value()))) ++torn;
        if (state.token.value() < last) ++backwards;
        last = state.token.value();
      }
      if (last != publications) ++backwards;
    }};
  }
  while (reading.load() < 3) std::this_thread::yield();
  for (std::uint64_t n = 1; n <= publications; ++n) cell.publish(numbered(n));
  done.store(true);
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(torn.load(), 0U);
  EXPECT_EQ(backwards.load(), 0U);
}

}  // namespace
}  // namespace tenure::test
