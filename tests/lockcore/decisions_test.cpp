// The rule of a write, which all stores share.
#include "lockcore/stored/decisions.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tenure::test {
namespace {

using stored::Change;
using stored::Counter;
using stored::Decision;
using stored::StoredLease;
using stored::StoredRecord;
using Purpose = WriteRequest::Purpose;
using namespace std::chrono_literals;

constexpr FencingToken token(std::uint64_t value) { return FencingToken{value}; }

WriteRequest request(Purpose purpose, std::vector<RecordVersion> expected, const std::string& holder = "a") {
  WriteRequest out;
  out.key = LeaseKey{"billing"};
  out.purpose = purpose;
  out.expected = std::move(expected);
  out.record.holder = holder;
  out.record.version = RecordVersion{"next"};
  out.record.leaseDuration = 10s;
  return out;
}

/// The record of holder "a", version "one"; no token: another client's.
StoredLease lease(std::uint64_t recordToken, const Counter& counter, bool released = false) {
  StoredRecord stored;
  stored.record.holder = "a";
  stored.record.version = RecordVersion{"one"};
  stored.record.token = token(recordToken);
  stored.record.leaseDuration = 10s;
  stored.record.released = released;
  StoredLease out;
  out.record = std::optional{stored};
  out.counter = counter;
  return out;
}

StoredLease onlyCounter(const Counter& counter) {
  StoredLease out;
  out.counter = counter;
  return out;
}

Decision decided(const WriteRequest& write, const StoredLease& stored) { return decideWrite("store", write, stored); }
Change changeOf(const WriteRequest& write, const StoredLease& stored) {
  return std::get<Change>(decided(write, stored));
}
bool conflicts(const WriteRequest& write, const StoredLease& stored) {
  const Decision decision = decided(write, stored);
  const auto* outcome = std::get_if<WriteOutcome>(&decision);
  return outcome != nullptr && std::holds_alternative<Conflict>(*outcome);
}

const RecordVersion seenVersion{"one"}, otherVersion{"other"};

TEST(Decisions, aWriteIsRefusedUnlessTheRecordIsAsExpected) {
  const StoredLease held = lease(7, {token(7), 10s});
  const StoredLease vanished = onlyCounter({token(7), 10s});
  const RecordVersion open = vanishedVersion(token(7), 10s);
  for (const Purpose purpose : {Purpose::acquire, Purpose::renew, Purpose::release}) {
    EXPECT_FALSE(conflicts(request(purpose, {seenVersion}), held));
    EXPECT_FALSE(conflicts(request(purpose, {otherVersion, seenVersion}), held)) << "either of both (I8)";
    EXPECT_TRUE(conflicts(request(purpose, {otherVersion}), held));
    EXPECT_TRUE(conflicts(request(purpose, {}), held));
    EXPECT_TRUE(conflicts(request(purpose, {seenVersion}), vanished));
    EXPECT_EQ(conflicts(request(purpose, {open}), vanished), purpose != Purpose::acquire);
    EXPECT_EQ(conflicts(request(purpose, {}), onlyCounter({token(7), 0s})), purpose != Purpose::acquire);
    EXPECT_EQ(conflicts(request(purpose, {seenVersion}, "b"), held), purpose != Purpose::acquire) << "another's term";
    EXPECT_EQ(conflicts(request(purpose, {seenVersion}), lease(0, {token(7)})), purpose != Purpose::acquire)
        << "another client's record";
  }
  EXPECT_TRUE(conflicts(request(Purpose::acquire, {}), vanished)) << "the counter states an open term";
}

TEST(Decisions, aTokenIsAboveAllThatIsKnown) {
  WriteRequest write = request(Purpose::acquire, {seenVersion});
  const auto next = [&](const StoredLease& stored) { return changeOf(write, stored).applied.token; };
  EXPECT_EQ(next(lease(7, {token(7)})), token(8));
  EXPECT_EQ(next(lease(7, {token(9)})), token(10)) << "a record that somebody put back does not lower it";
  EXPECT_EQ(next(lease(7, {token(3)})), token(8)) << "nor does a counter that somebody set back";
  EXPECT_EQ(next(lease(0, {token(41)})), token(42)) << "nor another client";
  StoredLease bare = lease(0, {});
  bare.revision = 1'000;
  EXPECT_EQ(next(bare), token(1'001)) << "where everything was deleted, the store's revision is left";
  write.tokenFloor = token(100);
  EXPECT_EQ(next(lease(7, {token(7)})), token(101));
  const Change change = changeOf(write, lease(7, {token(7)}));
  EXPECT_EQ((*change.record).record.token, token(101));
  EXPECT_EQ(change.counter, (Counter{token(101), 10s})) << "record and counter in one step";
}

TEST(Decisions, aCounterIsNeverRestoredInSilence) {
  WriteRequest write = request(Purpose::acquire, {seenVersion});
  EXPECT_EQ(changeOf(write, lease(41, {token(41)})).applied.warning, "");
  EXPECT_EQ(changeOf(write, lease(0, {token(41)})).applied.warning, "") << "another client taking over is no loss";
  EXPECT_NE(changeOf(write, lease(41, {})).applied.warning.find("was missing and was restored to 42"),
            std::string::npos);
  EXPECT_NE(changeOf(write, lease(41, {token(3)})).applied.warning.find("was at 3 and"), std::string::npos);
  write.tokenFloor = token(100);
  EXPECT_NE(changeOf(write, lease(41, {token(41)})).applied.warning, "") << "a resource has seen more";
}

TEST(Decisions, aTokenNeverWrapsAndRisesByABoundedStep) {
  WriteRequest write = request(Purpose::acquire, {seenVersion});
  const auto isRejected = [&](const StoredLease& stored) {
    const Decision decision = decided(write, stored);
    const auto* outcome = std::get_if<WriteOutcome>(&decision);
    return outcome != nullptr && std::holds_alternative<Rejected>(*outcome);
  };
  EXPECT_TRUE(isRejected(lease(1, {maxFencingToken})));
  write.tokenFloor = token(7 + maxReportedStep);
  EXPECT_FALSE(isRejected(lease(7, {token(7)})));
  write.tokenFloor = token(8 + maxReportedStep);
  EXPECT_TRUE(isRejected(lease(7, {token(7)})));
}

TEST(Decisions, theCounterStatesTheLongestLeaseUntilTheTermEnds) {
  WriteRequest write = request(Purpose::renew, {seenVersion});
  EXPECT_EQ(changeOf(write, lease(7, {token(7), 10s})).counter, std::nullopt) << "a heartbeat leaves it";
  EXPECT_EQ(changeOf(write, lease(7, {token(7), 60s})).counter, std::nullopt)
      << "a renewal that is under way may have stated the longer one";
  write.record.leaseDuration = 20s;
  EXPECT_EQ(changeOf(write, lease(7, {token(7), 10s})).counter, (Counter{token(7), 20s}));
  EXPECT_EQ(changeOf(write, lease(7, {token(3), 10s})).counter, std::nullopt) << "an acquisition reports it";
  write.lengthens = true;
  EXPECT_EQ(changeOf(write, lease(7, {token(3), 10s})).counter, (Counter{token(7), 20s}));
  write = request(Purpose::release, {seenVersion});
  EXPECT_EQ(changeOf(write, lease(7, {token(7), 10s})).counter, (Counter{token(7), 0s}));
  EXPECT_EQ(changeOf(write, lease(7, {token(9), 5s})).counter, std::nullopt) << "that is a later term's";
  write.removes = true;
  EXPECT_EQ(changeOf(write, lease(7, {token(7), 10s})).counter, (Counter{token(7), 0s}));
  EXPECT_TRUE(changeOf(write, lease(7, {token(7), 10s})).erasesRecord());
  EXPECT_EQ(changeOf(write, lease(7, {token(9), 5s})).counter, (Counter{token(9), 5s}));
}

TEST(Decisions, aRemovedRecordIsWaitedForIfItsTermIsOpen) {
  const auto left = [](const StoredLease& stored) {
    return std::get<Change>(stored::decideRemoval(seenVersion, stored)).counter;
  };
  EXPECT_EQ(left(lease(7, {token(7), 10s})), (Counter{token(7), 10s}));
  EXPECT_EQ(left(lease(7, {token(7), 60s})), (Counter{token(7), 60s}));
  EXPECT_EQ(left(lease(7, {})), (Counter{token(7), 10s})) << "the record is the last to know";
  EXPECT_EQ(left(lease(7, {token(7), 10s}, true)), (Counter{token(7), 0s}));
  EXPECT_EQ(left(lease(7, {token(9), 5s}, true)), (Counter{token(9), 5s})) << "a later term's lease stays";
  EXPECT_EQ(left(lease(0, {token(9), 5s})), (Counter{token(9), 10s})) << "another client holds it";
  EXPECT_EQ(left(lease(0, {token(9), 5s}, true)), (Counter{token(9), 0s}));
  StoredLease bare = lease(0, {});
  bare.revision = 1'000;
  EXPECT_EQ(left(bare), (Counter{token(1'000), 10s})) << "what an acquisition now would have counted on";
}

TEST(Decisions, aWriteOnACounterThatIsNotUnderstoodIsRefusedWhereItMatters) {
  StoredLease damaged = lease(7, {});
  damaged.counter = StoreError{ErrorClass::corrupt, "the counter is damaged"};
  const auto isRefused = [&](const WriteRequest& write) {
    const Decision decision = decided(write, damaged);
    return std::holds_alternative<WriteOutcome>(decision);
  };
  EXPECT_TRUE(isRefused(request(Purpose::acquire, {seenVersion})));
  EXPECT_FALSE(isRefused(request(Purpose::renew, {seenVersion}))) << "the record says that the holder's term goes on";
  EXPECT_FALSE(isRefused(request(Purpose::release, {seenVersion})));
  WriteRequest longer = request(Purpose::renew, {seenVersion});
  longer.lengthens = true;
  EXPECT_TRUE(isRefused(longer));
  damaged.record = std::optional<StoredRecord>{};
  EXPECT_TRUE(isRefused(request(Purpose::renew, {seenVersion}))) << "it cannot be read is not: nobody holds it";
}

}  // namespace
}  // namespace tenure::test
