// Each reason for which a term ends, the text that people get, and that the candidacy continues.
#include <stdexcept>

#include <gtest/gtest.h>

#include "election/stage.hpp"
#include "support/polled_store.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

class RevokeReasons : public testing::Test {
 protected:
  void expectRevoked(const Candidate& a, RevokeReason reason, const std::string& detail) {
    ASSERT_TRUE(stage_.advanceUntil([&] { return a.record->count("revoked") == 1; }, 20s));
    EXPECT_EQ(a.record->why().reason, reason);
    EXPECT_EQ(a.record->why().token, FencingToken{1});
    EXPECT_NE(a.record->why().detail.find(detail), std::string::npos) << a.record->why().detail;
    EXPECT_EQ(a.record->lines().at(1), "revoked 1 " + std::string{toString(reason)});
  }
  void expectNextTerm(const Candidate& a) {
    a.store->setAll(Fault::none);
    EXPECT_TRUE(stage_.advanceUntil([&] { return a.record->count("elected") == 2; }, 20s));
    EXPECT_TRUE(a->isLeader());
    EXPECT_FALSE(a.record->term().stopToken().stop_requested());
    EXPECT_EQ(a.record->count("revoked"), 1);
  }

  Stage stage_;
};

TEST_F(RevokeReasons, stopped) {
  const Candidate a = stage_.leader("a");
  EXPECT_EQ(stage_.stop(a), ReleaseResult::released);
  expectRevoked(a, RevokeReason::stopped, "the elector was stopped");
  stage_.advance(60s);
  EXPECT_EQ(a.record->count("elected"), 1);
  EXPECT_EQ(a->status().lease.state, LeaseState::stopped);
}

TEST_F(RevokeReasons, steppedDown) {
  const Candidate a = stage_.leader("a");
  a->stepDown("the disk is full");
  expectRevoked(a, RevokeReason::steppedDown, "the disk is full");
  expectNextTerm(a);
}

TEST_F(RevokeReasons, steppedDownBecauseItIsNotReady) {
  const Candidate a = stage_.leader("a", [](GroupOptions& o) { o.candidate.onUnready = OnUnready::stepDown; });
  a->setReady(false, "the cache is cold");
  expectRevoked(a, RevokeReason::steppedDown, "the cache is cold");
  stage_.advance(60s);
  EXPECT_EQ(a.record->count("elected"), 1);
  EXPECT_FALSE(a->status().lease.ready);
  a->setReady(true);
  expectNextTerm(a);
}

TEST_F(RevokeReasons, aLeaderThatIsNotReadyLeadsOnByDefault) {
  const Candidate a = stage_.leader("a");
  a->setReady(false);
  stage_.advance(60s);
  EXPECT_TRUE(a->isLeader());
  EXPECT_FALSE(a->status().lease.ready);
}

TEST_F(RevokeReasons, whoIsNotReadyAtTheStartIsElectedOnlyOnceItIs) {
  const Candidate a = stage_.candidate("a");
  a->setReady(false);
  a->start();
  stage_.advance(60s);
  EXPECT_EQ(a.record->count("elected"), 0);
  EXPECT_EQ(a->status().lease.state, LeaseState::candidate);
  a->setReady(true);
  EXPECT_TRUE(stage_.advanceUntil([&] { return a->isLeader(); }, 1s));
}

TEST_F(RevokeReasons, steppedDownByAnOperator) {
  const Candidate a = stage_.leader("a");
  stage_.memory->requestStepDown(stage_.key, {FencingToken{1}}, {}, [](const WriteOutcome&) {});
  expectRevoked(a, RevokeReason::steppedDown, "operator");
  expectNextTerm(a);
}

TEST_F(RevokeReasons, expiredByAPause) {
  const Candidate a = stage_.leader("a");
  stage_.pause(5s);
  expectRevoked(a, RevokeReason::expired, "this process did not run for 5000 ms");
  expectNextTerm(a);
}

TEST_F(RevokeReasons, lostToAnotherOwner) {
  const Candidate a = stage_.leader("a");
  stage_.usurp("mallory");
  expectRevoked(a, RevokeReason::lost, "mallory");
  expectNextTerm(a);
}

TEST_F(RevokeReasons, lostByAReportedToken) {
  const Candidate a = stage_.leader("a");
  a.record->term().reportStaleToken(FencingToken{1});  // its own: no news
  stage_.settle();
  EXPECT_EQ(a.record->count("revoked"), 0);
  a.record->term().reportStaleToken(FencingToken{7});
  expectRevoked(a, RevokeReason::lost, "7");
  expectNextTerm(a);
  EXPECT_EQ(a->fencingToken(), FencingToken{8});
}

/// A store whose records vanish: the memory store never loses one.
class Amnesia final : public PolledStore {
 public:
  Amnesia(std::shared_ptr<LeaseStore> behind, std::shared_ptr<Scheduler> scheduler)
      : PolledStore{std::move(behind)}, scheduler_{std::move(scheduler)} {}

  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    if (!std::exchange(forgetful, false)) return behind_->write(std::move(request), options, std::move(handler));
    scheduler_->post([handler = std::move(handler)] { handler(Conflict{std::optional<LeaseRecord>{}}); });
  }

  bool forgetful{false};

 private:
  const std::shared_ptr<Scheduler> scheduler_;
};

TEST_F(RevokeReasons, recordMissing) {
  Candidate a;
  a.record = std::make_shared<Record>();
  a.store = std::make_shared<FaultStore>(stage_.memory, stage_.clock);
  const auto store = std::make_shared<Amnesia>(stage_.memory, stage_.clock);
  a.elector = {new LeaderElector{stage_.group("a", store), a.record->terms(), stage_.runtime()}, {&stage_}};
  a->start();
  ASSERT_TRUE(stage_.advanceUntil([&] { return a->isLeader(); }));
  store->forgetful = true;
  expectRevoked(a, RevokeReason::recordMissing, "the record is gone");
  expectNextTerm(a);
}

TEST_F(RevokeReasons, storeUnreachableByErrors) {
  const Candidate a = stage_.leader("a");
  a.store->setError({ErrorClass::credentials, "access denied to table leases"});
  a.store->setAll(Fault::rejected);
  expectRevoked(a, RevokeReason::storeUnreachable, "access denied to table leases");
  expectNextTerm(a);
}

TEST_F(RevokeReasons, storeUnreachableByAStoreThatHangs) {
  const Candidate a = stage_.leader("a");
  a.store->setAll(Fault::neverLost);
  expectRevoked(a, RevokeReason::storeUnreachable, "did not answer");
  expectNextTerm(a);
}

TEST_F(RevokeReasons, fatalIfOnElectedThrows) {
  Record record;
  Listener throwing = record.terms();
  throwing.onElected = [&](const Leadership& term) {
    record.add("elected " + toString(term.fencingToken()));
    if (term.fencingToken() == FencingToken{1}) throw std::runtime_error{"no such printer"};
  };
  const Candidate a = stage_.candidateWith("a", std::move(throwing));
  a->start();
  ASSERT_TRUE(stage_.advanceUntil([&] { return record.count("revoked") == 1; }));
  EXPECT_EQ(record.why().reason, RevokeReason::fatal);
  EXPECT_NE(record.why().detail.find("no such printer"), std::string::npos) << record.why().detail;
  EXPECT_TRUE(stage_.logged("no such printer"));
  EXPECT_TRUE(stage_.stored()->released) << "given up, not left to expire";
  EXPECT_TRUE(stage_.advanceUntil([&] { return record.count("elected") == 2; }));
  EXPECT_TRUE(a->isLeader());
}

TEST_F(RevokeReasons, theWatchdogExpiresWorkThatReportsNoProgress) {
  const Candidate a = stage_.leader("a", [](GroupOptions& options) { options.lease.progressTimeout = 2s; });
  const Leadership term = a.record->term();
  for (int second = 0; second < 10; ++second) {
    term.reportProgress();
    stage_.advance(1s);
  }
  EXPECT_TRUE(term.leads());
  expectRevoked(a, RevokeReason::expired, "no progress for 2000 ms");
  expectNextTerm(a);
  // The work of the ended term is no sign of life of the new one.
  for (int second = 0; second < 6; ++second) {
    term.reportProgress();
    stage_.advance(1s);
  }
  EXPECT_EQ(a.record->count("revoked 2 expired"), 1);
}

}  // namespace
}  // namespace tenure::test
