// A term without an elector behaves as one with an elector does.
#include <optional>
#include <stdexcept>
#include <stop_token>

#include <gtest/gtest.h>

#include <tenure/testing/hand_made_term.hpp>
#include <tenure/testing/manual_runtime.hpp>

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

TEST(HandMadeTerm, LeadsByTheTestsClockUntilItIsNotRenewed) {
  ManualScheduler scheduler;
  HandMadeTerm term{{.token = FencingToken{7}, .leadsFor = 3s, .clock = scheduler.clock()}};
  const Leadership& leadership = term.leadership();
  EXPECT_EQ(leadership.fencingToken(), FencingToken{7});
  EXPECT_TRUE(leadership.leads());
  EXPECT_EQ(leadership.remaining(), 3s);
  scheduler.advance(2s);
  term.renew();
  scheduler.advance(2s);
  EXPECT_TRUE(leadership.leads());
  scheduler.advance(1s);
  EXPECT_FALSE(leadership.leads()) << "by the clock alone";
  EXPECT_TRUE(leadership.isValid()) << "the work has its margin to end";
  EXPECT_FALSE(leadership.stopToken().stop_requested());
  scheduler.advance(1s);
  EXPECT_FALSE(leadership.isValid());
}

TEST(HandMadeTerm, WorkThatIsToldToStopStillHasAValidLease) {
  HandMadeTerm term;
  int told = 0;
  const std::stop_callback callback{term.leadership().stopToken(), [&] { ++told; }};
  term.stop();
  EXPECT_EQ(told, 1);
  EXPECT_FALSE(term.leadership().leads());
  EXPECT_EQ(term.leadership().remaining(), 0ns);
  EXPECT_TRUE(term.leadership().isValid());
  term.renew();
  EXPECT_FALSE(term.leadership().leads()) << "an ended term does not come back";
  term.lose();
  EXPECT_EQ(told, 1);
  EXPECT_FALSE(term.leadership().isValid());
}

TEST(HandMadeTerm, MayLeadForEver) {
  HandMadeTerm term{{.leadsFor = std::chrono::nanoseconds::max()}};
  EXPECT_TRUE(term.leadership().leads());
  EXPECT_TRUE(term.leadership().isValid());
  term.stop();
  EXPECT_TRUE(term.leadership().isValid());
}

TEST(HandMadeTerm, OptionsOutOfRangeAreRefused) {
  EXPECT_THROW(HandMadeTerm{{.clock = nullptr}}, std::invalid_argument);
  EXPECT_THROW(HandMadeTerm{{.leadsFor = -1ns}}, std::invalid_argument);
  EXPECT_THROW(HandMadeTerm{{.stopMargin = -1ns}}, std::invalid_argument);
}

TEST(HandMadeTerm, CopiesOfTheLeadershipOutliveIt) {
  std::optional<Leadership> kept;
  {
    const HandMadeTerm term{{.leaseName = "billing", .holder = "a#1"}};
    kept = term.leadership();
    EXPECT_TRUE(kept->leads());
  }
  EXPECT_FALSE(kept->leads());
  EXPECT_TRUE(kept->stopToken().stop_requested());
  EXPECT_EQ(kept->leaseName(), "billing");
  EXPECT_EQ(kept->holder(), "a#1");
  kept->reportProgress();
  kept->reportStaleToken(FencingToken{9});
}

}  // namespace
}  // namespace tenure::test
