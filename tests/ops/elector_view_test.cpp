// What monitoring sees of an elector, on a stage with a manual clock.
#include <algorithm>

#include <gtest/gtest.h>

#include <tenure/election/leader_elector.hpp>
#include <tenure/ops/snapshot.hpp>

#include "election/stage.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using Kind = TermEvent::Kind;

std::vector<Kind> kindsOf(const ElectorView& view) {
  std::vector<Kind> out;
  for (const TermEvent& event : view.events()) out.push_back(event.kind);
  return out;
}

struct Watched {
  Candidate candidate;
  ElectorView view;
};

Watched leaderOn(Stage& stage, const Adjust& adjust = {}) {
  Candidate candidate = stage.candidate("a", adjust);
  ElectorView view = candidate->view();
  candidate->start();
  EXPECT_TRUE(stage.advanceUntil([&] { return candidate->isLeader(); }));
  return {std::move(candidate), std::move(view)};
}

TEST(ElectorView, CountsTermsAndRenewals) {
  Stage stage;
  const auto [a, view] = leaderOn(stage);
  ASSERT_TRUE(view.standing().leads);
  EXPECT_EQ(view.standing().token, FencingToken{1});
  EXPECT_EQ(view.standing().remaining, a->remaining());
  EXPECT_EQ(view.counts().terms, 1U);
  stage.advance(5s);
  const LeaseCounts counts = view.counts();
  EXPECT_GE(counts.renewals[0], 4U);
  EXPECT_EQ(counts.renewals[1] + counts.renewals[2] + counts.renewals[3], 0U);
  std::uint64_t timed = 0;
  for (const std::uint64_t each : counts.renewalTimes) timed += each;
  EXPECT_EQ(timed, counts.renewals[0]);
  EXPECT_EQ(kindsOf(view), (std::vector{Kind::elected}));
}

TEST(ElectorView, StandingEndsByTheClockAlone) {
  Stage stage;
  const auto [a, view] = leaderOn(stage);
  stage.pause(2'690ms);
  EXPECT_TRUE(view.standing().leads);
  stage.pause(6ms);
  EXPECT_FALSE(view.standing().leads) << "nothing of the library has run since";
  EXPECT_TRUE(view.standing().token.isNone());
  const ops::Snapshot shown = ops::snapshotOf(view);
  EXPECT_EQ(shown.lease.state, LeaseState::leading) << "the machine does not know it yet";
  EXPECT_FALSE(shown.standing.leads);
  EXPECT_EQ(shown.electedAtMillis, 0);
}

TEST(ElectorView, EventsTellDoubtsAndWhyATermEnded) {
  Stage stage;
  const auto [a, view] = leaderOn(stage);
  a.store->setAll(Fault::rejected);
  stage.advance(2s);
  EXPECT_EQ(kindsOf(view), (std::vector{Kind::elected, Kind::doubtBegan}));
  EXPECT_FALSE(view.events().back().detail.empty());
  a.store->setAll(Fault::none);
  stage.advance(1s);
  EXPECT_EQ(kindsOf(view), (std::vector{Kind::elected, Kind::doubtBegan, Kind::doubtEnded}));
  a.store->setAll(Fault::rejected);
  stage.advance(4s);
  const auto events = view.events();
  ASSERT_EQ(events.size(), 5U);
  EXPECT_EQ(events.back().kind, Kind::revoked);
  EXPECT_EQ(events.back().reason, RevokeReason::storeUnreachable);
  EXPECT_EQ(events.back().token, FencingToken{1});
  EXPECT_EQ(view.counts().doubts, 2U);
  EXPECT_EQ(view.counts().revocations[static_cast<std::size_t>(RevokeReason::storeUnreachable)], 1U);
  EXPECT_GE(view.counts().renewals[static_cast<std::size_t>(RenewalOutcome::unknown)] +
                view.counts().renewals[static_cast<std::size_t>(RenewalOutcome::rejected)],
            2U);
}

TEST(ElectorView, RejectionOfAResourceIsCounted) {
  Stage stage;
  const auto [a, view] = leaderOn(stage);
  a.record->term().reportStaleToken(FencingToken{9});
  stage.settle();
  EXPECT_EQ(view.counts().refusals, 1U);
  const auto events = view.events();
  ASSERT_GE(events.size(), 2U);
  EXPECT_EQ(events[1].kind, Kind::refused);
  EXPECT_EQ(events[1].token, FencingToken{1});
  EXPECT_EQ(events[1].detail, "a resource has seen token 9");
}

TEST(ElectorView, OverdueGrowsWhileNothingRuns) {
  Stage stage;
  const auto [a, view] = leaderOn(stage);
  EXPECT_EQ(view.overdue(), 0ns);
  stage.pause(5s);
  EXPECT_GE(view.overdue(), 3s);
  stage.advance(1ms);
  EXPECT_LE(view.overdue(), 1ms);
}

TEST(ElectorView, OutlivesItsElector) {
  Stage stage;
  auto [a, view] = leaderOn(stage);
  a.elector.reset();
  EXPECT_FALSE(view.standing().leads);
  ASSERT_TRUE(view.tryStatus());
  EXPECT_EQ(view.tryStatus()->state, LeaseState::stopped);
  EXPECT_EQ(view.overdue(), 0ns);
  EXPECT_EQ(kindsOf(view), (std::vector{Kind::elected, Kind::revoked}));
}

/// A server that keeps the view would report for ever that this process hangs.
TEST(ElectorView, NothingIsDueOfAnElectorWhoseLoopEndedFirst) {
  Stage stage;
  Candidate a = stage.threaded("a", {}, [](GroupOptions& options) { options.lease = {.duration = 100ms}; });
  const ElectorView view = a->view();
  a->start();
  ASSERT_TRUE(stage.advanceUntil([&] { return a->isLeader(); }));
  delete a.elector.release();  // nobody runs the stage meanwhile
  stage.pause(1h);
  EXPECT_EQ(view.overdue(), 0ns);
}

TEST(ElectorView, NextElectorContinuesTheCounts) {
  Stage stage;
  auto [a, first] = leaderOn(stage);
  a.elector.reset();
  Candidate b = stage.candidate("a");
  const ElectorView second = b->view(first);
  b->start();
  stage.advance(1s);
  EXPECT_EQ(second.counts().terms, 2U);
  EXPECT_EQ(kindsOf(second), (std::vector{Kind::elected, Kind::revoked, Kind::elected}));
}

}  // namespace
}  // namespace tenure::test
