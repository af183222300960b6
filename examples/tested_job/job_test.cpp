// Tests without a store, without threads and without waiting. Time moves when the test moves it.
#include "job.hpp"

#include <chrono>

#include <gtest/gtest.h>

#include <tenure/election/leader_elector.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>
#include <tenure/testing/hand_made_term.hpp>
#include <tenure/testing/manual_runtime.hpp>

namespace {

using namespace std::chrono_literals;
using tenure::FencingToken;
using tenure::Leadership;
using tenure::test::HandMadeTerm;
using tenure::test::ManualRuntime;

const std::vector<std::string> customers{"ann", "ben", "cid", "dot"};

// A term made by hand is enough for what works under one.
TEST(ChargeAll, StopsWhereTheTermIsLost) {
  HandMadeTerm term{{.token = FencingToken{7}}};
  std::vector<std::string> charged;
  const auto charge = [&](FencingToken token, const std::string& customer) {
    EXPECT_EQ(token, FencingToken{7});
    charged.push_back(customer);
    if (charged.size() == 2) term.lose();
  };
  EXPECT_EQ(tested_job::chargeAll(term.leadership(), customers, charge), 2U);
  EXPECT_EQ(charged, (std::vector<std::string>{"ann", "ben"}));
}

TEST(ChargeAll, StopsByTheClockWhenRenewalsEnd) {
  ManualRuntime world;
  const HandMadeTerm term{{.leadsFor = 3s, .clock = world.clock->clock()}};
  const auto takesASecond = [&](FencingToken, const std::string&) { world.advance(1s); };
  EXPECT_EQ(tested_job::chargeAll(term.leadership(), customers, takesASecond), 3U);
}

// Two whole candidates, one after the other.
TEST(ChargeAll, IsGoneOnWithByTheNextLeader) {
  ManualRuntime world;
  const auto store = tenure::makeMemoryStore(world.clock);
  std::vector<std::uint64_t> tokens;
  const auto candidate = [&](const std::string& id) {
    tenure::GroupOptions options{.group = "billing", .candidate = {.id = id}};
    options.lease.duration = 3s;
    tenure::Listener listener;
    listener.onElected = [&](const Leadership& term) { tokens.push_back(term.fencingToken().value()); };
    return std::make_unique<tenure::LeaderElector>(tenure::Group::make(options, store).value(), std::move(listener),
                                                   world.runtime());
  };
  auto first = candidate("first");
  first->start();
  ASSERT_TRUE(world.advanceUntil([&] { return first->isLeader(); }));
  world.drive<tenure::ReleaseResult>([&] { return first->stop(); });
  auto second = candidate("second");
  second->start();
  ASSERT_TRUE(world.advanceUntil([&] { return second->isLeader(); }));
  EXPECT_FALSE(first->isLeader());
  EXPECT_EQ(tokens, (std::vector<std::uint64_t>{1, 2}));
  world.drive<bool>([&] { return first.reset(), second.reset(), true; }, 10ms);  // destructors wait for the scheduler
}

}  // namespace
