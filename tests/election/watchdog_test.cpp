// A user may block any thread: the stop token and OnLost::terminate still work (I4, I6), in real time.
#include <atomic>
#include <mutex>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include <tenure/election/leader_elector.hpp>
#include <tenure/lockcore/asio.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>

#include "election/stage.hpp"
#include "lockcore/child_process.hpp"
#include "support/polled_store.hpp"
#include "support/users_loop.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

/// Allowed lateness. A busy machine may be late for other reasons, so a test may try again.
constexpr nanoseconds tolerance = 100ms;
constexpr int tries = 10;

/// Its writes block while a gate is set.
class BlockingStore final : public PolledStore {
 public:
  BlockingStore() : PolledStore{makeMemoryStore()} {}

  std::atomic<Gate*> gate{nullptr};

  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    if (Gate* const closed = gate.load()) closed->wait();
    behind_->write(std::move(request), options, std::move(handler));
  }
};

/// A leader that records when its stop token fired.
class Leader {
 public:
  explicit Leader(std::shared_ptr<Scheduler> scheduler, std::shared_ptr<LeaseStore> store = makeMemoryStore(),
                  Logger logger = {}, OnLost onLost = OnLost::callback, std::chrono::milliseconds duration = 600ms) {
    GroupOptions options{
        .group = "watched", .candidate = {.id = "leader"}, .lease = {.duration = duration}, .onLost = onLost};
    Runtime runtime;
    runtime.scheduler = std::move(scheduler);
    elector_.emplace(Group::make(std::move(options), std::move(store), std::move(logger)).value(), record_.terms(),
                     std::move(runtime));
    elector_->start();
    if (!eventually([this] { return record_.count("elected") > 0; })) throw std::runtime_error{"not elected"};
    term_ = record_.term();
    onStop_.emplace(term_->stopToken(), [this] { stopped(); });
  }

  [[nodiscard]] const Leadership& term() const { return *term_; }
  [[nodiscard]] LeaderElector& elector() { return *elector_; }
  [[nodiscard]] Record& record() { return record_; }
  /// Called in the stop callback.
  std::function<void()> then{};

  /// How much later than the deadline of `state` the token fired; empty if it did not fire at all.
  [[nodiscard]] std::optional<nanoseconds> latenessAfter(const TermState& state) {
    if (!eventually([this] { return fired_.load(); }, 5s)) return std::nullopt;
    const std::lock_guard lock{mutex_};
    return elapsedForHolder(state.anchor, firedAt_) - state.leadsFor;
  }

 private:
  void stopped() {
    {
      const std::lock_guard lock{mutex_};
      firedAt_ = readClock();
    }
    fired_ = true;
    if (then) then();
  }

  Record record_;
  std::optional<LeaderElector> elector_;
  std::optional<Leadership> term_;
  std::mutex mutex_;  // guards firedAt_
  Instant firedAt_{};
  std::atomic<bool> fired_{false};
  std::optional<std::stop_callback<std::function<void()>>> onStop_;
};

/// `once` returns the lateness of one try.
void expectOnTime(const std::function<std::optional<nanoseconds>()>& once) {
  nanoseconds best = nanoseconds::max();
  for (int i = 0; i < tries && best > tolerance; ++i) {
    const std::optional<nanoseconds> late = once();
    ASSERT_TRUE(late.has_value()) << "it did not fire while the thread was blocked";
    EXPECT_GE(*late, 0ns);
    best = std::min(best, *late);
  }
  EXPECT_LE(best, tolerance);
}

TEST(Watchdog, aBlockedLoopTakesNoStopTokenAway) {
  expectOnTime([] {
    UsersLoop loop;
    Gate gate;
    Leader leader{makeAsioScheduler(loop.io.get_executor())};
    loop.block(gate);
    const auto late = leader.latenessAfter(leader.term().state());
    EXPECT_FALSE(leader.term().leads());
    gate.open();
    EXPECT_TRUE(eventually([&] { return leader.record().count("revoked") == 1; }));
    const std::string detail = leader.record().why().detail;
    EXPECT_EQ(detail.find("did not run"), std::string::npos) << detail;
    EXPECT_NE(detail.find("blocked"), std::string::npos) << detail;
    return late;
  });
}

/// The thread sleeps until the first term's deadline, but the second term's deadline comes earlier.
TEST(Watchdog, aTermThatEndsSoonerDoesNotWaitForOneThatBeganBefore) {
  expectOnTime([] {
    UsersLoop loop;
    Gate gate;
    const Leader lasting{makeAsioScheduler(loop.io.get_executor()), makeMemoryStore(), {}, OnLost::callback, 60s};
    Leader leader{makeAsioScheduler(loop.io.get_executor())};
    loop.block(gate);
    const auto late = leader.latenessAfter(leader.term().state());
    gate.open();
    return late;
  });
}

TEST(Watchdog, aBlockedStopCallbackTakesNoOthersTokenAway) {
  expectOnTime([] {
    UsersLoop loop;
    Gate gate;
    Gate callback;
    Leader first{makeAsioScheduler(loop.io.get_executor())};
    Leader second{makeAsioScheduler(loop.io.get_executor())};
    first.then = [&] { callback.wait(); };
    loop.block(gate);
    const auto late = second.latenessAfter(second.term().state());
    EXPECT_TRUE(eventually([&] { return callback.entered(); }));
    callback.open();
    gate.open();
    return late;
  });
}

TEST(Watchdog, aBlockedLogSinkTakesNoStopTokenAway) {
  expectOnTime([] {
    Gate gate;
    std::atomic<bool> armed{false};
    const auto store = std::make_shared<FaultStore>(makeMemoryStore(), sharedScheduler());
    Leader leader{sharedScheduler(), store, Logger{LogLevel::warn, [&](LogLevel, std::string_view) {
                                                     if (armed) gate.wait();
                                                   }}};
    armed = true;
    store->setAll(Fault::rejected);  // a doubt is logged
    EXPECT_TRUE(eventually([&] { return gate.entered(); }));
    const auto late = leader.latenessAfter(leader.term().state());
    EXPECT_FALSE(leader.term().leads());
    armed = false;
    gate.open();
    return late;
  });
}

TEST(Watchdog, aBlockedStoreCallTakesNoStopTokenAway) {
  expectOnTime([] {
    Gate gate;
    const auto store = std::make_shared<BlockingStore>();
    Leader leader{sharedScheduler(), store};
    store->gate = &gate;
    EXPECT_TRUE(eventually([&] { return gate.entered(); }));
    const auto late = leader.latenessAfter(leader.term().state());
    EXPECT_FALSE(leader.term().leads());
    store->gate = nullptr;
    gate.open();
    return late;
  });
}

/// How soon the end comes is judged above; a machine that stands still must not be mistaken for no end.
constexpr auto patience = 5s;

/// Exits with 0 if it outlived the lease.
[[noreturn]] void leadOnABlockedLoop(int terms) {
  UsersLoop loop;
  Gate gate;
  Leader leader{makeAsioScheduler(loop.io.get_executor()), makeMemoryStore(), Logger::toStderr(LogLevel::warn),
                OnLost::terminate, 2s};
  for (int term = 2; term <= terms; ++term) {
    leader.elector().stepDown("for a test");
    if (!eventually([&] { return leader.record().count("elected") == term; })) std::_Exit(3);
  }
  loop.block(gate);
  const TermState state = leader.record().term().state();
  static_cast<void>(
      eventually([&] { return elapsedForHolder(state.anchor, readClock()) > state.validFor + patience; }));
  std::_Exit(0);
}

TEST(WatchdogDeathTest, aBlockedLoopDoesNotKeepAProcessThatIsToEndItselfAlive) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(leadOnABlockedLoop(1), testing::ExitedWithCode(lostExitCode), "on_lost: terminate");
}

TEST(WatchdogDeathTest, norDoesItInTheSecondTermAfterOneWhoseWorkEndedInTime) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(leadOnABlockedLoop(2), testing::ExitedWithCode(lostExitCode), "on_lost: terminate");
}

/// Its log sink blocks together with the loop; nobody waits for the sink.
[[noreturn]] void leadWithABlockedSink() {
  UsersLoop loop;
  Gate gate;
  std::atomic<bool> armed{false};
  Leader leader{makeAsioScheduler(loop.io.get_executor()), makeMemoryStore(),
                Logger{LogLevel::debug,
                       [&](LogLevel, std::string_view) {
                         if (armed) gate.wait();
                       }},
                OnLost::terminate};
  armed = true;
  loop.block(gate);
  const TermState state = leader.term().state();
  static_cast<void>(
      eventually([&] { return elapsedForHolder(state.anchor, readClock()) > state.validFor + patience; }));
  std::_Exit(0);
}

TEST(WatchdogDeathTest, aBlockedLogSinkDoesNotKeepAProcessThatIsToEndItselfAlive) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(leadWithABlockedSink(), testing::ExitedWithCode(lostExitCode), "");
}

#if !defined(__SANITIZE_THREAD__)  // ThreadSanitizer ends a child that starts threads if its parent had some
/// Returns what went wrong; 0: nothing.
int leadInAChild() {
  UsersLoop loop;
  Gate gate;
  Leader leader{makeAsioScheduler(loop.io.get_executor())};
  loop.block(gate);
  const int result = leader.latenessAfter(leader.term().state()) ? 0 : 2;
  gate.open();
  return result;
}

TEST(Watchdog, aForkedChildHasOneOfItsOwn) {
  UsersLoop loop;
  Leader parent{makeAsioScheduler(loop.io.get_executor())};
  EXPECT_EQ(inChild([&] { return parent.term().leads() ? 1 : leadInAChild(); }), 0);
}
#endif

/// The parent's terms must not apply to the child.
TEST(Watchdog, aForkedChildIsNotEndedByTheParentsTerm) {
  const auto until = [](const TermState& state) {
    return eventually([&] { return elapsedForHolder(state.anchor, readClock()) > state.validFor + 300ms; });
  };
  UsersLoop loop;
  Leader parent{makeAsioScheduler(loop.io.get_executor()), makeMemoryStore(), {}, OnLost::terminate};
  const TermState state = parent.term().state();
  EXPECT_EQ(inChild([&] { return until(state) ? 0 : 1; }), 0);
}

}  // namespace
}  // namespace tenure::test
