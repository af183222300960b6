// Proof by the kernel that a holder is dead, and everything that is no proof.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <tenure/lockcore/lease_store.hpp>

#include "lockcore/liveness/liveness_file.hpp"
#include "stores/sqlite/actor.hpp"
#include "stores/sqlite/sqlite_support.hpp"
#include "support/temp_dir.hpp"

namespace tenure::sqlite_test {
namespace {

class SqliteDeathNotice : public testing::Test {
 protected:
  /// A holder in another process, with a record that names its liveness file.
  LeaseRecord holderIn(Actor& actor, const std::string& lease = "lease") {
    EXPECT_EQ(actor.ask("livenessFile"), "ok");
    const auto before = store_->read({lease});
    EXPECT_TRUE(
        contains(actor.ask("acquire " + lease + " a" + (before ? ' ' + before->version.text() : "")), "applied"));
    return store_->record({lease});
  }

  [[nodiscard]] std::shared_ptr<void> follow(const LeaseRecord& record, Signal& proven) {
    return extended(store_.raw())
        ->deathNotice()
        ->follow(record, [&proven, version = record.version](const RecordVersion& of) {
          EXPECT_EQ(of, version);
          proven.set();
        });
  }

  /// After this, everything that the watch thread was given before is handled, and every retry is over.
  void settle() {
    Actor shortLived{path_};
    const LeaseRecord record = holderIn(shortLived, "settle");
    Signal proven;
    const auto handle = follow(record, proven);
    ASSERT_NE(handle, nullptr);
    shortLived.kill();
    ASSERT_TRUE(proven.wait());
  }

  void expectNoProof(const LeaseRecord& record) {
    Signal proven;
    const auto handle = follow(record, proven);
    settle();
    EXPECT_EQ(proven.count(), 0);
  }

  [[nodiscard]] std::string fileOf(const LeaseRecord& record) const {
    return liveness::livenessFilePath(sidecarOf(path_), record.livenessFile->id);
  }

  test::TempDir directory_;
  const std::string path_ = directory_.file("leases.db");
  Store store_{path_};
};

TEST_F(SqliteDeathNotice, aKilledHolderIsProvenDeadWithinMilliseconds) {
  std::vector<std::chrono::microseconds> delays;
  for (int round = 0; round < 25; ++round) {
    Actor holder{path_};
    const LeaseRecord record = holderIn(holder);
    Signal proven;
    const auto handle = follow(record, proven);
    ASSERT_NE(handle, nullptr);
    const auto start = std::chrono::steady_clock::now();
    holder.signal(SIGKILL);
    ASSERT_TRUE(proven.wait());
    delays.push_back(std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start));
    EXPECT_EQ(proven.count(), 1);
  }
  std::sort(delays.begin(), delays.end());
  std::cout << "from SIGKILL to proof: median " << delays[delays.size() / 2].count() << " us, longest "
            << delays.back().count() << " us\n";
  EXPECT_LT(delays[delays.size() / 2], std::chrono::milliseconds{100});
}

TEST_F(SqliteDeathNotice, aHolderThatDiedBeforeIsProvenDeadAtOnce) {
  Actor holder{path_};
  const LeaseRecord record = holderIn(holder);
  holder.kill();
  Signal proven;
  const auto handle = follow(record, proven);
  EXPECT_TRUE(proven.wait());
}

TEST_F(SqliteDeathNotice, aHolderThatExitsWithoutReleasingIsProvenDead) {
  Actor holder{path_};
  const LeaseRecord record = holderIn(holder);
  Signal proven;
  const auto handle = follow(record, proven);
  EXPECT_EQ(holder.finish(), 0);
  EXPECT_TRUE(proven.wait());
}

TEST_F(SqliteDeathNotice, severalChallengersAreAllTold) {
  Actor holder{path_};
  const LeaseRecord record = holderIn(holder);
  std::vector<std::unique_ptr<Store>> challengers;
  std::vector<std::unique_ptr<Signal>> told;
  std::vector<std::shared_ptr<void>> handles;
  for (int i = 0; i < 10; ++i) {
    challengers.push_back(std::make_unique<Store>(path_));
    told.push_back(std::make_unique<Signal>());
    handles.push_back(extended(challengers.back()->raw())
                          ->deathNotice()
                          ->follow(record, [signal = told.back().get()](const RecordVersion&) { signal->set(); }));
  }
  holder.kill();
  for (const auto& signal : told) EXPECT_TRUE(signal->wait());
}

TEST_F(SqliteDeathNotice, aLivingOrFrozenHolderIsNotProvenDead) {
  Actor holder{path_};
  const LeaseRecord record = holderIn(holder);
  expectNoProof(record);
  holder.stop();
  expectNoProof(record);
}

TEST_F(SqliteDeathNotice, aDeletedLivenessFileIsNoProof) {
  Actor holder{path_};
  const LeaseRecord record = holderIn(holder);
  std::filesystem::remove(fileOf(record));
  expectNoProof(record);
  holder.kill();
  expectNoProof(record);
}

TEST_F(SqliteDeathNotice, aLivenessFileDeletedWhileItIsFollowedIsNoProof) {
  Actor holder{path_};
  const LeaseRecord record = holderIn(holder);
  Signal proven;
  const auto handle = follow(record, proven);
  settle();
  std::filesystem::remove(fileOf(record));
  holder.kill();
  settle();
  EXPECT_EQ(proven.count(), 0);
}

TEST_F(SqliteDeathNotice, aReplacedLivenessFileIsNoProof) {
  Actor holder{path_};
  const LeaseRecord record = holderIn(holder);
  const std::string file = fileOf(record);
  std::filesystem::rename(file, directory_.file("kept"));
  std::ofstream{file} << record.livenessFile->id << '\n';
  expectNoProof(record);
  std::filesystem::remove(file);
  std::filesystem::copy_file(directory_.file("kept"), file);
  expectNoProof(record);
  std::filesystem::remove(file);
  std::filesystem::create_symlink(directory_.file("kept"), file);
  expectNoProof(record);
  std::filesystem::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0666), 0);
  expectNoProof(record);
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  expectNoProof(record);
}

TEST_F(SqliteDeathNotice, aLivenessFileReplacedWhileItIsFollowedIsNoProof) {
  Actor holder{path_};
  const LeaseRecord record = holderIn(holder);
  Signal proven;
  const auto handle = follow(record, proven);
  settle();
  std::filesystem::rename(fileOf(record), directory_.file("kept"));
  std::ofstream{fileOf(record)} << record.livenessFile->id << '\n';
  holder.kill();
  settle();
  EXPECT_EQ(proven.count(), 0);
}

TEST_F(SqliteDeathNotice, aRecordThatDescribesAnotherFileIsNoProof) {
  Actor holder{path_};
  const LeaseRecord record = holderIn(holder);
  holder.kill();
  LeaseRecord wrong = record;
  wrong.livenessFile->inode += 1;
  expectNoProof(wrong);
  wrong = record;
  wrong.livenessFile->device += 1;
  expectNoProof(wrong);
  // The id in the name and in the record agree, the one inside the file does not.
  std::ofstream{fileOf(record), std::ios::in | std::ios::out} << std::string(32, '0');
  expectNoProof(record);
  std::filesystem::resize_file(fileOf(record), 10);
  expectNoProof(record);
}

TEST_F(SqliteDeathNotice, aLivenessFileThatAStrangerLocksIsNoProof) {
  Actor holder{path_};
  const LeaseRecord record = holderIn(holder);
  holder.kill();
  Signal proven;
  std::shared_ptr<void> handle;
  {
    const UniqueFd stranger{open(fileOf(record).c_str(), O_RDWR | O_CLOEXEC)};
    ASSERT_EQ(flock(stranger.get(), LOCK_EX | LOCK_NB), 0);
    handle = follow(record, proven);
    settle();
    EXPECT_EQ(proven.count(), 0);
  }
  EXPECT_TRUE(proven.wait()) << "when the stranger lets go it is";
}

TEST_F(SqliteDeathNotice, aHolderWhoseChildInheritedTheLivenessFileCountsAsAlive) {
  Actor holder{path_};
  const LeaseRecord record = holderIn(holder);
  const std::string child = holder.ask("child");
  ASSERT_NE(child, "");
  Signal proven;
  const auto handle = follow(record, proven);
  holder.kill();
  settle();
  EXPECT_EQ(proven.count(), 0);
  kill(static_cast<pid_t>(std::stol(child)), SIGKILL);
  EXPECT_TRUE(proven.wait());
}

TEST_F(SqliteDeathNotice, whatCanProveNothingIsNotFollowed) {
  Actor holder{path_};
  const LeaseRecord record = holderIn(holder);
  holder.kill();
  Signal proven;
  LeaseRecord none = record;
  none.livenessFile.reset();
  EXPECT_EQ(follow(none, proven), nullptr);
  LeaseRecord otherBoot = record;
  otherBoot.livenessFile->bootId = "00000000-0000-4000-8000-000000000000";
  EXPECT_EQ(follow(otherBoot, proven), nullptr);
  otherBoot.livenessFile->bootId.clear();
  EXPECT_EQ(follow(otherBoot, proven), nullptr);
  LeaseRecord path = record;
  path.livenessFile->id = "../../../../../../etc/passwd0123";
  EXPECT_EQ(follow(path, proven), nullptr);
}

TEST_F(SqliteDeathNotice, theOrderlyEndOfAStoreIsNoProof) {
  auto other = std::make_unique<Store>(path_);
  const LivenessFile livenessFile = extended(other->raw())->deathNotice()->livenessFile().value();
  WriteRequest request = acquire({"lease"}, "b");
  request.record.livenessFile = livenessFile;
  (*other)->apply(std::move(request));
  const LeaseRecord record = store_->record({"lease"});
  Signal proven;
  const auto handle = follow(record, proven);
  (*other)->apply(release({"lease"}, "b", {record.version}));
  other.reset();
  EXPECT_FALSE(std::filesystem::exists(fileOf(record))) << "nothing is left behind";
  settle();
  EXPECT_EQ(proven.count(), 0);
}

// Work that did not end in time may outlive the elector and its store: only the end of the process ends such work.
TEST_F(SqliteDeathNotice, theEndOfAStoreWithATermThatWasNotReleasedIsNoProof) {
  auto other = std::make_unique<Store>(path_);
  const LivenessFile livenessFile = extended(other->raw())->deathNotice()->livenessFile().value();
  WriteRequest request = acquire({"lease"}, "b");
  request.record.livenessFile = livenessFile;
  (*other)->apply(std::move(request));
  const LeaseRecord record = store_->record({"lease"});
  other.reset();
  EXPECT_TRUE(std::filesystem::exists(fileOf(record)));
  expectNoProof(record);
}

TEST_F(SqliteDeathNotice, nothingIsToldWhenTheHandleIsGone) {
  Actor holder{path_};
  const LeaseRecord record = holderIn(holder);
  Signal proven;
  auto handle = follow(record, proven);
  handle.reset();
  holder.kill();
  settle();
  EXPECT_EQ(proven.count(), 0);
}

TEST_F(SqliteDeathNotice, canBeSwitchedOff) {
  Store without{path_, false};
  EXPECT_EQ(extended(without.raw())->deathNotice(), nullptr);
}

TEST_F(SqliteDeathNotice, thereIsOneLivenessFilePerStoreAndItIsReal) {
  const auto notice = extended(store_.raw())->deathNotice();
  EXPECT_EQ(notice->descriptor(), -1);
  const LivenessFile livenessFile = notice->livenessFile().value();
  EXPECT_EQ(extended(store_.raw())->deathNotice()->livenessFile().value(), livenessFile);
  const std::string file = liveness::livenessFilePath(sidecarOf(path_), livenessFile.id);
  std::string line;
  std::getline(std::ifstream{file}, line);
  EXPECT_EQ(line, livenessFile.id);
  struct stat found {};
  ASSERT_EQ(stat(file.c_str(), &found), 0);
  EXPECT_EQ(found.st_ino, livenessFile.inode);
  EXPECT_EQ(found.st_dev, livenessFile.device);
  struct stat opened {};
  ASSERT_EQ(fstat(notice->descriptor(), &opened), 0);
  EXPECT_EQ(opened.st_ino, livenessFile.inode);
  EXPECT_EQ(fcntl(notice->descriptor(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  const UniqueFd other{open(file.c_str(), O_RDONLY | O_CLOEXEC)};
  EXPECT_NE(flock(other.get(), LOCK_SH | LOCK_NB), 0) << "it is locked";
}

TEST_F(SqliteDeathNotice, aLivenessFileThatCannotBeMadeIsRefusedInPlainWords) {
  Store store{directory_.file("missing/leases.db")};
  const auto livenessFile = extended(store.raw())->deathNotice()->livenessFile();
  ASSERT_TRUE(livenessFile.has_error());
  EXPECT_EQ(livenessFile.error().errorClass, ErrorClass::misconfigured);
  EXPECT_TRUE(contains(livenessFile.error().message, "does not exist")) << livenessFile.error().message;
}

TEST_F(SqliteDeathNotice, worksWithoutInotify) {
  for (const char* limit : {"no-inotify", "no-watches"}) {
    Actor holder{path_};
    holderIn(holder);
    Actor challenger{path_};
    ASSERT_EQ(challenger.ask(limit), "ok");
    ASSERT_EQ(challenger.ask("follow lease"), "ok");
    holder.kill();
    EXPECT_EQ(challenger.hear(), "proven") << limit;
  }
}

}  // namespace
}  // namespace tenure::sqlite_test
