// The life of a sharded elector: misuse, unusual ends, forks.
#include <algorithm>
#include <future>
#include <map>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

#include "election/sharded_group.hpp"
#include "support/polled_store.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

/// With both ways in which a store may keep a group's leases.
class ShardedElectorLife : public ShardedGroup, public testing::WithParamInterface<bool> {
 protected:
  ShardedElectorLife() : ShardedGroup{12, GetParam()} {}
  [[nodiscard]] OptionFaults faultsOf(const Adjust& adjust) {
    GroupOptions options{.group = "g"};
    options.shards.count = 4;
    adjust(options);
    const auto made = Group::make(options, memory_);
    return made ? OptionFaults{} : made.error();
  }
};

INSTANTIATE_TEST_SUITE_P(Keys, ShardedElectorLife, testing::Bool());

TEST_P(ShardedElectorLife, AGroupIsEitherForOneLeaderOrForShards) {
  const auto none = [](GroupOptions& options) { options.shards.count = 0; };
  EXPECT_THROW(ShardedElector{group("a", memory_, none)}, std::invalid_argument);
  EXPECT_THROW(LeaderElector{group("a", memory_)}, std::invalid_argument);
}

TEST_P(ShardedElectorLife, BadOptionsAreRefusedByName) {
  const auto fieldOf = [](const OptionFaults& faults) {
    return faults.size() == 1 ? faults.front().field : std::string{};
  };
  EXPECT_EQ(faultsOf([](auto&) {}), OptionFaults{});
  EXPECT_EQ(fieldOf(faultsOf([](auto& o) { o.shards.count = 10'001; })), "shards.count");
  EXPECT_EQ(fieldOf(faultsOf([](auto& o) { o.shards.names = {"a"}; })), "shards.names");
  for (const char* name : {"", "a/b", "a#b", "a\nb"}) {
    EXPECT_EQ(fieldOf(faultsOf([&](auto& o) { o.shards = {.names = {"ok", name}}; })), "shards.names") << name;
  }
  EXPECT_EQ(fieldOf(faultsOf([](auto& o) { o.shards = {.names = {"a", "b", "a"}}; })), "shards.names");
  EXPECT_EQ(fieldOf(faultsOf([](auto& o) { o.shards.maxLeases = 0; })), "shards.maxLeases");
  EXPECT_EQ(fieldOf(faultsOf([](auto& o) { o.shards = {.count = 4, .maxLeases = 10'001}; })), "shards.maxLeases");
  EXPECT_EQ(fieldOf(faultsOf([](auto& o) { o.shards = {.maxLeases = 3}; })), "shards.count");
  EXPECT_EQ(fieldOf(faultsOf([](auto& o) { o.shards.listInterval = 9ms; })), "shards.listInterval");
  EXPECT_EQ(fieldOf(faultsOf([](auto& o) { o.shards.listInterval = 5001ms; })), "shards.listInterval");
  EXPECT_EQ(fieldOf(faultsOf([](auto& o) { o.group = std::string(1900, 'g'); })), "group");
}

/// The program stopped its loop first. All shards share the one second beyond what stop() may take, 1.1 s here.
TEST_P(ShardedElectorLife, AllShardsShareTheSecondMoreIfTheSchedulerStandsStill) {
  const Adjust brief = [](GroupOptions& options) { options.lease = {.duration = 100ms, .drainTimeout = 0ms}; };
  std::promise<void> release;
  std::atomic<int> working{0}, stopped{0};
  ShardListener blocking;
  blocking.onShardElected = [&, released = release.get_future().share()](const Shard&, const Leadership& term) {
    ++working;
    released.wait();
    stopped += term.stopToken().stop_requested() ? 1 : 0;
    --working;
  };
  Runtime threaded = runtime();
  threaded.executor = {};
  auto elector = std::make_unique<ShardedElector>(group("a", memory_, brief), std::move(blocking), std::move(threaded));
  elector->start();
  ASSERT_TRUE(eventually([&] { return advance(1ms), working == 12; }));
  const auto from = std::chrono::steady_clock::now();
  elector.reset();  // nobody runs the clock meanwhile
  EXPECT_LT(std::chrono::steady_clock::now() - from, 6s);
  EXPECT_EQ(working, 12);
  release.set_value();
  ASSERT_TRUE(eventually([&] { return working == 0; }));
  EXPECT_EQ(stopped, 12);
}

/// A store is the user's code. Each shard's elector asks for the name, too, on the renewal thread.
TEST_P(ShardedElectorLife, AStoreThatThrowsForItsNameIsCompetedOnAllTheSame) {
  class Nameless final : public PolledStore {
   public:
    using PolledStore::PolledStore;
    [[nodiscard]] std::string describe() const override { throw std::runtime_error{"no name"}; }
  };
  auto elector =
      std::make_unique<ShardedElector>(group("a", std::make_shared<Nameless>(memory_)), ShardListener{}, runtime());
  elector->start();
  EXPECT_TRUE(advanceUntil([&] { return elector->owned().size() == 12; }));
  EXPECT_EQ(elector->status().store, "store");
  destroy(std::move(elector));
}

TEST_P(ShardedElectorLife, NamedShardsAreLeasesOfTheirNames) {
  shards_ = 2;
  const Candidate& a = join("a", [](GroupOptions& options) { options.shards = {.names = {"north", "süd"}}; });
  ASSERT_TRUE(advanceUntil([&] { return isEven(); }));
  EXPECT_EQ(a.elector->owned().at(1).shard, (Shard{1, "süd"}));
  std::optional<LeaseRecord> record;
  memory_->read(keys().keyOf("north"), {}, [&](const ReadOutcome& outcome) { record = outcome.value(); });
  settle();
  EXPECT_EQ(record.value().holder, a.elector->candidate());
}

TEST_P(ShardedElectorLife, StopReleasesEveryShardAndThePresence) {
  Candidate& a = join("a");
  ASSERT_TRUE(advanceUntil([&] { return isEven(); }));
  leave(a);
  EXPECT_EQ(count("revoked a"), 12);
  std::vector<ListedLease> all;
  keys().list(*memory_, {}, [&](const ListOutcome& outcome) { all = outcome.value(); });
  settle();
  EXPECT_EQ(all.size(), 13U);
  for (const ListedLease& one : all) EXPECT_TRUE(one.record.value().released) << one.key.name;
  EXPECT_EQ(a.elector->stop(), ReleaseResult::released) << "again: the same";
  EXPECT_THROW(a.elector->start(), std::logic_error);
}

/// It had to leave another slot before. That slot's end comes while the release of the present slot is under way.
TEST_P(ShardedElectorLife, StopAwaitsTheReleaseOfThePresentSlotAndNotThatOfAnOlderOne) {
  const auto quick = [](GroupOptions& options) { options.lease = {.duration = 300ms, .heartbeat = 100ms}; };
  Candidate& a = join("a", quick);
  ASSERT_TRUE(advanceUntil([&] { return isEven(); }));
  const auto slots = [&] {
    std::vector<ListedLease> listed;
    keys().list(*memory_, {}, [&](const ListOutcome& outcome) { listed = outcome.value(); });
    clock_->runReady();
    std::erase_if(listed, [&](const ListedLease& one) { return !keys().partOf(one.key)->starts_with("member/"); });
    return listed;
  };
  ASSERT_EQ(slots().size(), 1U);
  // From here on the executor does not run, so no lost lease comes to its end.
  const LeaseRecord held = slots().front().record.value();
  WriteRequest theft{slots().front().key, WriteRequest::Purpose::acquire, {held.version}, held};
  theft.record.holder = "mallory#1";
  theft.record.version = RecordVersion{"mallory-1"};
  theft.record.leaseDuration = 60s;
  bool stolen = false;
  memory_->write(theft, {}, [&](const WriteOutcome& outcome) { stolen = std::holds_alternative<Applied>(outcome); });
  clock_->runReady();
  ASSERT_TRUE(stolen);
  const auto hasNewSlot = [&] {
    const auto all = slots();
    return std::any_of(all.begin(), all.end(),
                       [&](const ListedLease& one) { return one.record.value().holder == a.elector->candidate(); });
  };
  for (int i = 0; i < 1000 && !hasNewSlot(); ++i) clock_->advance(10ms);
  ASSERT_TRUE(hasNewSlot());
  a.link->holdsSlotReleases = true;
  a.elector->requestStop();
  settle();
  ASSERT_TRUE(a.link->late) << "the present slot is being released";
  EXPECT_EQ(count("revoked a"), 12);
  EXPECT_EQ(a.elector->stop(), ReleaseResult::unknown) << "others may still take it for a member";
  a.link->late();
  settle();
  EXPECT_EQ(a.elector->stop(), ReleaseResult::released);
  a.crashed = true;
}

TEST_P(ShardedElectorLife, StopBeforeStartDoesNothing) {
  ShardedElector never{group("a", memory_), {}, runtime()};
  EXPECT_EQ(never.stop(), ReleaseResult::notHeld);
  const ShardedElector unused{group("b", memory_), {}, runtime()};
  settle();
  EXPECT_EQ(clock_->timers(), 0U);
}

TEST_P(ShardedElectorLife, DestroyedInItsOwnCallbackItEndsAfterIt) {
  std::unique_ptr<ShardedElector> elector;
  ShardListener listener;
  listener.onShardElected = [&](const Shard&, const Leadership&) {
    tell("elected");
    elector.reset();
  };
  listener.onShardRevoked = [&](const Shard&, const TermEnd&) { tell("revoked"); };
  elector = std::make_unique<ShardedElector>(group("a", memory_), std::move(listener), runtime());
  elector->start();
  ASSERT_TRUE(advanceUntil([&] { return !elector && count("elected") > 0; }));
  advance(5s);
  EXPECT_EQ(count("elected"), count("revoked"));
  EXPECT_EQ(clock_->timers(), 0U) << "nothing is left";
}

TEST_P(ShardedElectorLife, DestroyedWhileItsSchedulerStandsStillItsWorkIsToldToStop) {
  const auto quick = [](GroupOptions& options) {
    options.lease = {.duration = 200ms, .heartbeat = 60ms, .drainTimeout = 0ms};
  };
  ShardListener listener;
  listener.onShardElected = [&](const Shard&, const Leadership&) { tell("elected"); };
  listener.onShardRevoked = [&](const Shard&, const TermEnd& why) {
    EXPECT_EQ(why.reason, RevokeReason::stopped);
    tell("revoked");
  };
  Runtime threaded = runtime();
  threaded.executor = {};
  auto elector = std::make_unique<ShardedElector>(group("a", memory_, quick), std::move(listener), std::move(threaded));
  elector->start();
  ASSERT_TRUE(eventually([&] { return advance(5ms), count("elected") == 12; }));
  elector.reset();  // nobody runs the scheduler
  EXPECT_EQ(count("revoked"), 12);
}

TEST_P(ShardedElectorLife, AForkedChildNeitherOwnsNorWaits) {
  Candidate& a = join("a");
  ASSERT_TRUE(advanceUntil([&] { return isEven(); }));
  const pid_t child = fork();
  if (child == 0) {
    const bool nothing = !a.elector->owns(0) && a.elector->owned().empty() && a.elector->status().owned.empty() &&
                         a.elector->stop() == ReleaseResult::notHeld;
    a.elector->requestStop();
    a.elector.reset();
    _exit(nothing ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(a.elector->owns(0));
}

class OfOneShard : public ShardedGroup {
 protected:
  OfOneShard() : ShardedGroup{1} {}
};

/// Nobody could report progress of it, and nothing that it did would go on.
TEST_F(OfOneShard, TheLeaseThatShowsACandidateHasNoWork) {
  for (const char* name : {"a", "b"}) {
    join(name, [](GroupOptions& options) { options.lease.progressTimeout = 2s; });
  }
  ASSERT_TRUE(advanceUntil([&] { return unowned() == 0; }));
  advance(30s);
  std::map<std::string, std::uint64_t> tokens;
  memory_->list("g", {}, [&](const ListOutcome& outcome) {
    for (const ListedLease& each : outcome.value()) {
      const std::string name = toString(each.key);
      if (name.find("/member/") != std::string::npos) tokens[name] = each.record.value().token.value();
    }
  });
  settle();
  EXPECT_EQ(tokens.size(), 2U);
  for (const auto& [name, token] : tokens) EXPECT_EQ(token, 1U) << name;
}

}  // namespace
}  // namespace tenure::test
