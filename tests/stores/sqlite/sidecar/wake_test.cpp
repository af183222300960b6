// Hints about other processes' commits.
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "lockcore/stores/sqlite/src/sidecar/wake_files.hpp"
#include "stores/sqlite/actor.hpp"
#include "stores/sqlite/sqlite_support.hpp"
#include "support/temp_dir.hpp"

namespace tenure::sqlite_test {
namespace {

class SqliteWake : public testing::Test {
 protected:
  /// Waits until the watch works: it gives a first hint then.
  [[nodiscard]] std::shared_ptr<void> watch(Signal& hints) {
    store_->ensureSchema();  // a store that only looks makes no file to watch
    auto handle = store_.raw().watch(key_, [&hints] { hints.set(); });
    EXPECT_NE(handle, nullptr);
    EXPECT_TRUE(hints.wait());
    return handle;
  }

  [[nodiscard]] std::string wakeFile() const { return sqlite_store::wakeFilePath(sidecarOf(path_), key_); }

  std::string commit(Actor& actor) {
    const auto version = store_->read(key_);
    return actor.ask("acquire lease a" + (version ? ' ' + version->version.text() : std::string{}));
  }

  test::TempDir directory_;
  const std::string path_ = directory_.file("leases.db");
  const LeaseKey key_{"lease"};
  Store store_{path_};
};

TEST_F(SqliteWake, anotherProcesssCommitWakes) {
  Actor writer{path_};
  Signal hints;
  const auto handle = watch(hints);
  for (int round = 0; round < 20; ++round) {
    const int before = hints.count();
    ASSERT_TRUE(contains(commit(writer), "applied"));
    EXPECT_TRUE(eventually([&] { return hints.count() > before; }));
  }
}

/// If a file is changed, the file system has to write that change with each commit.
TEST_F(SqliteWake, leavesTheFileAsItIs) {
  Signal hints;
  const auto handle = watch(hints);
  const auto longAgo = std::filesystem::last_write_time(wakeFile()) - std::chrono::hours{24};
  std::filesystem::last_write_time(wakeFile(), longAgo);
  Actor writer{path_};
  for (int round = 0; round < 3; ++round) {
    const int told = hints.count();
    ASSERT_TRUE(contains(commit(writer), "applied"));
    EXPECT_TRUE(eventually([&] { return hints.count() > told; }));
  }
  EXPECT_EQ(std::filesystem::last_write_time(wakeFile()), longAgo);
}

TEST_F(SqliteWake, aRefusedWriteWakesNobody) {
  store_->apply(acquire(key_, "a"));
  // An acquisition notifies others after its answer, and before the next write.
  ASSERT_TRUE(std::holds_alternative<Conflict>(store_->write(acquire(key_, "c"))));
  Signal hints;
  const auto handle = watch(hints);
  Signal other;
  const int before = hints.count();
  ASSERT_TRUE(std::holds_alternative<Conflict>(store_->write(acquire(key_, "b"))));
  const auto last = store_.raw().watch({"other"}, [&other] { other.set(); });
  ASSERT_TRUE(other.wait()) << "what came before has been dealt with on that thread";
  EXPECT_EQ(hints.count(), before);
}

TEST_F(SqliteWake, aDeletedWakeFileIsMadeAgain) {
  Actor writer{path_};
  Signal hints;
  const auto handle = watch(hints);
  for (int round = 0; round < 5; ++round) {
    int before = hints.count();
    if (round % 2 == 0) {
      std::filesystem::remove(wakeFile());
    } else {
      std::filesystem::rename(wakeFile(), directory_.file("elsewhere"));
    }
    ASSERT_TRUE(eventually([&] { return hints.count() > before && std::filesystem::exists(wakeFile()); }));
    before = hints.count();
    ASSERT_TRUE(contains(commit(writer), "applied"));
    EXPECT_TRUE(eventually([&] { return hints.count() > before; })) << "round " << round;
  }
}

TEST_F(SqliteWake, aDeletedSidecarDirectoryIsMadeAgain) {
  Actor writer{path_};
  Signal hints;
  const auto handle = watch(hints);
  int before = hints.count();
  std::error_code busy;  // the directory itself may stay, if its watcher is quick
  std::filesystem::remove_all(sidecarOf(path_), busy);
  ASSERT_TRUE(eventually([&] { return hints.count() > before && std::filesystem::exists(wakeFile()); }));
  before = hints.count();
  ASSERT_TRUE(contains(commit(writer), "applied"));
  EXPECT_TRUE(eventually([&] { return hints.count() > before; }));
}

TEST_F(SqliteWake, aCommitMakesTheFileForThoseToCome) {
  store_->apply(acquire(key_, "a"));
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(wakeFile()); }));
}

TEST_F(SqliteWake, aWatchWithoutADirectoryBeginsWhenThereIsOne) {
  const std::string sub = directory_.file("sub");
  Store store{sub + "/leases.db"};
  Signal hints;
  EXPECT_TRUE(store->startEnsureSchema()->get().has_error());  // a store that only looks makes no file to watch
  const auto handle = store.raw().watch(key_, [&] { hints.set(); });
  ASSERT_NE(handle, nullptr);
  EXPECT_EQ(hints.count(), 0);
  std::filesystem::create_directory(sub);
  EXPECT_TRUE(hints.wait());
}

TEST_F(SqliteWake, severalWatchersOfOneLeaseAreAllToldAndEndAlone) {
  Signal first;
  Signal second;
  auto one = watch(first);
  const auto two = watch(second);
  one.reset();
  const int firstBefore = first.count();
  const int secondBefore = second.count();
  store_->apply(acquire(key_, "a"));
  EXPECT_TRUE(eventually([&] { return second.count() > secondBefore; }));
  EXPECT_EQ(first.count(), firstBefore);
}

/// Whether the kernel watches this file for any descriptor of this process.
bool isWatched(const std::string& file) {
  struct stat found {};
  EXPECT_EQ(stat(file.c_str(), &found), 0) << file;
  std::array<char, 32> entry{};
  std::snprintf(entry.data(), entry.size(), " ino:%lx ", static_cast<unsigned long>(found.st_ino));
  for (const auto& descriptor : std::filesystem::directory_iterator{"/proc/self/fdinfo"}) {
    std::ifstream lines{descriptor.path()};
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("inotify ") && contains(line, entry.data())) return true;
    }
  }
  return false;
}

/// A user may have only so many watches (fs.inotify.max_user_watches).
TEST_F(SqliteWake, theKernelWatchesNoFileThatNobodyFollows) {
  Signal hints;
  auto handle = watch(hints);
  EXPECT_TRUE(isWatched(wakeFile()));
  handle.reset();
  EXPECT_TRUE(eventually([&] { return !isWatched(wakeFile()); }));
}

TEST_F(SqliteWake, withoutInotifyThereIsNoWatchAndOneWarning) {
  Actor actor{path_};
  ASSERT_EQ(actor.ask("no-inotify"), "ok");
  EXPECT_EQ(actor.ask("watch lease"), "none, 1 warning");
  EXPECT_TRUE(contains(actor.ask("acquire lease a"), "applied")) << "all else works";
}

TEST_F(SqliteWake, aWatchThatCannotBeArmedWarnsOnce) {
  Actor actor{path_};
  ASSERT_EQ(actor.ask("no-watches"), "ok");
  EXPECT_EQ(actor.ask("watch lease"), "a handle, 1 warning");
}

}  // namespace
}  // namespace tenure::sqlite_test
