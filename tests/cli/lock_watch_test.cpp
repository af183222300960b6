// Which conclusions are possible from watching records, without a store or a clock.
#include "cli/lock/lock_watch.hpp"

#include <gtest/gtest.h>

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using cli::LockState;
using cli::LockWatch;

ListedLease held(const std::string& name, const std::string& version, std::chrono::milliseconds lease = 10s) {
  LeaseRecord record;
  record.holder = name + "#1";
  record.version = RecordVersion{version};
  record.leaseDuration = lease;
  record.token = FencingToken{7};
  record.renewedAtMillis = 1;  // in 1970: no wall clock counts
  return {{name}, record};
}

ListedLease released(const std::string& name) {
  ListedLease lease = held(name, "v0");
  lease.record->released = true;
  return lease;
}

ListedLease corrupt(const std::string& name) { return {{name}, StoreError{ErrorClass::corrupt, "not understood"}}; }

const Instant start{100s, 100s, 100s};

TEST(LockWatch, OneListingTellsNothingOfAHolder) {
  LockWatch watch;
  watch.see(start, start + 5min, {corrupt("a"), held("b", "v0"), released("c")});
  const auto rows = watch.rows();
  ASSERT_EQ(rows.size(), 3U) << "J-40: one junk row does not end the listing";
  EXPECT_EQ(rows[0].state, LockState::corrupt);
  EXPECT_EQ(rows[1].state, LockState::held) << "however long the listing took and whatever its times say";
  EXPECT_EQ(rows[1].unrenewedFor, 0s);
  EXPECT_EQ(rows[2].state, LockState::released);
}

TEST(LockWatch, StaleIsWhatWasNotRenewedForItsWholeLease) {
  LockWatch watch;
  watch.see(start, start + 1s, {held("dead", "v0"), held("alive", "v0"), held("slow", "v0", 60s)});
  watch.see(start + 10s, start + 30s, {held("dead", "v0"), held("alive", "v1"), held("slow", "v0", 60s)});
  EXPECT_EQ(watch.rows()[0].unrenewedFor, 9s) << "from the first answer to before the last question";
  EXPECT_EQ(watch.rows()[0].state, LockState::held);
  watch.see(start + 11s, start + 11s, {held("dead", "v0"), held("alive", "v1"), held("slow", "v0", 60s)});
  EXPECT_EQ(watch.rows()[0].state, LockState::stale);
  EXPECT_EQ(watch.rows()[1].state, LockState::renewed);
  EXPECT_EQ(watch.rows()[2].state, LockState::held) << "its lease is longer: the record's duration counts";
}

TEST(LockWatch, ANewHolderHasNotRenewed) {
  LockWatch watch;
  watch.see(start, start, {held("a", "v0")});
  ListedLease taken = held("a", "v1");
  taken.record->holder = "other#2";
  watch.see(start + 1s, start + 1s, {taken});
  EXPECT_EQ(watch.rows()[0].state, LockState::held);
  taken.record->version = RecordVersion{"v2"};
  watch.see(start + 2s, start + 2s, {taken});
  EXPECT_EQ(watch.rows()[0].state, LockState::renewed);
}

TEST(LockWatch, ARenewalOrASuspendedMachineStartsTheWatchAnew) {
  LockWatch watch;
  watch.see(start, start, {held("a", "v0")});
  watch.see(start + 9s, start + 9s, {held("a", "v1")});
  watch.see(start + 18s, start + 18s, {held("a", "v1")});
  EXPECT_EQ(watch.rows()[0].state, LockState::renewed);
  EXPECT_EQ(watch.rows()[0].unrenewedFor, 9s);
  // An hour of suspend is not an hour of watching: only CLOCK_BOOTTIME counted it.
  const Instant woken{start.raw + 18s, start.monotonic + 18s, start.boottime + 1h};
  watch.see(woken, woken, {held("a", "v1")});
  EXPECT_EQ(watch.rows()[0].unrenewedFor, 9s);
}

TEST(LockWatch, OnlyWhatWasGivenUpOrWatchedForLongEnoughMayBeRemoved) {
  LockWatch watch;
  watch.see(start, start, {corrupt("c"), held("h", "v0"), released("r")});
  watch.see(start + 15s, start + 15s, {corrupt("c"), held("h", "v0"), released("r")});
  const auto rows = watch.rows();
  for (const auto grace : {std::optional<std::chrono::milliseconds>{}, std::optional<std::chrono::milliseconds>{0ms}}) {
    EXPECT_FALSE(LockWatch::mayBeRemoved(rows[0], grace));
    EXPECT_TRUE(LockWatch::mayBeRemoved(rows[2], grace));
  }
  EXPECT_FALSE(LockWatch::mayBeRemoved(rows[1], std::nullopt)) << "stale, but nobody asked for what is held";
  EXPECT_TRUE(LockWatch::mayBeRemoved(rows[1], 5s));
  EXPECT_FALSE(LockWatch::mayBeRemoved(rows[1], 5001ms));
  EXPECT_EQ(watch.longestWatch(5s), 15s);
}

TEST(LockWatch, ARecordHoldsALedgerIfItSaysWhichPeriodsOfJobsWereRun) {
  const auto holds = [](const std::string& data) {
    ListedLease lease = released("r");
    lease.record->data = data;
    LockWatch watch;
    watch.see(start, start, {lease});
    return LockWatch::holdsLedger(watch.rows()[0]);
  };
  EXPECT_TRUE(holds(R"({"tenure":1,"jobs":{"v":1,"jobs":{"nightly":{"begun":[[60,60]],"past":[]}}}})"));
  EXPECT_TRUE(holds(R"({"tenure":7,"jobs":"as a later release writes it"})"));
  EXPECT_FALSE(holds(R"({"tenure":1,"term":41,"address":"10.0.0.5:8080"})"));
  EXPECT_FALSE(holds(R"({"tenure":1,"jobs":{"v":1,"jobs":{}}})"));
  EXPECT_FALSE(holds("jobs: of my own"));
  EXPECT_FALSE(holds(""));
  LockWatch watch;
  watch.see(start, start, {corrupt("c")});
  EXPECT_FALSE(LockWatch::holdsLedger(watch.rows()[0]));
}

}  // namespace
}  // namespace tenure::test
