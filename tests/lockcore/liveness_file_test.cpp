// Liveness files and the wait for their locks, without a store.
#include "lockcore/liveness/liveness_file.hpp"

#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <future>
#include <string>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/lockcore/logger.hpp>

#include "child_process.hpp"
#include "lockcore/liveness/holder_watch.hpp"
#include "lockcore/runtime/directory.hpp"
#include "lockcore/runtime/watch_thread.hpp"
#include "support/eventually.hpp"
#include "support/temp_dir.hpp"

namespace tenure::liveness {
namespace {

using std::chrono::milliseconds;
constexpr std::chrono::seconds atMost{30};

class LivenessFileFile : public testing::Test {
 protected:
  /// Of a process that ended with an open term.
  [[nodiscard]] LivenessFile livenessFileOfTheDead() const {
    const int ended = test::inChild([this] {
      OwnLivenessFile own{place_};
      return own.openTerm({{"lease"}, "holder"}, milliseconds{1'500}).has_error() ? 1 : 0;
    });
    EXPECT_EQ(ended, 0);
    const std::vector<std::string> names = namesIn(beacons_, livenessFilePrefix);
    LivenessFile livenessFile{.id = names.at(0).substr(livenessFilePrefix.size()), .bootId = bootId()};
    struct stat found {};
    EXPECT_EQ(names.size(), 1U);
    EXPECT_EQ(stat(livenessFilePath(beacons_, livenessFile.id).c_str(), &found), 0);
    livenessFile.device = found.st_dev;
    livenessFile.inode = found.st_ino;
    return livenessFile;
  }
  [[nodiscard]] static LeaseRecord recordWith(const LivenessFile& livenessFile) {
    LeaseRecord record;
    record.holder = "holder";
    record.livenessFile = livenessFile;
    return record;
  }
  [[nodiscard]] std::shared_ptr<void> follow(WatchThread& thread, const LivenessFile& livenessFile,
                                             std::promise<void>& proven) {
    return thread.watch(std::make_shared<HolderWatch>(place_, recordWith(livenessFile),
                                                      [&](const RecordVersion&) { proven.set_value(); }),
                        WatchThread::Without::inotifyPossible);
  }

  test::TempDir directory_;
  const std::string beacons_ = directory_.file("liveness");
  const LivenessFilePlace place_{"host", [this] { return StoreResult<std::string>{beacons_}; }};
};

TEST_F(LivenessFileFile, onlyIdsMayBecomePartOfAPath) {
  EXPECT_TRUE(isLivenessFileId("0123456789abcdef0123456789abcdef"));
  EXPECT_FALSE(isLivenessFileId("0123456789abcdef0123456789abcde"));
  EXPECT_FALSE(isLivenessFileId("0123456789ABCDEF0123456789abcdef"));
  EXPECT_FALSE(isLivenessFileId("../../../../../../../../etc/pass"));
  EXPECT_FALSE(isLivenessFileId(""));
}

TEST_F(LivenessFileFile, theDeadAreProvenDeadAndTheLivingAreNot) {
  const LivenessFile dead = livenessFileOfTheDead();
  OwnLivenessFile own{place_};
  const LivenessFile living = own.get().value();
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

TEST_F(LivenessFileFile, whatIsOfAnotherBootOrNoIdCanProveNothing) {
  const LivenessFile own = OwnLivenessFile{place_}.get().value();
  LeaseRecord record = recordWith(own);
  record.livenessFile->bootId = "00000000-0000-4000-8000-000000000000";
  EXPECT_FALSE(HolderWatch::isPossible(record));
  record.livenessFile->bootId.clear();
  EXPECT_FALSE(HolderWatch::isPossible(record));
  record.livenessFile = own;
  record.livenessFile->id = "../leases.db";
  EXPECT_FALSE(HolderWatch::isPossible(record));
  record.livenessFile.reset();
  EXPECT_FALSE(HolderWatch::isPossible(record));
}

TEST(HolderWatchPause, aTryComesLateByAtMostAQuarterOfWhatTheKernelTook) {
  using std::chrono::microseconds;
  using std::chrono::nanoseconds;
  constexpr nanoseconds step = microseconds{25};
  std::vector<nanoseconds> tries{nanoseconds{0}};
  for (auto pause = HolderWatch::pauseAfter(tries.back()); pause; pause = HolderWatch::pauseAfter(tries.back())) {
    tries.push_back(tries.back() + *pause);
    ASSERT_LT(tries.size(), 45U);
  }
  EXPECT_GE(tries.back(), milliseconds{200});
  // The lock may be dropped right after any try.
  for (std::size_t i = 1; i < tries.size(); ++i) {
    EXPECT_LE(tries[i] - tries[i - 1], std::max(step, tries[i - 1] / 4)) << tries[i].count();
  }
}

TEST(HolderWatchPause, aTryThatWasLateItselfIsFollowedByOneThatFitsTheTimeThatPassed) {
  EXPECT_EQ(HolderWatch::pauseAfter(milliseconds{8}), milliseconds{2});
  EXPECT_EQ(HolderWatch::pauseAfter(std::chrono::hours{1}), std::nullopt) << "of a machine that slept";
}

/// The numbers of this process's inotify instances.
std::vector<int> inotifyDescriptors() {
  std::vector<int> numbers;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry.path(), gone).string().find("inotify") == std::string::npos) continue;
    numbers.push_back(std::stoi(entry.path().filename().string()));
  }
  return numbers;
}

TEST_F(LivenessFileFile, theKernelLetsGoOfTheFileOfADeadProcessBeforeAnyInotifyInstance) {
  const int ended = test::inChild([this] {
    OwnLivenessFile own{place_};
    const LivenessFile living = own.get().value();
    WatchThread thread{Logger{}};
    std::promise<void> never;
    const auto watch = follow(thread, living, never);
    const UniqueFd ofTheHost{inotify_init1(IN_CLOEXEC)};
    const std::vector<int> instances = inotifyDescriptors();
    const bool isHighest =
        std::all_of(instances.begin(), instances.end(), [&](int number) { return number < own.descriptor(); });
    const bool closesInPrograms = (fcntl(own.descriptor(), F_GETFD) & FD_CLOEXEC) != 0;
    thread.stop();
    return instances.size() == 2 && isHighest && closesInPrograms ? 0 : 1;
  });
  EXPECT_EQ(ended, 0);
}

TEST_F(LivenessFileFile, itIsMadeAtAnyLimitOfDescriptors) {
  for (const rlim_t limit : {16U, 201U, 1'000U, 1'001U}) {
    const int ended = test::inChild([&] {
      const rlimit few{limit, limit};
      if (setrlimit(RLIMIT_NOFILE, &few) != 0) return 2;
      OwnLivenessFile first{place_};
      OwnLivenessFile second{place_};
      for (OwnLivenessFile* own : {&first, &second}) {
        if (own->get().has_error()) return 1;
        const std::string file = livenessFilePath(beacons_, own->id());
        if (probeLivenessFile(openLivenessFileToLook(file)) != LockState::held) return 3;
      }
      return 0;
    });
    EXPECT_EQ(ended, 0) << limit;
  }
}

TEST_F(LivenessFileFile, onlyTheDeadToWhomNoRecordRefersAreRemoved) {
  const LivenessFile dead = livenessFileOfTheDead();
  OwnLivenessFile own{place_};
  const std::string living = own.get().value().id;
  std::vector<std::string> asked;
  const auto remove = [&](bool isReferredTo) {
    removeDeadLivenessFiles(beacons_, [&](const std::string& id) {
      asked.push_back(id);
      return isReferredTo;
    });
    return namesIn(beacons_, livenessFilePrefix).size();
  };
  EXPECT_EQ(remove(true), 2U);
  EXPECT_EQ(remove(false), 1U);
  EXPECT_EQ(asked, (std::vector{dead.id, dead.id}));
  EXPECT_EQ(own.id(), living);
  EXPECT_EQ(probeLivenessFile(openLivenessFileToLook(livenessFilePath(beacons_, living))), LockState::held);
}

TEST_F(LivenessFileFile, itStatesTheLongestLeaseThatWasEverOpened) {
  OwnLivenessFile own{place_};
  const TermName longer{{"lease"}, "a"};
  const TermName shorter{{"lease"}, "b"};
  int fault = 0;
  const std::string file = livenessFilePath(beacons_, own.get().value().id);
  EXPECT_EQ(statedLease(openLivenessFileToLook(file), fault), milliseconds{0});
  EXPECT_TRUE(own.openTerm(longer, milliseconds{9'000}).value());
  EXPECT_TRUE(own.openTerm(shorter, milliseconds{2'000}).value());
  EXPECT_FALSE(own.openTerm(shorter, milliseconds{2'000}).value()) << "it was open";
  EXPECT_EQ(own.longestOpen(&longer), milliseconds{2'000});
  own.endTerm(longer);
  EXPECT_EQ(own.longestOpen(nullptr), milliseconds{2'000});
  EXPECT_EQ(statedLease(openLivenessFileToLook(file), fault), milliseconds{9'000});
  own.endTerm(shorter);
}

/// Another process may have released it, by its token.
TEST_F(LivenessFileFile, aTermOfWhichNothingIsWrittenIsOverAfterTwoLeases) {
  OwnLivenessFile own{place_};
  EXPECT_TRUE(own.openTerm({{"lease"}, "renewed"}, milliseconds{60'000}).value());
  for (int i = 0; i < 1'000; ++i) EXPECT_TRUE(own.openTerm({{"lease"}, std::to_string(i)}, milliseconds{1}).value());
  EXPECT_FALSE(own.openTerm({{"lease"}, "renewed"}, milliseconds{60'000}).value()) << "it is open";
  own.endTerm({{"lease"}, "renewed"});
  EXPECT_TRUE(test::Eventually{std::chrono::seconds{10}}([&] { return own.longestOpen(nullptr).count() == 0; }));
}

}  // namespace
}  // namespace tenure::liveness
