// Liveness files and the wait for their locks, without a store.
#include "lockcore/liveness/beacon_file.hpp"

#include <chrono>
#include <future>
#include <string>
#include <sys/stat.h>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/lockcore/logger.hpp>

#include "child_process.hpp"
#include "lockcore/liveness/holder_watch.hpp"
#include "lockcore/runtime/directory.hpp"
#include "lockcore/runtime/watch_thread.hpp"
#include "support/temp_dir.hpp"

namespace tenure::liveness {
namespace {

using std::chrono::milliseconds;
constexpr std::chrono::seconds atMost{30};

class BeaconFile : public testing::Test {
 protected:
  /// Of a process that ended with an open term.
  [[nodiscard]] Beacon beaconOfTheDead() const {
    const int ended = test::inChild([this] {
      OwnBeacon own{place_};
      return own.openTerm({{"lease"}, "holder"}, milliseconds{1'500}).has_error() ? 1 : 0;
    });
    EXPECT_EQ(ended, 0);
    const std::vector<std::string> names = namesIn(beacons_, beaconPrefix);
    Beacon beacon{.id = names.at(0).substr(beaconPrefix.size()), .bootId = bootId()};
    struct stat found {};
    EXPECT_EQ(names.size(), 1U);
    EXPECT_EQ(stat(beaconPath(beacons_, beacon.id).c_str(), &found), 0);
    beacon.device = found.st_dev;
    beacon.inode = found.st_ino;
    return beacon;
  }
  [[nodiscard]] static LeaseRecord recordWith(const Beacon& beacon) {
    LeaseRecord record;
    record.holder = "holder";
    record.beacon = beacon;
    return record;
  }
  [[nodiscard]] std::shared_ptr<void> follow(WatchThread& thread, const Beacon& beacon, std::promise<void>& proven) {
    return thread.watch(
        std::make_shared<HolderWatch>(place_, recordWith(beacon), [&](const RecordVersion&) { proven.set_value(); }),
        WatchThread::Without::inotifyPossible);
  }

  test::TempDir directory_;
  const std::string beacons_ = directory_.file("liveness");
  const BeaconPlace place_{"host", [this] { return StoreResult<std::string>{beacons_}; }};
};

TEST_F(BeaconFile, onlyIdsMayBecomePartOfAPath) {
  EXPECT_TRUE(isBeaconId("0123456789abcdef0123456789abcdef"));
  EXPECT_FALSE(isBeaconId("0123456789abcdef0123456789abcde"));
  EXPECT_FALSE(isBeaconId("0123456789ABCDEF0123456789abcdef"));
  EXPECT_FALSE(isBeaconId("../../../../../../../../etc/pass"));
  EXPECT_FALSE(isBeaconId(""));
}

TEST_F(BeaconFile, theDeadAreProvenDeadAndTheLivingAreNot) {
  const Beacon dead = beaconOfTheDead();
  OwnBeacon own{place_};
  const Beacon living = own.get().value();
  ASSERT_TRUE(HolderWatch::isPossible(recordWith(living)));
  WatchThread thread{Logger{}};
  std::promise<void> ofTheLiving;
  std::promise<void> ofTheDead;
  const auto first = follow(thread, living, ofTheLiving);
  const auto second = follow(thread, dead, ofTheDead);
  EXPECT_EQ(ofTheDead.get_future().wait_for(atMost), std::future_status::ready);
  // It was looked at before the other.
  EXPECT_EQ(ofTheLiving.get_future().wait_for(milliseconds{0}), std::future_status::timeout);
  thread.stop();
}

TEST_F(BeaconFile, whatIsOfAnotherBootOrNoIdCanProveNothing) {
  const Beacon own = OwnBeacon{place_}.get().value();
  LeaseRecord record = recordWith(own);
  record.beacon->bootId = "00000000-0000-4000-8000-000000000000";
  EXPECT_FALSE(HolderWatch::isPossible(record));
  record.beacon->bootId.clear();
  EXPECT_FALSE(HolderWatch::isPossible(record));
  record.beacon = own;
  record.beacon->id = "../leases.db";
  EXPECT_FALSE(HolderWatch::isPossible(record));
  record.beacon.reset();
  EXPECT_FALSE(HolderWatch::isPossible(record));
}

TEST_F(BeaconFile, onlyTheDeadToWhomNoRecordRefersAreRemoved) {
  const Beacon dead = beaconOfTheDead();
  OwnBeacon own{place_};
  const std::string living = own.get().value().id;
  std::vector<std::string> asked;
  const auto remove = [&](bool isReferredTo) {
    removeDeadBeacons(beacons_, [&](const std::string& id) {
      asked.push_back(id);
      return isReferredTo;
    });
    return namesIn(beacons_, beaconPrefix).size();
  };
  EXPECT_EQ(remove(true), 2U);
  EXPECT_EQ(remove(false), 1U);
  EXPECT_EQ(asked, (std::vector{dead.id, dead.id}));
  EXPECT_EQ(own.id(), living);
  EXPECT_EQ(probeBeacon(openBeaconToLook(beaconPath(beacons_, living))), LockState::held);
}

TEST_F(BeaconFile, itStatesTheLongestLeaseThatWasEverOpened) {
  OwnBeacon own{place_};
  const TermName longer{{"lease"}, "a"};
  const TermName shorter{{"lease"}, "b"};
  int fault = 0;
  const std::string file = beaconPath(beacons_, own.get().value().id);
  EXPECT_EQ(statedLease(openBeaconToLook(file), fault), milliseconds{0});
  EXPECT_TRUE(own.openTerm(longer, milliseconds{9'000}).value());
  EXPECT_TRUE(own.openTerm(shorter, milliseconds{2'000}).value());
  EXPECT_FALSE(own.openTerm(shorter, milliseconds{2'000}).value()) << "it was open";
  EXPECT_EQ(own.longestOpen(&longer), milliseconds{2'000});
  own.endTerm(longer);
  EXPECT_EQ(own.longestOpen(nullptr), milliseconds{2'000});
  EXPECT_EQ(statedLease(openBeaconToLook(file), fault), milliseconds{9'000});
  own.endTerm(shorter);
}

}  // namespace
}  // namespace tenure::liveness
