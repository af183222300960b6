// The wait before a missing database is created again, with the test's own clocks.
#include "lockcore/stores/sqlite/src/new_database_rule.hpp"

#include <gtest/gtest.h>

namespace tenure::sqlite_store {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

class NewDatabaseRuleTest : public testing::Test {
 protected:
  static Instant at(nanoseconds sinceBoot) { return Instant{} + sinceBoot; }

  NewDatabaseRule rule_;
};

TEST_F(NewDatabaseRuleTest, waitsForTheLongestLeaseFromTheFirstLookOn) {
  rule_.sawNone(at(seconds{100}), "m");
  EXPECT_EQ(rule_.left(at(seconds{100}), milliseconds{9000}), seconds{9});
  rule_.sawNone(at(seconds{105}), "m");
  EXPECT_EQ(rule_.left(at(seconds{105}), milliseconds{9000}), seconds{4}) << "later looks do not begin anew";
  EXPECT_EQ(rule_.left(at(seconds{109}) + nanoseconds{-1}, milliseconds{9000}), nanoseconds{1});
  EXPECT_EQ(rule_.left(at(seconds{109}), milliseconds{9000}), nanoseconds{0});
  EXPECT_EQ(rule_.left(at(seconds{200}), milliseconds{9000}), nanoseconds{0});
}

TEST_F(NewDatabaseRuleTest, aLeaseThatTurnsUpLongerIsWaitedForWhole) {
  rule_.sawNone(at(seconds{100}), "m");
  EXPECT_EQ(rule_.left(at(seconds{103}), milliseconds{3000}), nanoseconds{0});
  EXPECT_EQ(rule_.left(at(seconds{103}), milliseconds{8000}), seconds{5});
}

TEST_F(NewDatabaseRuleTest, nobodyElseMeansNoWait) {
  rule_.sawNone(at(seconds{100}), "m");
  EXPECT_EQ(rule_.left(at(seconds{100}), milliseconds{0}), nanoseconds{0});
}

TEST_F(NewDatabaseRuleTest, aDatabaseThatWasMadeMeanwhileBeginsTheWaitAnew) {
  rule_.sawNone(at(seconds{100}), "m");
  rule_.sawNone(at(seconds{108}), "another");  // it was created, used by a leader and deleted between two checks
  EXPECT_EQ(rule_.left(at(seconds{109}), milliseconds{9000}), seconds{8});
}

TEST_F(NewDatabaseRuleTest, aDatabaseThatWasSeenMeanwhileBeginsTheWaitAnew) {
  rule_.sawNone(at(seconds{100}), "m");
  rule_.sawOne();
  rule_.sawNone(at(seconds{108}), "m");
  EXPECT_EQ(rule_.left(at(seconds{109}), milliseconds{9000}), seconds{8});
}

// A challenger's clock never counts more time than passed: neither a slewed clock nor a suspend shortens the wait.
TEST_F(NewDatabaseRuleTest, isCountedByTheChallengersClock) {
  const Instant begin{seconds{50}, seconds{60}, seconds{100}};
  rule_.sawNone(begin, "m");
  const Instant slewed{begin.raw + seconds{8}, begin.monotonic + seconds{9}, begin.boottime + seconds{9}};
  EXPECT_EQ(rule_.left(slewed, milliseconds{9000}), seconds{1});
  const Instant suspended{begin.raw + seconds{1}, begin.monotonic + seconds{1}, begin.boottime + seconds{1000}};
  EXPECT_EQ(rule_.left(suspended, milliseconds{9000}), seconds{8});
}

TEST_F(NewDatabaseRuleTest, withoutALookNothingHasPassed) {
  EXPECT_EQ(rule_.left(at(seconds{100}), milliseconds{9000}), seconds{9});
}

}  // namespace
}  // namespace tenure::sqlite_store
