// Many electors, many threads, everything at once, in real time: a test for ThreadSanitizer and AddressSanitizer.
#include <array>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

#include <tenure/lockcore/stores/memory_store.hpp>

#include "election/stage.hpp"
#include "support/seeded_random.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

/// Checks the contract of the callbacks of one elector.
class Judge {
 public:
  Judge(std::atomic<std::uint64_t>& highest, std::atomic<int>& faults) : highest_{highest}, faults_{faults} {}

  [[nodiscard]] static Listener listenerOf(const std::shared_ptr<Judge>& judge) {
    Listener listener;
    listener.onElected = [judge](const Leadership& term) { judge->elected(term); };
    listener.onRevoked = [judge](const TermEnd& why) { judge->revoked(why); };
    listener.onInDoubt = [judge](const Doubt&) { judge->notice(); };
    listener.onRenewed = [judge](const Renewal&) { judge->notice(); };
    listener.onLeaderChanged = [judge](const std::optional<LeaderInfo>&) { judge->notice(); };
    return listener;
  }
  /// Called after the elector was destroyed.
  void close() {
    closed_ = true;
    require(!leads_, "elected and never revoked");
  }
  [[nodiscard]] bool isClosed() const { return closed_; }

 private:
  void elected(const Leadership& term) {
    enter(terms_);
    require(!leads_.exchange(true), "elected twice");
    token_ = term.fencingToken();
    std::uint64_t before = highest_.load();
    while (before < token_.value() && !highest_.compare_exchange_weak(before, token_.value())) {
    }
    require(before < token_.value(), "a token that is not higher than all before");
    term.reportProgress();
    leave(terms_);
  }
  void revoked(const TermEnd& why) {
    enter(terms_);
    require(leads_.exchange(false), "revoked and not elected");
    require(why.token == token_, "revoked for another term");
    leave(terms_);
  }
  void notice() {
    enter(notices_);
    leave(notices_);
  }
  void enter(std::atomic<int>& lane) {
    require(++lane == 1, "two callbacks at once");
    require(!closed_, "called after the destructor");
  }
  static void leave(std::atomic<int>& lane) { --lane; }
  void require(bool condition, const char* what) {
    if (condition) return;
    ++faults_;
    ADD_FAILURE() << what;
  }

  std::atomic<std::uint64_t>& highest_;
  std::atomic<int>& faults_;
  std::atomic<bool> leads_{false};
  std::atomic<bool> closed_{false};
  std::atomic<int> terms_{0};
  std::atomic<int> notices_{0};
  FencingToken token_{};
};

/// One lease with several electors that are created and destroyed.
class Arena {
 public:
  Arena(std::shared_ptr<LeaseStore> store, std::string lease) : store_{std::move(store)}, lease_{std::move(lease)} {
    for (Slot& slot : slots_) fill(slot);
  }
  ~Arena() {
    for (Slot& slot : slots_) empty(slot);
  }

  void meddle(SeededRandom& random) {
    Slot& slot = slots_[random.below(slots_.size())];
    if (random.chance(0.02)) {
      const std::lock_guard alone{slot.replacing};
      empty(slot);
      return fill(slot);
    }
    std::shared_ptr<LeaderElector> elector;
    {
      const std::lock_guard lock{slot.mutex};
      elector = slot.elector;
    }
    if (!elector) return;
    switch (random.below(8)) {
      case 0:
        return elector->stepDown("stress");
      case 1:
        return (void)elector->status();
      case 2:
        return random.chance(0.05) ? elector->requestStop() : (void)elector->remaining();
      case 3:
        return random.chance(0.05) ? (void)elector->stop() : (void)elector->candidate();
      default:
        return (void)(elector->isLeader() && elector->fencingToken());
    }
  }

  [[nodiscard]] int faults() const { return faults_; }
  [[nodiscard]] std::uint64_t terms() const { return highest_; }

 private:
  struct Slot {
    std::mutex replacing;
    std::mutex mutex;  // guards elector
    std::shared_ptr<LeaderElector> elector{};
    std::shared_ptr<Judge> judge{};
  };

  void fill(Slot& slot) {
    slot.judge = std::make_shared<Judge>(highest_, faults_);
    GroupOptions options{.group = lease_, .candidate = {.id = "stress"}, .lease = {.duration = 300ms}};
    options.lease.progressTimeout = 10s;
    // Its last user destroys it. A weak reference would expire before the destructor has returned.
    const std::shared_ptr<LeaderElector> elector{
        new LeaderElector{Group::make(std::move(options), store_).value(), Judge::listenerOf(slot.judge)},
        [judge = slot.judge](LeaderElector* last) {
          delete last;
          judge->close();
        }};
    elector->start();
    const std::lock_guard lock{slot.mutex};
    slot.elector = elector;
  }
  void empty(Slot& slot) {
    std::shared_ptr<LeaderElector> elector;
    {
      const std::lock_guard lock{slot.mutex};
      elector.swap(slot.elector);
    }
    elector.reset();
    EXPECT_TRUE(eventually([&] { return slot.judge->isClosed(); }));
  }

  const std::shared_ptr<LeaseStore> store_;
  const std::string lease_;
  std::atomic<std::uint64_t> highest_{0};
  std::atomic<int> faults_{0};
  std::array<Slot, 4> slots_{};
};

TEST(Stress, everythingAtOnceKeepsTheContract) {
  const auto store = makeMemoryStore();
  std::uint64_t terms = 0;
  {
    std::array<Arena, 4> arenas{Arena{store, "a"}, Arena{store, "b"}, Arena{store, "c"}, Arena{store, "d"}};
    std::atomic<bool> over{false};
    std::vector<std::thread> threads;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      threads.emplace_back([&, seed] {
        SeededRandom random{seed};
        while (!over) {
          arenas[random.below(arenas.size())].meddle(random);
          const std::chrono::microseconds pace{random.below(300)};
          std::this_thread::sleep_for(pace);  // lint-allow(sleep): the load's pace; nothing is waited for
        }
      });
    }
    std::this_thread::sleep_for(3s);  // lint-allow(sleep): the length of the test; nothing is waited for
    over = true;
    for (std::thread& thread : threads) thread.join();
    for (const Arena& arena : arenas) {
      EXPECT_EQ(arena.faults(), 0);
      terms += arena.terms();
    }
  }
  EXPECT_GE(terms, 10U) << "too calm to show anything";
}

std::size_t threadsOfThisProcess() {
  const std::filesystem::directory_iterator tasks{"/proc/self/task"};
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

TEST(Stress, aThousandElectorsShareAFewThreads) {
  std::thread{[] {}}.join();  // ThreadSanitizer starts its own thread together with the first of ours
  const auto before = threadsOfThisProcess();
  const auto store = makeMemoryStore();
  std::atomic<int> told{0};
  Listener listener;
  listener.onLeaderChanged = [&](const std::optional<LeaderInfo>& leader) { told += leader ? 1 : 0; };
  std::vector<std::unique_ptr<LeaderElector>> electors;
  for (int i = 0; i < 1'000; ++i) {
    GroupOptions options{.group = "lease " + std::to_string(i % 50), .candidate = {.id = "c"}};
    options.lease.duration = 30s;
    electors.push_back(std::make_unique<LeaderElector>(Group::make(std::move(options), store).value(), listener));
    electors.back()->start();
  }
  ASSERT_TRUE(eventually([&] { return told >= 1'000; })) << told;
  EXPECT_LE(threadsOfThisProcess(), before + 20) << "a burst of callbacks";
  // One renewal thread, one that fires stop tokens, the watchdog, and the callback thread that the burst left idle.
  EXPECT_TRUE(eventually([&] { return threadsOfThisProcess() <= before + 4; }));
  for (auto& elector : electors) elector->requestStop();
  electors.clear();
  EXPECT_TRUE(eventually([&] { return threadsOfThisProcess() <= before + 1; })) << "the store's renewal thread is left";
}

}  // namespace
}  // namespace tenure::test
