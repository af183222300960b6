// Hints that a lease may have changed.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "contract/store_contract.hpp"

namespace tenure::contract {
namespace {

/// Counts hints and lets a test wait for them.
class Hints {
 public:
  std::function<void()> hint() {
    return [this] {
      if (caller_.load() == std::this_thread::get_id()) inline_ = true;
      const std::lock_guard lock{mutex_};
      ++count_;
      arrived_.notify_all();
    };
  }
  /// False if no further hint came within `patience`.
  [[nodiscard]] bool waitForMoreThan(int seen) {
    std::unique_lock lock{mutex_};
    return arrived_.wait_for(lock, patience, [&] { return count_ > seen; });
  }
  [[nodiscard]] int count() {
    const std::lock_guard lock{mutex_};
    return count_;
  }
  /// Calls that are made inside `calls` must not run the hint.
  template <class Calls>
  void during(const Calls& calls) {
    caller_ = std::this_thread::get_id();
    calls();
    caller_ = std::thread::id{};
  }
  [[nodiscard]] bool ranInline() const { return inline_; }

 private:
  std::atomic<std::thread::id> caller_{};
  std::atomic<bool> inline_{false};
  std::mutex mutex_;
  std::condition_variable arrived_;
  int count_{0};
};

}  // namespace

TEST_P(StoreWatchContract, hintsAfterEachWriteOfAnotherHandle) {
  const LeaseKey key{"lease", "it's"};
  Hints hints;
  const auto watch = store().raw().watch(key, hints.hint());
  ASSERT_NE(watch, nullptr);
  const auto expectHintAfter = [&](const char* what, WriteRequest request) {
    const int before = hints.count();
    other().apply(std::move(request));
    EXPECT_TRUE(hints.waitForMoreThan(before)) << "no hint after " << what;
  };
  expectHintAfter("the first acquisition", acquire(key, "a"));
  if (fixture().hintsOfRenewals()) expectHintAfter("a renewal", renew(key, "a", {other().record(key).version}));
  expectHintAfter("a release", release(key, "a", {other().record(key).version}));
  expectHintAfter("an acquisition", acquire(key, "b", {other().record(key).version}));
}

TEST_P(StoreWatchContract, aHintThatComesAfterTheLastWriteFindsIt) {
  const LeaseKey key{"lease"};
  other().apply(acquire(key, "a"));
  for (int round = 0; round < 20; ++round) {
    Hints hints;
    const auto watch = store().raw().watch(key, hints.hint());
    RecordVersion last;
    for (int write = 0; write < 3; ++write) {
      WriteRequest request = acquire(key, "a", {other().record(key).version});
      last = request.record.version;
      other().apply(std::move(request));
    }
    // Reads the record only when it gets a hint, as a candidate between two polls does.
    int seen = 0;
    RecordVersion found;
    while (found != last) {
      ASSERT_TRUE(hints.waitForMoreThan(seen)) << "round " << round << ": the last write was not told";
      seen = hints.count();
      found = store().record(key).version;
    }
  }
}

TEST_P(StoreWatchContract, hintsTheHandlesOwnWatchersToo) {
  const LeaseKey key{"lease"};
  Hints first;
  Hints second;
  const auto watchOne = store().raw().watch(key, first.hint());
  const auto watchTwo = store().raw().watch(key, second.hint());
  store().apply(acquire(key, "a"));
  EXPECT_TRUE(first.waitForMoreThan(0));
  EXPECT_TRUE(second.waitForMoreThan(0));
}

TEST_P(StoreWatchContract, neverHintsInsideACall) {
  const LeaseKey key{"lease"};
  Hints hints;
  std::shared_ptr<void> watch;
  hints.during([&] {
    watch = store().raw().watch(key, hints.hint());
    store().apply(acquire(key, "a"));
    for (int i = 0; i < 20; ++i) store().apply(renew(key, "a", {store().record(key).version}));
  });
  EXPECT_TRUE(hints.waitForMoreThan(0));
  EXPECT_FALSE(hints.ranInline());
}

TEST_P(StoreWatchContract, noHintRunsOnceTheHandleIsGone) {
  const LeaseKey key{"lease"};
  other().apply(acquire(key, "a"));
  std::atomic<bool> stop{false};
  std::thread writer{[&] {
    while (!stop) other().apply(acquire(key, "a", {other().record(key).version}));
  }};
  std::atomic<int> late{0};
  for (int round = 0; round < 100; ++round) {
    std::atomic<bool> gone{false};
    Hints hints;
    const auto arrived = hints.hint();
    auto watch = store().raw().watch(key, [&] {
      arrived();
      std::this_thread::yield();
      if (gone) ++late;
    });
    const bool told = round % 2 == 1 || hints.waitForMoreThan(0);
    watch.reset();
    gone = true;
    if (!told) {
      ADD_FAILURE() << "round " << round << ": no hint";
      break;
    }
  }
  stop = true;
  writer.join();
  EXPECT_EQ(late, 0);
}

TEST_P(StoreWatchContract, aWatchMayOutliveItsStore) {
  const LeaseKey key{"lease"};
  Hints hints;
  StoreCalls doomed = openMore();
  auto watch = doomed.raw().watch(key, hints.hint());
  doomed.drop();
  other().apply(acquire(key, "a"));
  watch.reset();
  const int before = hints.count();
  other().apply(renew(key, "a", {other().record(key).version}));
  EXPECT_EQ(hints.count(), before);
}

}  // namespace tenure::contract
