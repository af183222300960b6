// I4: a pause in the middle of a query. A separate program: the linker redirects every read of a published term to this
// file, and right before the read all clocks jump over the end of the lease.
#include <functional>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/election/sharded_elector.hpp>
#include <tenure/lockcore/lock_client.hpp>

#include "election/stage.hpp"
#include "lockcore/driver/term_cell.hpp"
#include "support/seeded_random.hpp"

namespace {

/// Runs once, right before the read that follows `looksBefore` others.
struct Interruption {
  std::function<void()> run;
  int looksBefore;
};
thread_local Interruption* pending = nullptr;

}  // namespace

// --wrap dictates the names, and the compiler the mangled rest of them: TermCell::load() const.
// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier)
extern "C" tenure::TermState __real__ZNK6tenure8TermCell4loadEv(const tenure::TermCell* cell);
extern "C" tenure::TermState __wrap__ZNK6tenure8TermCell4loadEv(const tenure::TermCell* cell) {
  if (pending != nullptr && pending->looksBefore-- == 0) std::exchange(pending, nullptr)->run();
  return __real__ZNK6tenure8TermCell4loadEv(cell);
}
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

using Question = std::function<bool()>;
using Questions = std::vector<std::pair<std::string, Question>>;

/// Makes each query without a pause, and then with a pause before its first read, its second read, and so on. `setUp`
/// creates the queried object again each time, because nothing is valid after the pause.
void expectNoBelief(const std::function<void(const std::function<void(Stage&, const Questions&)>&)>& setUp) {
  for (std::size_t which = 0, all = 1; which < all; ++which) {
    for (int looks = 0, paused = true; paused; ++looks) {
      setUp([&](Stage& stage, const Questions& questions) {
        all = questions.size();
        const auto& [name, question] = questions[which];
        ASSERT_TRUE(question()) << name << " does not hold at all";
        Interruption pause{[&] { stage.pause(10s); }, looks};
        pending = &pause;
        const bool believes = question();
        paused = std::exchange(pending, nullptr) == nullptr;
        ASSERT_TRUE(paused || looks > 0) << name << " does not look at the published term";
        if (paused) {
          EXPECT_FALSE(believes) << name << " believes in a right that had ended before look " << looks + 1;
        }
      });
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(ReadingOrder, anElectorAndItsTermReadTheClockAfterTheState) {
  expectNoBelief([](const auto& ask) {
    Stage stage;
    const Candidate a = stage.leader("a");
    const Leadership term = a.record->term();
    ask(stage, {{"isLeader()", [&] { return a->isLeader(); }},
                {"fencingToken()", [&] { return a->fencingToken().has_value(); }},
                {"remaining()", [&] { return a->remaining() > 0ns; }},
                {"status().fencingToken", [&] { return a->status().fencingToken.has_value(); }},
                {"status().remaining", [&] { return a->status().remaining > 0ns; }},
                {"Leadership::leads()", [&] { return term.leads(); }},
                {"Leadership::isValid()", [&] { return term.isValid(); }},
                {"Leadership::remaining()", [&] { return term.remaining() > 0ns; }}});
  });
}

TEST(ReadingOrder, aLockAndItsClientReadTheClockAfterTheState) {
  expectNoBelief([](const auto& ask) {
    Stage stage;
    LockClientOptions options;
    options.candidate = "a";
    options.lease = {.duration = 3s, .heartbeat = 1s};
    Runtime runtime = stage.runtime();
    LockClient client{stage.memory, std::move(options),
                      Runtime{runtime.scheduler, runtime.executor, std::move(runtime.random)}};
    std::optional<LockResult<Lock>> won;
    client.acquireAsync({"orders"}, {}, [&](LockResult<Lock> result) { won.emplace(std::move(result)); });
    ASSERT_TRUE(stage.advanceUntil([&] { return won.has_value(); }));
    const Lock& lock = **won;
    ask(stage, {{"Lock::isHeld()", [&] { return lock.isHeld(); }},
                {"Lock::isValid()", [&] { return lock.isValid(); }},
                {"Lock::remaining()", [&] { return lock.remaining() > 0ns; }},
                {"LockClient::holds()", [&] { return client.holds({"orders"}); }},
                {"LockClient::held()", [&] { return !client.held().empty(); }}});
    stage.drive<int>([&] { return client.close(), won.reset(), 0; }, 10ms);
  });
}

TEST(ReadingOrder, aShardedElectorReadsTheClockAfterTheState) {
  expectNoBelief([](const auto& ask) {
    Stage stage;
    const auto one = [](GroupOptions& options) { options.shards.count = 1; };
    auto elector =
        std::make_unique<ShardedElector>(stage.group("a", stage.memory, one), ShardListener{}, stage.runtime());
    elector->start();
    ASSERT_TRUE(stage.advanceUntil([&] { return elector->owns(0); }));
    ask(stage, {{"owns()", [&] { return elector->owns(0); }},
                {"owned()", [&] { return !elector->owned().empty(); }},
                {"status().owned", [&] { return !elector->status().owned.empty(); }}});
    stage.drive<int>([&] { return elector.reset(), 0; }, 10ms);
  });
}

}  // namespace
}  // namespace tenure::test
