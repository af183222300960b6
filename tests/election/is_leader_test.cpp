// isLeader() and fencingToken() need neither a lock nor an allocation. A separate program, because it counts both.
#include <atomic>
#include <cstdlib>
#include <new>
#include <pthread.h>

#include <gtest/gtest.h>

#include <tenure/election/leader_elector.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>

#include "election/stage.hpp"

namespace {

thread_local bool counting = false;
thread_local int allocations = 0;
thread_local int locks = 0;

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

// The linker redirects every call of pthread_mutex_lock in this program to this function; --wrap dictates the names.
// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier)
extern "C" int __real_pthread_mutex_lock(pthread_mutex_t* mutex);
extern "C" int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
  if (counting) ++locks;
  return __real_pthread_mutex_lock(mutex);
}
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

struct Cost {
  int allocations;
  int locks;
  friend bool operator==(const Cost&, const Cost&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Cost& cost) {
    return out << cost.allocations << " allocations, " << cost.locks << " locks";
  }
};

template <class Work>
Cost costOf(Work work) {
  allocations = locks = 0;
  counting = true;
  work();
  counting = false;
  return {allocations, locks};
}

TEST(IsLeader, costsNeitherALockNorAnAllocation) {
  auto group = Group::make({.group = "cost", .candidate = {.id = "a"}}, makeMemoryStore()).value();
  Record record;
  LeaderElector elector{std::move(group), record.terms()};
  elector.start();
  ASSERT_TRUE(eventually([&] { return record.count("elected") == 1; }));
  const Leadership term = record.term();
  bool leads = true;
  const Cost cost = costOf([&] {
    for (int i = 0; i < 1'000; ++i) {
      leads = leads && elector.isLeader() && elector.fencingToken() == FencingToken{1} && elector.remaining() > 0ns &&
              term.leads() && term.isValid() && term.remaining() > 0ns && term.fencingToken() == FencingToken{1};
      term.reportProgress();
    }
  });
  EXPECT_TRUE(leads);
  EXPECT_EQ(cost, (Cost{0, 0}));
  EXPECT_GT(costOf([&] { (void)elector.status(); }).allocations, 0) << "the counters count";
  EXPECT_GT(costOf([&] { (void)elector.status(); }).locks, 0) << "the counters count";
}

}  // namespace
}  // namespace tenure::test
