// What a client does beside one lock: it looks, observes, acquires several, and closes.
#include <future>
#include <stdexcept>

#include "lockcore/lock_hold.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

TEST_F(LockHold, peekShowsWithoutAnyPower) {
  const auto look = [&](const char* key) { return world.blocking([&, key] { return b->peek({key}); }).value(); };
  EXPECT_EQ(look("orders").state(), LeaseViewState::absent);
  Lock lock = world.acquireNow(*a, "orders", {.data = "d", .attributes = {{"x", "y"}}});
  const LeaseView held = look("orders");
  EXPECT_TRUE(held.isHeld());
  EXPECT_EQ(held.holder(), a->candidate());
  EXPECT_EQ(held.termNumber(), 1U);
  EXPECT_EQ(held.version(), world.stored("orders")->version.text()) << "J-77";
  EXPECT_EQ(held.lease(), 10s);
  EXPECT_EQ(held.data(), "d");
  EXPECT_EQ(held.attributes().at("x"), "y");
  world.release(lock);
  EXPECT_EQ(look("orders").state(), LeaseViewState::released);
  EXPECT_EQ(look("orders").holder(), a->candidate());
}

TEST_F(LockHold, listShowsEachLeaseUnderAPrefix) {
  std::vector<Lock> locks;
  for (const char* key : {"shop/1", "shop/2", "shop/3", "bank/1"}) locks.push_back(world.acquireNow(*a, key));
  const auto all = world.blocking([&] { return b->list("shop/"); }).value();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].key().name, "shop/1");
  EXPECT_TRUE(all[0].isHeld());
  EXPECT_EQ(world.blocking([&] { return b->list(""); })->size(), 4U);
  for (Lock& lock : locks) world.release(lock);
}

TEST_F(LockHold, observeFollowsHoldersAndNeverCompetes) {
  std::vector<std::string> seen;
  const LeaseObserver observer = b->observe({"orders"}, [&](const std::optional<LeaderInfo>& holder) {
                                    seen.push_back(holder ? holder->holder : "nobody");
                                  }).value();
  world.pass(20s);
  Lock lock = world.acquireNow(*a, "orders");
  world.pass(4s);
  EXPECT_EQ(observer.holder()->holder, a->candidate());
  world.release(lock);
  world.pass(30s);
  EXPECT_EQ(seen, (std::vector<std::string>{"nobody", a->candidate(), "nobody"}));
  EXPECT_TRUE(world.stored("orders")->released) << "nobody took it";
  EXPECT_FALSE(b->holds({"orders"}));
}

TEST_F(LockHold, acquireAllTakesAllOrNone) {
  auto all = world.blocking([&] { return a->acquireAll({{"c"}, {"a"}, {"b"}}); });
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ((*all)[0].key().name, "c");
  EXPECT_EQ((*all)[1].key().name, "a");
  EXPECT_EQ((*all)[2].key().name, "b");
  EXPECT_LT(world.stored("a")->acquiredAtMillis, world.stored("c")->acquiredAtMillis + 1) << "in the order of the keys";
  const Lock single = world.acquireNow(*b, "x2");
  const auto refused = world.blocking([&] { return a->acquireAll({{"x3"}, {"x2"}, {"x1"}}, {.waitFor = 500ms}); });
  EXPECT_EQ(refused.error().code, LockErrc::timeout);
  EXPECT_TRUE(world.stored("x1")->released);
  EXPECT_FALSE(world.stored("x3")) << "the order of the keys: it was not come to";
  const auto twice = a->acquireAll({{"y"}, {"z"}, {"y"}});
  EXPECT_EQ(twice.error().code, LockErrc::invalidOptions);
  EXPECT_FALSE(world.stored("y"));
  world.blocking([&] {
    all->clear();
    return 0;
  });
}

/// Without heartbeats the first one's lease ends while the second one is waited for, which nobody releases.
TEST_F(LockHold, acquireAllTakesNoneIfOneIsLostWhileTheOthersAreWaitedFor) {
  const Lock second = world.acquireNow(*b, "q");
  const AcquireOptions options{.lease = 4s, .manualHeartbeat = true, .waitFor = 20s};  // held for 3 s
  const auto refused = world.blocking([&] { return a->acquireAll({{"p"}, {"q"}, {"r"}}, options); });
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(refused.error().code, LockErrc::lost);
  EXPECT_EQ(refused.error().reason, RevokeReason::expired);
  const std::string& message = refused.error().message;
  EXPECT_NE(message.find("lock p was lost while the others were waited for"), std::string::npos) << message;
  EXPECT_NE(message.find("acquire all again"), std::string::npos) << message;
  EXPECT_EQ(world.stored("q")->holder, b->candidate());
  EXPECT_FALSE(world.stored("r")) << "it is in vain to wait for more";
}

TEST_F(LockHold, twoThatWantTheSameTwoLocksCrosswiseBothReturn) {
  auto first = std::async(std::launch::async, [&] {
    return a->acquireAll({{"p"}, {"q"}}, {.waitFor = 2s}).has_value();
  });
  auto second = std::async(std::launch::async, [&] {
    return b->acquireAll({{"q"}, {"p"}}, {.waitFor = 2s}).has_value();
  });
  const bool one = world.blocking([&] { return first.get(); });
  const bool two = world.blocking([&] { return second.get(); });
  EXPECT_TRUE(one || two);
}

TEST_F(LockHold, closeReleasesAllAndGoesOnAfterAnError) {
  std::vector<Lock> locks;
  for (const char* key : {"one", "two", "three"}) locks.push_back(world.acquireNow(*a, key));
  std::vector<RevokeReason> told;
  for (Lock& lock : locks) lock.onLost([&](const TermEnd& loss) { told.push_back(loss.reason); });
  for (std::size_t i = 1; i <= 1; ++i) world.store->failAt(world.store->calls() + i, Fault::throws);
  const CloseReport report = world.blocking([&] { return a->close(); });
  ASSERT_EQ(report.locks.size(), 3U);
  for (const auto& [key, result] : report.locks) EXPECT_EQ(result, ReleaseResult::released) << key.name;
  EXPECT_TRUE(report.clean());
  EXPECT_EQ(told, (std::vector<RevokeReason>(3, RevokeReason::stopped))) << "S2-26";
  for (const char* key : {"one", "two", "three"}) EXPECT_TRUE(world.stored(key)->released);
  for (const Lock& lock : locks) EXPECT_FALSE(lock.isHeld());
  EXPECT_EQ(world.blocking([&] { return a->close(); }).locks.size(), 3U) << "again: the same report";
  EXPECT_EQ(world.begin(*a, "four")->value().error().code, LockErrc::closed) << "S2-27";
}

TEST_F(LockHold, theReleaseAtCloseWaitsForWhatTheWorkWasTold) {
  Lock lock = world.acquireNow(*a, "orders");
  bool releasedTooEarly = true;
  lock.onLost([&](const TermEnd&) { releasedTooEarly = world.stored("orders")->released; });
  world.blocking([&] { return a->close(); });
  EXPECT_FALSE(releasedTooEarly);
  EXPECT_TRUE(world.stored("orders")->released);
}

TEST_F(LockHold, misuse_destroyingAClientWithHeldLocksReleasesThem) {
  Lock lock = world.acquireNow(*a, "orders");
  const auto waiting = world.begin(*a, "busy", {.waitFor = 0ms});
  world.blocking([&] {
    a.reset();
    return 0;
  });
  EXPECT_TRUE(world.stored("orders")->released);
  EXPECT_FALSE(lock.isHeld());
  EXPECT_EQ(lock.loss()->reason, RevokeReason::stopped);
  EXPECT_EQ(lock.renew().error().code, LockErrc::lost);
  EXPECT_EQ(lock.release(), ReleaseResult::released);
}

/// The program stopped its loop first: nothing is written any more, although the clock says that the lease still runs.
TEST_F(LockHold, nothingIsHeldOnceItsClientIsGoneThoughItsLoopStandsStill) {
  const Lock lock = world.acquireNow(*a, "orders");
  a.reset();
  EXPECT_TRUE(lock.isValid());
  EXPECT_FALSE(lock.isHeld());
  EXPECT_EQ(lock.remaining(), 0ns);
  ASSERT_TRUE(lock.loss());
  EXPECT_EQ(lock.loss()->reason, RevokeReason::stopped);
}

TEST(LockClientOptions, badOptionsAreToldTogether) {
  LockClientOptions options;
  options.candidate = "a#b";
  options.lease.duration = 1ms;
  options.remembered = 2'000'000;
  try {
    const LockClient client{nullptr, options};
    FAIL() << "it must throw";
  } catch (const std::invalid_argument& error) {
    const std::string what = error.what();
    for (const char* key : {"candidate:", "lease.duration:", "remembered:", "store:"}) {
      EXPECT_NE(what.find(key), std::string::npos) << key;
    }
  }
}

}  // namespace
}  // namespace tenure::test
