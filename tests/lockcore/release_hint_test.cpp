// When the release of a lease that a stream tells stands for a read.
#include "lockcore/stored/release_hint.hpp"

#include <string>

#include <gtest/gtest.h>

namespace tenure::stored {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds oneLease{10};

Instant at(std::chrono::nanoseconds passed) { return Instant{1h, 2h, 3h} + passed; }

StoredLease heldBy(const std::string& holder, std::uint64_t revision, std::uint64_t token = 7) {
  LeaseRecord record;
  record.holder = holder;
  record.version = RecordVersion{"v" + std::to_string(revision)};
  record.token = FencingToken{token};
  record.leaseDuration = oneLease;
  StoredLease out;
  out.revision = revision;
  out.record = std::optional{StoredRecord{record}};
  out.counter = Counter{record.token, oneLease};
  out.history = "1/1";
  return out;
}

StoredLease releasedBy(const std::string& holder, std::uint64_t revision, std::uint64_t token = 7) {
  StoredLease out = heldBy(holder, revision, token);
  (*out.record)->record.released = true;
  out.counter = Counter{FencingToken{token}};
  return out;
}

class ReleaseHints : public testing::Test {
 protected:
  ReleaseHints() { hint_.begin(at(0s)); }

  /// Whether what is told stands for a read.
  bool follows(const StoredLease& told, std::chrono::nanoseconds now = oneLease) {
    hint_.tell(std::make_shared<const StoredLease>(told));
    return hint_.take(at(now), loaded_) != nullptr;
  }

  ReleaseHint hint_{};
  StoredLease loaded_ = heldBy("bob", 5);
};

TEST_F(ReleaseHints, aReleaseStandsForOneRead) {
  hint_.tell(std::make_shared<const StoredLease>(releasedBy("bob", 6)));
  const LoadedLease taken = hint_.take(at(oneLease), loaded_);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->revision, 6U);
  EXPECT_FALSE(hint_.take(at(oneLease), loaded_));
}

/// Found by the simulation: a leader in doubt read a release that a false watch had told of its own term.
TEST_F(ReleaseHints, aTermOfThisProcessIsAskedOfTheStore) {
  hint_.wrote("bob");
  EXPECT_FALSE(follows(releasedBy("bob", 6)));
  for (int i = 0; i < 100; ++i) hint_.wrote("client " + std::to_string(i));
  hint_.wrote("bob");
  EXPECT_FALSE(follows(releasedBy("bob", 6)));
  loaded_ = heldBy("carol", 5);
  EXPECT_TRUE(follows(releasedBy("carol", 6)));
}

TEST_F(ReleaseHints, onlyAReleaseIsFollowed) {
  EXPECT_FALSE(follows(heldBy("bob", 6)));
  StoredLease deleted = releasedBy("bob", 6);
  deleted.record = std::optional<StoredRecord>{};
  EXPECT_FALSE(follows(deleted));
  StoredLease strange = releasedBy("bob", 6);
  strange.record = StoreError{ErrorClass::corrupt, "not understood"};
  EXPECT_FALSE(follows(strange));
  hint_.tell(std::make_shared<const StoredLease>(releasedBy("bob", 6)));
  hint_.tell(nullptr);
  EXPECT_FALSE(hint_.take(at(oneLease), loaded_)) << "something else has happened since";
}

TEST_F(ReleaseHints, withoutItsCounterNoReleaseIsFollowed) {
  StoredLease release = releasedBy("bob", 6);
  release.counter = StoreError{ErrorClass::corrupt, "not understood"};
  EXPECT_FALSE(follows(release));
}

TEST_F(ReleaseHints, onlyTheTermThatWasSeenIsFollowedAndByALaterWrite) {
  EXPECT_FALSE(follows(releasedBy("carol", 6)));
  EXPECT_FALSE(follows(releasedBy("bob", 6, 8)));
  EXPECT_FALSE(follows(releasedBy("bob", 5)));
  loaded_ = releasedBy("bob", 5);
  EXPECT_FALSE(follows(releasedBy("bob", 6))) << "it was released before";
}

TEST_F(ReleaseHints, onlyInTheHistoryThatWasSeen) {
  StoredLease release = releasedBy("bob", 6);
  release.history = "1/2";
  EXPECT_FALSE(follows(release));
  release.history = "1/1";
  release.inherited = true;
  EXPECT_FALSE(follows(release));
}

TEST_F(ReleaseHints, onlyAfterAWholeLeaseWasWatched) {
  EXPECT_FALSE(follows(releasedBy("bob", 6), oneLease - 1ns));
  EXPECT_TRUE(follows(releasedBy("bob", 6), oneLease));
  hint_.begin(at(oneLease));
  EXPECT_FALSE(follows(releasedBy("bob", 6), 2 * oneLease - 1ns)) << "the stream has begun again";
  EXPECT_TRUE(follows(releasedBy("bob", 6), 2 * oneLease));
}

TEST_F(ReleaseHints, whatWasToldBeforeTheStreamBeganAgainCountsNoLonger) {
  hint_.tell(std::make_shared<const StoredLease>(releasedBy("bob", 6)));
  hint_.begin(at(1s));
  EXPECT_FALSE(hint_.take(at(1s + oneLease), loaded_));
}

TEST_F(ReleaseHints, onlyTheTermThatGoesOnRefutesOne) {
  EXPECT_FALSE(hint_.isRefuted(at(oneLease), loaded_)) << "nothing was taken";
  ASSERT_TRUE(follows(releasedBy("bob", 6)));
  EXPECT_FALSE(hint_.isRefuted(at(oneLease), heldBy("carol", 7, 8))) << "she was quicker";
  EXPECT_FALSE(hint_.isRefuted(at(oneLease), releasedBy("bob", 6)));
  EXPECT_TRUE(hint_.isRefuted(at(oneLease), heldBy("bob", 7)));
  EXPECT_FALSE(hint_.isRefuted(at(oneLease), heldBy("bob", 7))) << "it counts once";
}

TEST_F(ReleaseHints, aReleaseThatNeverWasIsFollowedByAPauseThatGrows) {
  auto now = std::chrono::nanoseconds{oneLease};
  for (const int leases : {1, 2, 4, 8, 8}) {
    ASSERT_TRUE(follows(releasedBy("bob", 6), now));
    EXPECT_TRUE(hint_.isRefuted(at(now), loaded_));
    EXPECT_FALSE(follows(releasedBy("bob", 6), now + leases * oneLease - 1ns)) << leases;
    now += leases * oneLease;
  }
  ASSERT_TRUE(follows(releasedBy("bob", 6), now + 8 * oneLease));
  EXPECT_TRUE(hint_.isRefuted(at(now + 8 * oneLease), loaded_));
  EXPECT_TRUE(follows(releasedBy("bob", 6), now + 9 * oneLease)) << "the last one was long ago";
}

}  // namespace
}  // namespace tenure::stored
