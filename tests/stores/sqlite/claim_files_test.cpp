// The files of claims: one for a lock that is taken again and again, and none that pile up.
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "claims.hpp"
#include "file_identity.hpp"
#include "sqlite_support.hpp"
#include "support/temp_dir.hpp"

namespace tenure::sqlite_test {
namespace {

class SqliteClaimFiles : public testing::Test {
 protected:
  /// Of those that stand.
  [[nodiscard]] std::size_t claims() const { return claimFilesOf(path_).size(); }

  test::TempDir directory_;
  const std::string path_ = directory_.file("leases.db");
  const LeaseKey key_{"lease"};
};

/// Else each critical section of a lock would cost the file system two changes of a directory.
TEST_F(SqliteClaimFiles, ofALockThatIsTakenAgainAndAgainAreOneFile) {
  Store holder{path_};
  holder->apply(acquire(key_, "a"));
  ASSERT_EQ(claims(), 1U);
  const std::filesystem::path file = claimFilesOf(path_).front();
  const auto inode = [&] { return sqlite_store::identityOf(file).value_or(sqlite_store::FileIdentity{}); };
  const sqlite_store::FileIdentity first = inode();
  for (int term = 2; term <= 5; ++term) {
    holder->apply(release(key_, "a", {holder->record(key_).version}));
    EXPECT_EQ(claims(), 0U);
    EXPECT_TRUE(std::filesystem::exists(file)) << "for the next term";
    holder->apply(acquire(key_, "a", {holder->record(key_).version}));
    EXPECT_EQ(claims(), 1U);
    EXPECT_EQ(inode(), first);
  }
  for (const char* suffix : {"", "-shm", "-wal"}) std::filesystem::remove(path_ + suffix);
  Store newcomer{path_};
  EXPECT_EQ(newcomer->record(key_).token, FencingToken{5}) << "it says what holds now";
}

TEST_F(SqliteClaimFiles, ofLocksThatAreNotTakenAgainDoNotPileUp) {
  const auto all = [&] {
    int count = 0;
    const std::filesystem::path directory = sqlite_store::claimsDirectory(sidecarOf(path_));
    for (const auto& entry : std::filesystem::recursive_directory_iterator{directory})
      count += entry.is_regular_file() ? 1 : 0;
    return count;
  };
  {
    Store holder{path_};
    for (int i = 0; i < 100; ++i) {
      const LeaseKey key{"lease" + std::to_string(i)};
      holder->apply(acquire(key, "a"));
      holder->apply(release(key, "a", {holder->record(key).version}));
    }
    EXPECT_LE(all(), 64);
    EXPECT_GE(all(), 1);
  }
  EXPECT_EQ(all(), 0) << "the store takes them away";
}

/// Or each of many processes that take turns would open the files of all others at each look.
TEST_F(SqliteClaimFiles, ofProcessesThatTakeTurnsAreNotKept) {
  Store one{path_};
  Store other{path_};
  one->apply(acquire(key_, "a"));
  const std::filesystem::path file = claimFilesOf(path_).at(0);
  one->apply(release(key_, "a", {one->record(key_).version}));
  EXPECT_TRUE(one->record(key_).released);
  EXPECT_TRUE(std::filesystem::exists(file)) << "nobody else had it yet";
  other->apply(acquire(key_, "b", {other->record(key_).version}));
  EXPECT_EQ(one->record(key_).holder, "b");
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(SqliteClaimFiles, areMadeAgainIfTheirFileOrDirectoryWasRemoved) {
  Store holder{path_};
  for (const bool wholeDirectory : {false, true}) {
    const auto version = holder->read(key_);
    holder->apply(acquire(key_, "a", version ? std::vector{version->version} : std::vector<RecordVersion>{}));
    const std::filesystem::path file = claimFilesOf(path_).at(0);
    holder->apply(release(key_, "a", {holder->record(key_).version}));
    std::filesystem::remove_all(wholeDirectory ? file.parent_path() : file);
    holder->apply(acquire(key_, "a", {holder->record(key_).version}));
    EXPECT_EQ(claims(), 1U);
    holder->apply(release(key_, "a", {holder->record(key_).version}));
  }
}

}  // namespace
}  // namespace tenure::sqlite_test
