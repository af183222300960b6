// A store that was only asked to look makes no file and changes none, in whatever state the files are.
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "actor.hpp"
#include "lockcore/stores/sqlite/src/file_identity.hpp"
#include "sqlite_support.hpp"
#include "support/temp_dir.hpp"

namespace tenure::sqlite_test {
namespace {

/// What a look must not change. Times of access and -shm's content, which SQLite maps, are no part of it.
using Snapshot = std::map<std::string, std::array<std::uint64_t, 6>>;

class SqliteLook : public testing::Test {
 protected:
  void add(Snapshot& all, const std::string& path) const {
    struct stat found {};
    if (lstat(path.c_str(), &found) != 0) return;
    all[path] = {found.st_ino,
                 found.st_mode,
                 found.st_uid,
                 found.st_gid,
                 S_ISDIR(found.st_mode) ? 0 : static_cast<std::uint64_t>(found.st_size),
                 static_cast<std::uint64_t>(found.st_mtim.tv_sec * 1'000'000'000 + found.st_mtim.tv_nsec)};
  }

  [[nodiscard]] Snapshot snapshot() const {
    Snapshot all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator{directory_.path()}) add(all, entry.path());
    add(all, directory_.path());
    return all;
  }

  /// Everything that can be asked of a store without a write. Gives the holder of the lease, or the error.
  [[nodiscard]] std::string look() const {
    Store store{path_};
    const auto watch = store.raw().watch(key_, [] {});
    const auto loss = extended(store.raw())->watchLoss([] {});
    const ReadOutcome read = store->startRead(key_)->get();
    static_cast<void>(store->startList("")->get());
    static_cast<void>(store->startListPage("", "")->get());
    if (read.has_error()) return read.error().message;
    return *read ? (*read)->holder : "-";
  }

  [[nodiscard]] std::string lookWithoutATrace() const {
    const Snapshot before = snapshot();
    std::string answer = look();
    EXPECT_EQ(snapshot(), before);
    return answer;
  }

  /// The files of a leader that was killed.
  void crash() const {
    Actor leader{path_};
    ASSERT_TRUE(contains(leader.ask("acquire lease a"), "applied"));
    leader.kill();
    ASSERT_GT(std::filesystem::file_size(path_ + "-wal"), 0U);
  }

  test::TempDir directory_;
  const std::string path_ = directory_.file("leases.db");
  const LeaseKey key_{"lease"};
};

TEST_F(SqliteLook, whereThereIsNothing) { EXPECT_EQ(lookWithoutATrace(), "-"); }

TEST_F(SqliteLook, atADatabaseThatNobodyHasOpen) {
  {
    Store store{path_};
    store->apply(acquire(key_, "a"));
  }
  ASSERT_FALSE(std::filesystem::exists(path_ + "-wal"));
  EXPECT_EQ(lookWithoutATrace(), "a");
}

TEST_F(SqliteLook, atWhatACrashLeft) {
  crash();
  EXPECT_EQ(lookWithoutATrace(), "a");
  Store next{path_};
  EXPECT_EQ(next->record(key_).holder, "a");
  next->apply(acquire({"other"}, "b"));
}

TEST_F(SqliteLook, besideALeader) {
  Actor leader{path_};
  ASSERT_TRUE(contains(leader.ask("acquire lease a"), "applied"));
  // The leader notifies its rivals behind the answer; the next answer proves that it has done so.
  ASSERT_FALSE(contains(leader.ask("acquire lease b"), "applied"));
  EXPECT_EQ(lookWithoutATrace(), "a");
  EXPECT_TRUE(contains(leader.ask("acquire other a"), "applied"));
}

/// What is in a log cannot be read without its -shm file (B-31).
TEST_F(SqliteLook, atALogWithoutItsIndexIsRefusedUntilACandidateComes) {
  crash();
  std::filesystem::remove(path_ + "-shm");
  const std::string refused = lookWithoutATrace();
  EXPECT_TRUE(contains(refused, path_ + "-shm is missing")) << refused;
  EXPECT_TRUE(contains(refused, "a read makes no file")) << refused;
  Store candidate{path_};
  candidate->ensureSchema();
  EXPECT_EQ(candidate->record(key_).holder, "a");
}

TEST_F(SqliteLook, atAnEmptyLog) {
  {
    Store store{path_};
    store->apply(acquire(key_, "a"));
  }
  std::ofstream{path_ + "-wal"} << "";
  EXPECT_EQ(lookWithoutATrace(), "a");
}

/// A leader was killed between the header of the log and its first frame. SQLite alone looks at that for 10 s, and
/// fails.
TEST_F(SqliteLook, atALogThatHasOnlyItsHeader) {
  {
    Store store{path_};
    store->apply(acquire(key_, "a"));
  }
  Actor leader{path_};
  ASSERT_TRUE(contains(leader.ask("acquire other b"), "applied"));
  leader.kill();
  std::filesystem::resize_file(path_ + "-wal", 32);
  EXPECT_EQ(lookWithoutATrace(), "a");
}

TEST_F(SqliteLook, atADatabaseWithoutALog) {
  {
    Store store{path_};
    store->apply(acquire(key_, "a"));
  }
  Shell{path_}.run("PRAGMA journal_mode = DELETE");
  EXPECT_EQ(lookWithoutATrace(), "a");
}

TEST_F(SqliteLook, atAnEmptyFileAndAtOneOfAnotherProgram) {
  std::ofstream{path_} << "";
  EXPECT_EQ(lookWithoutATrace(), "-");
  std::filesystem::remove(path_);
  Shell{path_}.run("CREATE TABLE t(a)");
  EXPECT_EQ(lookWithoutATrace(), "-");
}

/// A journal that a crash left holds what the database was before: without it the file is half of a transaction.
TEST_F(SqliteLook, atAJournalOfACrashIsNotTakenForTheDatabaseAlone) {
  {
    Store store{path_};
    store->apply(acquire(key_, "a"));
  }
  {
    Shell shell{path_};
    shell.run("PRAGMA journal_mode = DELETE");
    shell.run("PRAGMA cache_size = 1");
    shell.run("PRAGMA cache_spill = 1");
    shell.run("BEGIN IMMEDIATE");
    shell.run("UPDATE tenure_lease SET holder = 'half'");
    shell.run(
        "CREATE TABLE big AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)"
        " SELECT i, randomblob(500) AS b FROM n");
    std::filesystem::copy_file(path_, directory_.file("copy.db"));
    std::filesystem::copy_file(path_ + "-journal", directory_.file("copy.db-journal"));
    shell.run("ROLLBACK");
  }
  std::filesystem::rename(directory_.file("copy.db"), path_);
  std::filesystem::rename(directory_.file("copy.db-journal"), path_ + "-journal");
  const std::string answer = lookWithoutATrace();
  EXPECT_TRUE(contains(answer, path_ + "-journal holds a change that a crash left half done")) << answer;
}

/// A user of the group who may write is a user who looks as well.
TEST_F(SqliteLook, byAnotherUserOfTheGroup) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may become another user";  // lint-allow(skipped-test): says so
  crash();
  std::filesystem::permissions(directory_.path(), std::filesystem::perms{0777});
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::permissions(path_ + end, std::filesystem::perms{0666});
  const Snapshot before = snapshot();
  Actor other{path_};
  ASSERT_EQ(other.ask("nobody"), "ok");
  EXPECT_TRUE(contains(other.ask("read lease"), "a ")) << other.ask("error");
  EXPECT_EQ(snapshot(), before);
  std::filesystem::remove(path_ + "-shm");
  const Snapshot without = snapshot();
  EXPECT_TRUE(contains(other.ask("read lease"), "is missing"));
  EXPECT_EQ(snapshot(), without);
}

/// Times of files are coarse: a change right after another one may leave them as they are.
TEST_F(SqliteLook, doesNotRelyOnTheTimesOfADatabaseThatWasChangedAMomentAgo) {
  const std::string directory = directory_.path().string();
  const sqlite_store::StoreFiles files{directory, path_, path_ + "-wal", path_ + "-shm", sidecarOf(path_)};
  const auto isSure = [&] {
    const auto seen = sqlite_store::SeenFiles::look(files);
    return seen && seen->isAtRest() && seen->sameAs(files);
  };
  bool wasUnsure = false;
  for (int round = 0; round < 100 && !wasUnsure; ++round) {
    std::ofstream{path_} << round;
    wasUnsure = !isSure();
  }
  EXPECT_TRUE(wasUnsure);
  EXPECT_TRUE(eventually(isSure));
}

/// One process may hold stores of both kinds on one file. SQLite gives all its connections one -shm file.
TEST_F(SqliteLook, doesNotKeepAWriterOfTheSameProcessFromWriting) {
  crash();
  Store looks{path_};
  for (int round = 0; round < 50; ++round) {
    const auto read = looks->startRead(key_);
    Store writes{path_};
    const auto write = writes->startWrite(acquire({"lease" + std::to_string(round)}, "b"), patience);
    EXPECT_FALSE(read->get().has_error());
    const WriteOutcome outcome = write->get();
    EXPECT_TRUE(std::holds_alternative<Applied>(outcome)) << describe(outcome);
    EXPECT_FALSE(looks->startRead(key_)->get().has_error());
  }
}

/// Others open and close the database all the time: a look sees each commit that came before it, and no half of one.
TEST_F(SqliteLook, seesWhatWasCommittedWhileOthersComeAndGo) {
  Actor other{path_};
  for (int round = 0; round < 40; ++round) {
    const std::string name = "lease" + std::to_string(round);
    {
      Store store{path_};
      store->apply(acquire({name}, "a"));
      Store looks{path_};
      EXPECT_EQ(looks->record({name}).holder, "a");
    }
    Store looks{path_};
    EXPECT_EQ(looks->record({name}).holder, "a");
    EXPECT_EQ(looks->list("").size(), static_cast<std::size_t>(round + 1));
  }
}

}  // namespace
}  // namespace tenure::sqlite_test
