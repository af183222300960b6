// One test for each invariant of the protocol, at the level of LeaderElector.
#include <array>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "election/drifting_scheduler.hpp"
#include "election/stage.hpp"
#include "support/seeded_random.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

class Invariant : public testing::Test {
 protected:
  Stage stage_;
};

/// Three candidates whose clocks differ by as much as the default guard covers. Each has its own store, which fails at
/// random; they also pause and step down. There are never two that may act, and tokens only rise.
class Turmoil {
 public:
  explicit Turmoil(std::uint64_t seed) : random_{seed} {
    constexpr std::array<std::int64_t, 3> drifts{-500, 0, 500};
    for (std::size_t i = 0; i < drifts.size(); ++i) {
      stores_[i] = std::make_shared<FaultStore>(stage_.memory, stage_.clock);
      Runtime runtime = stage_.runtime();
      runtime.scheduler = std::make_shared<DriftingScheduler>(stage_.clock, drifts[i]);
      runtime.random = std::make_unique<SeededRandom>(random_.next());
      Group group = stage_.group("c" + std::to_string(i), stores_[i]);
      electors_[i] = {new LeaderElector{std::move(group), records_[i].terms(), std::move(runtime)}, {&stage_}};
      electors_[i]->start();
    }
  }

  void run(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      disturb();
      for (int step = 0; step < 10; ++step) {
        stage_.advance(std::chrono::microseconds{1 + random_.below(40'000)});
        check();
      }
    }
  }

  [[nodiscard]] std::uint64_t highestToken() const { return highest_.value(); }

 private:
  void disturb() {
    constexpr std::array faults{Fault::none,           Fault::none,         Fault::rejected,  Fault::unknownLost,
                                Fault::unknownApplied, Fault::neverApplied, Fault::neverLost, Fault::throws};
    const std::size_t who = random_.below(3);
    stores_[who]->set(static_cast<Operation>(random_.below(operationCount)), faults[random_.below(faults.size())]);
    if (random_.chance(0.3)) stores_[random_.below(3)]->setAll(Fault::none);
    if (random_.chance(0.05)) electors_[who]->stepDown("turmoil");
    if (random_.chance(0.05)) stage_.pause(std::chrono::milliseconds{random_.below(5'000)});
  }

  void check() {
    int leaders = 0;
    int valid = 0;
    for (std::size_t i = 0; i < electors_.size(); ++i) {
      leaders += electors_[i]->isLeader() ? 1 : 0;
      valid += records_[i].count("elected") > 0 && records_[i].term().isValid() ? 1 : 0;
      if (const auto token = electors_[i]->fencingToken()) {
        ASSERT_GE(*token, highest_);
        highest_ = *token;
      }
    }
    ASSERT_LE(leaders, 1);
    ASSERT_LE(valid, 1);
  }

  SeededRandom random_;
  Stage stage_;
  std::array<std::shared_ptr<FaultStore>, 3> stores_{};
  std::array<Record, 3> records_{};
  std::array<std::unique_ptr<LeaderElector, PumpedDelete>, 3> electors_{
      std::unique_ptr<LeaderElector, PumpedDelete>{nullptr, {&stage_}},
      std::unique_ptr<LeaderElector, PumpedDelete>{nullptr, {&stage_}},
      std::unique_ptr<LeaderElector, PumpedDelete>{nullptr, {&stage_}}};
  FencingToken highest_{};
};

TEST_F(Invariant, I1_AtMostOneCandidateMayActAtAnyTime) {
  std::uint64_t terms = 0;
  for (std::uint64_t seed = 1; seed <= 12 && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Turmoil turmoil{seed};
    turmoil.run(150);
    terms += turmoil.highestToken();
  }
  EXPECT_GT(terms, 60U) << "too calm to show anything";
}

TEST_F(Invariant, I2_ValidityCountsFromBeforeTheLastAcknowledgedWriteWasSent) {
  const Candidate a = stage_.leader("a");
  const auto renewals = a.store->calls(Operation::renew);
  a.store->delayBy(900ms);
  a.store->set(Operation::renew, Fault::answeredLate);
  ASSERT_TRUE(stage_.advanceUntil([&] { return a.store->calls(Operation::renew) > renewals; }));
  const auto before = a->remaining();
  stage_.advance(899ms);
  EXPECT_EQ(a->remaining(), before - 899ms);  // sent, but not acknowledged yet
  stage_.advance(1ms);
  EXPECT_LE(a->remaining(), 2'696ms - 900ms);
  EXPECT_GT(a->remaining(), 2'696ms - 902ms);

  a.store->set(Operation::renew, Fault::rejected);
  const auto left = a->remaining();
  stage_.advance(left - 1ns);
  EXPECT_EQ(a->remaining(), 1ns) << "a renewal that failed extends nothing";
  EXPECT_EQ(a.record->count("revoked"), 0);
  stage_.advance(1ns);
  EXPECT_EQ(a.record->count("revoked 1 storeUnreachable"), 1);
}

TEST_F(Invariant, I3_AChallengerWaitsTheRecordsDurationFromItsFirstSightOfIt) {
  stage_.usurp("somebody");  // 3 s in the record
  const Candidate a = stage_.candidate("a", [](GroupOptions& options) { options.lease = {.duration = 600ms}; });
  a.store->onWatch = [](const auto&) { return nullptr; };  // it depends on its polls
  a->start();
  stage_.advance(1'500ms);
  a.store->set(Operation::read, Fault::rejected);  // an outage in between does not start the wait again
  stage_.advance(500ms);
  a.store->set(Operation::read, Fault::none);
  stage_.advance(990ms);
  EXPECT_EQ(a.store->calls(Operation::acquire), 0U);
  EXPECT_TRUE(stage_.advanceUntil([&] { return a->isLeader(); }, 50ms));

  const Candidate b = stage_.candidate("b");
  b->start();
  stage_.advance(2s);
  stage_.usurp("another");  // a new version: the wait starts again
  stage_.advance(2'900ms);
  EXPECT_EQ(b.store->calls(Operation::acquire), 0U);
}

TEST_F(Invariant, I4_LeadershipEndsOnTimeWithAllThreadsOfTheLibraryBlocked) {
  const Candidate a = stage_.leader("a");
  const Leadership term = a.record->term();
  const auto left = a->remaining();
  ASSERT_GT(left, 1s);
  ASSERT_TRUE(a->isLeader() && term.leads() && a->fencingToken());

  stage_.pause(left - 1ns);  // from here on nothing of the library runs
  EXPECT_TRUE(a->isLeader() && term.leads() && a->fencingToken());
  EXPECT_EQ(a->remaining(), 1ns);
  stage_.pause(1ns);
  EXPECT_FALSE(a->isLeader() || term.leads() || a->fencingToken());
  EXPECT_EQ(a->remaining(), 0ns);
  EXPECT_EQ(a->status().remaining, 0ns);
  EXPECT_FALSE(a->status().fencingToken);
  EXPECT_TRUE(term.isValid());  // while the work ends
  stage_.pause(300ms);
  EXPECT_FALSE(term.isValid());

  const auto renewals = a.store->calls(Operation::renew);
  stage_.settle();  // the process continues: no renewal may revive the term
  EXPECT_FALSE(term.leads());
  EXPECT_EQ(a.store->calls(Operation::renew), renewals);
}

TEST_F(Invariant, I4_LeadershipEndsDuringASuspend) {
  const Candidate a = stage_.leader("a");
  stage_.clock->suspend(a->remaining());  // only CLOCK_BOOTTIME saw it
  EXPECT_FALSE(a->isLeader());
}

TEST_F(Invariant, I5_EveryElectedIsFollowedByExactlyOneRevoked) {
  const Candidate a = stage_.leader("a");
  const auto nextTerm = [&] { ASSERT_TRUE(stage_.advanceUntil([&] { return a->isLeader(); })); };

  stage_.pause(10s);
  stage_.settle();
  nextTerm();
  a.store->setAll(Fault::neverApplied);
  stage_.advance(10s);
  a.store->setAll(Fault::none);
  nextTerm();
  stage_.usurp("somebody");
  stage_.advance(2s);
  nextTerm();
  a->stepDown();
  a->stepDown();  // has no effect
  stage_.settle();
  nextTerm();
  stage_.stop(a);
  const Lines expected{"elected 1", "revoked 1 expired", "elected 2", "revoked 2 storeUnreachable",
                       "elected 3", "revoked 3 lost",    "elected 5", "revoked 5 steppedDown",
                       "elected 6", "revoked 6 stopped"};
  EXPECT_EQ(a.record->lines(), expected);
}

TEST_F(Invariant, I5_HoldsForCallbacksThatThrow) {
  Record record;
  Listener throwing = record.terms();
  throwing.onElected = [&](const Leadership& term) {
    record.add("elected " + toString(term.fencingToken()));
    throw std::runtime_error{"no"};
  };
  throwing.onRevoked = [&](const TermEnd& why) {
    record.add("revoked " + toString(why.token));
    throw 42;
  };
  const Candidate a = stage_.candidateWith("a", std::move(throwing));
  a->start();
  ASSERT_TRUE(stage_.advanceUntil([&] { return record.count("revoked") == 3; }));
  EXPECT_EQ(record.lines(), (Lines{"elected 1", "revoked 1", "elected 2", "revoked 2", "elected 3", "revoked 3"}));
}

/// Callbacks on the library's own threads; one of them blocks.
TEST_F(Invariant, I6_CallbacksDelayNeitherRenewalNorTheDeadlineNorTheStopToken) {
  std::promise<Leadership> elected;
  std::promise<void> release;
  Listener blocking;
  blocking.onElected = [&](const Leadership& term) {
    elected.set_value(term);
    release.get_future().wait();
  };
  std::atomic<bool> revoked{false};
  blocking.onRevoked = [&](const TermEnd&) { revoked = true; };
  const Candidate elector = stage_.threaded("a", std::move(blocking));
  elector->start();
  ASSERT_TRUE(stage_.advanceUntil([&] { return elector->isLeader(); }));
  const Leadership term = elected.get_future().get();

  stage_.advance(10s);
  EXPECT_TRUE(elector->isLeader());
  EXPECT_GE(elector.store->calls(Operation::renew), 9U);

  elector.store->set(Operation::renew, Fault::neverApplied);
  ASSERT_TRUE(stage_.advanceUntil([&] { return !elector->isLeader(); }));
  EXPECT_TRUE(eventually([&] { return term.stopToken().stop_requested(); }));
  EXPECT_FALSE(revoked) << "onRevoked must wait for onElected";
  release.set_value();
  EXPECT_TRUE(eventually([&] { return revoked.load(); }));
}

TEST_F(Invariant, I7_TheTokenRisesWithEveryTerm) {
  Candidate a = stage_.leader("a");
  EXPECT_EQ(a->fencingToken(), FencingToken{1});
  a.record->term().reportStaleToken(FencingToken{40});  // a resource has seen more than the table remembers
  stage_.settle();
  EXPECT_EQ(a.record->count("revoked 1 lost"), 1);
  ASSERT_TRUE(stage_.advanceUntil([&] { return a->isLeader(); }));
  EXPECT_EQ(a->fencingToken(), FencingToken{41});
  stage_.stop(a);

  const Candidate b = stage_.leader("b");  // after a release, by another candidate
  EXPECT_EQ(b->fencingToken(), FencingToken{42});
}

TEST_F(Invariant, I8_AWriteWithoutAnAnswerCostsNoTerm) {
  for (const Fault landed : {Fault::unknownApplied, Fault::throwsApplied}) {
    Stage stage;
    const Candidate a = stage.candidate("a");
    a.store->set(Operation::acquire, landed);
    a->start();
    ASSERT_TRUE(stage.advanceUntil([&] { return a->isLeader(); }, 1s)) << "the landed acquisition was not recognised";
    EXPECT_EQ(a.store->calls(Operation::acquire), 1U);
    for (const Fault fault : {Fault::unknownApplied, Fault::unknownLost, Fault::throws, Fault::throwsApplied}) {
      for (int round = 0; round < 5; ++round) {
        a.store->set(Operation::renew, fault);
        const auto renewals = a.store->calls(Operation::renew);
        ASSERT_TRUE(stage.advanceUntil([&] { return a.store->calls(Operation::renew) > renewals; }));
        a.store->set(Operation::renew, Fault::none);
        stage.advance(2s);
      }
    }
    EXPECT_EQ(a.record->lines(), Lines{"elected 1"});
    EXPECT_TRUE(a->isLeader());
    a.store->set(Operation::release, landed);
    a->requestStop();
    stage.settle();
    EXPECT_EQ(a.store->calls(Operation::release), 1U);
    a.store->set(Operation::release, Fault::none);
    EXPECT_EQ(stage.stop(a, 10ms), ReleaseResult::released);
    EXPECT_TRUE(stage.stored()->released);
  }
}

TEST_F(Invariant, I9_TheSuccessorIsElectedAfterThePredecessorsWorkEnded) {
  const Candidate a = stage_.leader("a");
  const Candidate b = stage_.candidate("b");
  b->start();
  stage_.settle();
  a->requestStop();
  stage_.clock->advance(2s);  // the executor does not run: the work of a has not ended
  EXPECT_TRUE(a.record->term().stopToken().stop_requested() ||
              eventually([&] { return a.record->term().stopToken().stop_requested(); }));
  EXPECT_FALSE(a->isLeader());
  EXPECT_TRUE(a.record->term().isValid()) << "renewed while the work winds up";
  EXPECT_EQ(a.store->calls(Operation::release), 0U);
  EXPECT_FALSE(b->isLeader());

  stage_.settle();  // onRevoked returns
  EXPECT_EQ(a.record->count("revoked"), 1);
  EXPECT_TRUE(stage_.advanceUntil([&] { return b->isLeader(); }, 20ms)) << "a released lease is taken at once";
}

/// What onRevoked does is part of the work: it may tear down what the term needed.
TEST_F(Invariant, I9_NothingIsReleasedWhileOnRevokedRunsOfAnyListener) {
  std::vector<std::size_t> releases;
  std::vector<bool> valid;
  std::optional<Leadership> term;
  LeaderElector* elector = nullptr;
  std::shared_ptr<FaultStore> store;
  const auto lookFor = [&](std::chrono::nanoseconds length) {
    stage_.clock->advance(length);  // the scheduler continues to run while this callback has not returned
    releases.push_back(store->calls(Operation::release));
    valid.push_back(term->isValid());
  };
  Listener first;
  first.onElected = [&](const Leadership& won) { term = won; };
  first.onRevoked = [&](const TermEnd&) { lookFor(1s); };
  Listener second;
  second.onRevoked = [&](const TermEnd&) { lookFor(1s); };
  const Candidate a = stage_.candidateWith("a", std::move(first));
  elector = a.elector.get();
  store = a.store;
  elector->addListener(std::move(second));
  elector->start();
  ASSERT_TRUE(stage_.advanceUntil([&] { return term.has_value(); }));
  elector->requestStop();
  stage_.settle();
  EXPECT_EQ(releases, (std::vector<std::size_t>{0, 0}));
  EXPECT_EQ(valid, (std::vector<bool>{true, true})) << "renewed meanwhile";
  EXPECT_EQ(store->calls(Operation::release), 1U);
  EXPECT_TRUE(stage_.stored()->released);
}

TEST_F(Invariant, I9_WorkThatDoesNotEndKeepsTheLeaseUntilItExpires) {
  const Candidate a = stage_.leader("a");
  const Candidate b = stage_.candidate("b");
  b->start();
  stage_.settle();
  const Instant asked = stage_.clock->now();
  a->requestStop();
  while (!b->isLeader()) stage_.clock->advance(1ms);
  EXPECT_EQ(a.store->calls(Operation::release), 0U);
  const auto waited = elapsedForHolder(asked, stage_.clock->now());
  EXPECT_GT(waited, 5s);  // 3 s of draining with renewals, then nearly a lease
  EXPECT_FALSE(a.record->term().isValid());
}

TEST_F(Invariant, I10_OnlyStopEndsTheCandidacy) {
  const Candidate a = stage_.candidate("a");
  a->start();
  for (const Fault fault : {Fault::rejected, Fault::unknownLost, Fault::throws, Fault::neverLost}) {
    a.store->setAll(fault);
    stage_.advance(60s);
    EXPECT_FALSE(a->isLeader());
    const ElectorStatus status = a->status();
    ASSERT_TRUE(status.lease.lastError);
    EXPECT_FALSE(status.lease.lastError->message.empty());
    a.store->setAll(Fault::none);
    EXPECT_TRUE(stage_.advanceUntil([&] { return a->isLeader(); }, 10s));
  }
  for (int race = 0; race < 20; ++race) {
    stage_.usurp("somebody");
    ASSERT_TRUE(stage_.advanceUntil([&] { return !a->isLeader(); }));
    ASSERT_TRUE(stage_.advanceUntil([&] { return a->isLeader(); }));
  }
  EXPECT_EQ(a->status().lease.terms, 24U);
}

TEST_F(Invariant, I11_WhatIsNotUnderstoodIsNoSuccess) {
  const Candidate a = stage_.candidate("a");
  a.store->setError({ErrorClass::corrupt, "the record of stage was written by somebody else"});
  a.store->set(Operation::read, Fault::rejected);
  a->start();
  stage_.advance(60s);
  EXPECT_EQ(a.store->calls(Operation::acquire), 0U) << "a record that is not understood is not taken over";
  EXPECT_EQ(a->status().lease.lastError->errorClass, ErrorClass::corrupt);
  EXPECT_EQ(a->status().lease.lastError->message, "the record of stage was written by somebody else");

  a.store->setAll(Fault::none);
  a.store->set(Operation::acquire, Fault::throws);
  stage_.advance(60s);
  EXPECT_FALSE(a->isLeader());
  EXPECT_TRUE(a.record->lines().empty());
}

TEST_F(Invariant, I12_OneSlowLeaseDelaysNoOther) {
  const Adjust other = [](GroupOptions& options) { options.group = "other"; };
  const Candidate slow = stage_.leader("slow", other);
  const Candidate quick = stage_.leader("quick");
  slow.store->setAll(Fault::neverApplied);
  const auto renewals = quick.store->calls(Operation::renew);
  const auto leads = [&] { return quick->isLeader(); };
  for (int second = 0; second < 20; ++second) {
    stage_.advance(1s);
    ASSERT_TRUE(leads());
    ASSERT_GT(quick->remaining(), 1'600ms);
  }
  EXPECT_GE(quick.store->calls(Operation::renew) - renewals, 19U);
  EXPECT_FALSE(slow->isLeader());
}

}  // namespace
}  // namespace tenure::test
