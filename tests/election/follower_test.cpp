// Electors that only observe: of Group::observing, and with candidate.mode observe.
#include <stdexcept>

#include <gtest/gtest.h>

#include <tenure/election/leader_elector.hpp>

#include "election/stage.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

void observe(GroupOptions& options) { options.candidate.mode = CandidateMode::observe; }

/// A store that must not be written to.
class ReadOnlyStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    ++writes;
    ForwardingStore::write(std::move(request), options, std::move(handler));
  }
  void ensureSchema(CallOptions options, StatusHandler handler) override {
    ++writes;
    ForwardingStore::ensureSchema(options, std::move(handler));
  }
  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override {
    ++reads;
    ForwardingStore::read(key, options, std::move(handler));
  }
  [[nodiscard]] std::shared_ptr<DeathNotice> deathNotice() override {
    ++deathNotices;
    return nullptr;
  }
  [[nodiscard]] std::shared_ptr<void> watch(const LeaseKey& key, std::function<void()> hint) override {
    return notifies ? ForwardingStore::watch(key, std::move(hint)) : nullptr;
  }

  int writes{0};
  int reads{0};
  int deathNotices{0};
  bool notifies{true};
};

class Followers : public testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<LeaderElector> follower() {
    auto made =
        std::make_unique<LeaderElector>(stage_.group("f", store_).observing(), record_.notices(), stage_.runtime());
    made->start();
    stage_.settle();
    return made;
  }
  void end(std::unique_ptr<LeaderElector> follower) {
    stage_.drive<bool>([&] { return follower.reset(), true; }, 10ms);
  }

  Stage stage_;
  const std::shared_ptr<ReadOnlyStore> store_{std::make_shared<ReadOnlyStore>(stage_.memory)};
  Record record_;
};

TEST_F(Followers, areToldOfEachLeaderAndOfNobody) {
  auto f = follower();
  EXPECT_EQ(record_.lines(), Lines{"nobody leads"}) << "the first look tells, too";
  const Candidate a = stage_.leader("a");
  stage_.settle();
  EXPECT_EQ(f->status().lease.leader, (LeaderInfo{a->candidate(), FencingToken{1}, false}));
  stage_.stop(a);
  stage_.settle();
  EXPECT_EQ(f->status().lease.leader, std::nullopt);
  const Candidate b = stage_.leader("b");
  stage_.settle();
  EXPECT_EQ(record_.lines(), (Lines{"nobody leads", "leader a 1", "nobody leads", "leader b 2"}));
  end(std::move(f));
}

TEST_F(Followers, neverTakeAFreeLeaseAndWriteNothing) {
  auto f = follower();
  stage_.usurp("dead");
  stage_.advance(30s);
  EXPECT_EQ(stage_.stored()->holder, "dead") << "its lease ran out long ago";
  EXPECT_EQ(f->status().lease.leader, (LeaderInfo{"dead", FencingToken{1}, false})) << "nobody else has taken it";
  EXPECT_EQ(store_->writes, 0);
  EXPECT_EQ(store_->deathNotices, 0) << "no liveness file: others need not see its end";
  EXPECT_LT(f->status().lease.leaderSeenAgo, 2s);
  end(std::move(f));
}

TEST_F(Followers, withoutNoticesLookAboutOnceInAHeartbeat) {
  store_->notifies = false;
  auto f = follower();
  const Candidate a = stage_.leader("a");
  stage_.advance(10s);
  const int before = store_->reads;
  stage_.advance(60s);
  EXPECT_GE(store_->reads - before, 55);
  EXPECT_LE(store_->reads - before, 90);
  ASSERT_TRUE(f->status().lease.leader);
  end(std::move(f));
}

TEST_F(Followers, sayWhatPreventsALook) {
  const auto broken = std::make_shared<FaultStore>(stage_.memory, stage_.clock);
  broken->set(Operation::read, Fault::rejected);
  auto f = std::make_unique<LeaderElector>(stage_.group("f", broken).observing(), Listener{}, stage_.runtime());
  f->start();
  stage_.advance(1s);
  ASSERT_TRUE(f->status().lease.lastError);
  EXPECT_LT(f->status().lease.leaderSeenAgo, 0s) << "nothing was seen yet";
  broken->set(Operation::read, Fault::none);
  stage_.advance(10s);
  EXPECT_GE(f->status().lease.leaderSeenAgo, 0s);
  end(std::move(f));
}

TEST_F(Followers, refuseAGroupWithShards) {
  const Group sharded = stage_.group("f", store_, [](GroupOptions& options) { options.shards.count = 2; });
  EXPECT_THROW(static_cast<void>(sharded.observing()), std::invalid_argument);
  const auto observed =
      Group::make({.group = "g", .candidate = {.mode = CandidateMode::observe}, .shards = {.count = 2}}, store_);
  ASSERT_FALSE(observed);
  EXPECT_EQ(observed.error().front().field, "candidate.mode");
}

TEST_F(Followers, anElectorThatObservesIsOneToo) {
  const Candidate a = stage_.leader("a");
  Candidate o = stage_.candidateWith("o", record_.notices(), observe);
  o->start();
  stage_.usurp("mallory");
  stage_.advance(20s);
  EXPECT_FALSE(o->isLeader());
  EXPECT_EQ(o.store->calls(Operation::acquire), 0U);
  EXPECT_EQ(record_.count("leader a"), 2) << "before mallory and after";
  EXPECT_EQ(record_.count("leader mallory 2"), 1);
  EXPECT_EQ(stage_.stop(o), ReleaseResult::notHeld);
}

}  // namespace
}  // namespace tenure::test
