// Which reads of a candidate that waits are answered from the watch.
#include "lockcore/stores/kubernetes/src/watched_objects.hpp"

#include <string>

#include <gtest/gtest.h>

#include "lockcore/runtime/store_answer.hpp"
#include "stores/kubernetes/store_case.hpp"
#include "support/eventually.hpp"

namespace tenure::kubernetes_store {
namespace {

using namespace std::chrono_literals;

Instant at(std::chrono::milliseconds passed) { return Instant{1h, 2h, 3h} + passed; }

LeaseObject objectAt(std::uint64_t revision, std::string uid = "u") {
  LeaseObject object;
  object.name = "lease";
  object.uid = std::move(uid);
  object.revision = revision;
  object.resourceVersion = std::to_string(revision);
  return object;
}

class KubernetesWatched : public testing::Test {
 protected:
  [[nodiscard]] std::uint64_t seenAt(std::chrono::milliseconds passed) const {
    const auto found = objects_.find(key_, at(passed));
    return found ? found->revision : 0;
  }

  const LeaseKey key_{"lease"};
  WatchedObjects objects_{};
};

TEST_F(KubernetesWatched, theServerIsAskedOnceALease) {
  static_cast<void>(objects_.streamBegins());
  EXPECT_EQ(seenAt(0ms), 0U);
  objects_.asked(key_, objectAt(5), 2s, at(0ms));
  EXPECT_EQ(seenAt(0ms), 5U);
  objects_.shown(key_, objectAt(6));
  EXPECT_EQ(seenAt(1999ms), 6U);
  EXPECT_EQ(seenAt(2s), 0U) << "a stream that keeps something back does so for a lease at most";
}

TEST_F(KubernetesWatched, withoutAStreamNothingIsKnown) {
  objects_.asked(key_, objectAt(5), 2s, at(0ms));
  EXPECT_EQ(seenAt(0ms), 0U);
  const auto first = objects_.streamBegins();
  objects_.asked(key_, objectAt(5), 2s, at(0ms));
  objects_.streamEnds(first);
  EXPECT_EQ(seenAt(0ms), 0U);
  const auto second = objects_.streamBegins();
  EXPECT_EQ(seenAt(0ms), 0U) << "what was read before the stream began may have changed since";
  objects_.asked(key_, objectAt(5), 2s, at(0ms));
  objects_.streamEnds(first);
  EXPECT_EQ(seenAt(0ms), 5U) << "that was another stream";
  objects_.streamEnds(second);
  EXPECT_EQ(seenAt(0ms), 0U);
}

TEST_F(KubernetesWatched, whatIsOlderOrAnotherObjectIsNotShown) {
  static_cast<void>(objects_.streamBegins());
  objects_.shown(key_, objectAt(4));
  EXPECT_EQ(seenAt(0ms), 0U) << "nobody has asked";
  objects_.asked(key_, objectAt(5), 2s, at(0ms));
  objects_.shown(key_, objectAt(4));
  objects_.shown(key_, objectAt(9, "another"));
  EXPECT_EQ(seenAt(0ms), 5U);
  objects_.forget(key_);
  EXPECT_EQ(seenAt(0ms), 0U);
}

TEST_F(KubernetesWatched, anAnswerThatTheStreamHasOvertakenIsNotShown) {
  static_cast<void>(objects_.streamBegins());
  objects_.asked(key_, objectAt(5), 2s, at(0ms));
  objects_.shown(key_, objectAt(7));
  objects_.asked(key_, objectAt(6), 2s, at(1ms));
  EXPECT_EQ(seenAt(2ms), 7U);
  objects_.asked(key_, objectAt(6, "another"), 2s, at(3ms));
  EXPECT_EQ(seenAt(4ms), 6U) << "revisions of two objects are not compared";
}

TEST_F(KubernetesWatched, aStreamThatKeptSomethingBackIsNotBelievedUntilItTellsAgain) {
  static_cast<void>(objects_.streamBegins());
  objects_.asked(key_, objectAt(5), 2s, at(0ms));
  objects_.asked(key_, objectAt(7), 2s, at(2s));
  EXPECT_EQ(seenAt(2s), 0U);
  objects_.asked(key_, objectAt(8), 2s, at(3s));
  EXPECT_EQ(seenAt(3s), 0U);
  objects_.shown(key_, objectAt(9));
  EXPECT_EQ(seenAt(3s), 9U);
  objects_.asked(key_, objectAt(9), 2s, at(5s));
  EXPECT_EQ(seenAt(5s), 9U) << "nothing was kept back: the holder is silent";
}

class KubernetesWaiting : public KubernetesStoreCase {
 protected:
  /// As a candidate looks that waits.
  [[nodiscard]] LeaseRecord seen() const {
    return readAnswer(store_.raw(), key_, 10s, /*mayBeLate=*/true).value().value();
  }
};

TEST_F(KubernetesWaiting, aCandidateSeesEachHeartbeatAndAsksOnce) {
  constexpr test::Eventually eventually{10s, 1ms};
  std::atomic<int> hints{0};
  const auto watching = store_.raw().watch(key_, [&] { ++hints; });
  const auto holder = another();
  WriteRequest last = acquire(key_, "b");
  holder.apply(last);
  ASSERT_TRUE(eventually([&] { return hints > 0 && gateway_->streams() == 1; }));
  ASSERT_EQ(seen().version, last.record.version);
  const std::size_t before = requests();
  for (int beats = 0; beats < 8; ++beats) {
    WriteRequest beat = renew(key_, "b", {last.record.version});
    holder.apply(beat);
    last = beat;
    EXPECT_TRUE(eventually([&] { return seen().version == last.record.version; }));
  }
  EXPECT_EQ(requests(), before);
  holder.apply(release(key_, "b", {last.record.version}));
  LeaseRecord record;
  EXPECT_TRUE(eventually([&] { return (record = seen()).released; }));
  store_.apply(acquire(key_, "a", {record.version}));
  EXPECT_EQ(methodsSince(before), (Methods{"GET", "PUT"})) << "the watch is younger than a lease";
}

TEST_F(KubernetesWaiting, whoHasWrittenLooksAtTheServer) {
  constexpr test::Eventually eventually{10s, 1ms};
  const auto watching = store_.raw().watch(key_, [] {});
  const auto holder = another();
  const WriteRequest taken = acquire(key_, "b");
  holder.apply(taken);
  ASSERT_TRUE(eventually([&] { return gateway_->streams() == 1; }));
  static_cast<void>(seen());
  static_cast<void>(store_.write(acquire(key_, "a", {RecordVersion{"of long ago"}})));
  const std::size_t before = requests();
  EXPECT_EQ(seen().version, taken.record.version);
  EXPECT_EQ(methodsSince(before), Methods{"GET"});
}

}  // namespace
}  // namespace tenure::kubernetes_store
