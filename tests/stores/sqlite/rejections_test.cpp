// Faults of the environment: they are refused in plain words, and it is noticed when they are corrected.
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "actor.hpp"
#include "sqlite_support.hpp"
#include "support/temp_dir.hpp"

namespace tenure::sqlite_test {
namespace {

class SqliteRejection : public testing::Test {
 protected:
  /// Every call must be refused as misconfigured, with these parts in its message.
  static void expectRejection(Store& store, const std::vector<std::string>& parts) {
    const StoreStatus status = store->startEnsureSchema()->get();
    const ReadOutcome read = store->startRead({"lease"})->get();
    const ListOutcome list = store->startList("")->get();
    ASSERT_TRUE(status.has_error() && read.has_error() && list.has_error());
    for (const StoreError& error :
         {status.error(), read.error(), list.error(), errorOf(store->write(acquire({"lease"}, "a")))}) {
      EXPECT_EQ(error.errorClass, ErrorClass::misconfigured) << error.message;
      for (const std::string& part : parts)
        EXPECT_TRUE(contains(error.message, part)) << error.message << "\nlacks " << part;
    }
  }

  static void expectWorks(Store& store) { EXPECT_EQ(store->apply(acquire({"lease"}, "a")).token, FencingToken{1}); }

  test::TempDir directory_;
  const std::string path_ = directory_.file("leases.db");
};

TEST_F(SqliteRejection, missingDirectory) {
  const std::string path = directory_.file("sub/leases.db");
  Store store{path};
  expectRejection(store, {path, "directory " + directory_.file("sub") + " does not exist", "create it"});
  std::filesystem::create_directory(directory_.file("sub"));
  expectWorks(store);
}

TEST_F(SqliteRejection, aFileInPlaceOfTheDirectory) {
  std::ofstream{directory_.file("file")} << "x";
  Store store{directory_.file("file/leases.db")};
  expectRejection(store, {"is not a directory"});
}

TEST_F(SqliteRejection, aDirectoryInPlaceOfTheFile) {
  std::filesystem::create_directory(path_);
  Store store{path_};
  expectRejection(store, {path_ + " is a directory", "give the path of a file"});
  std::filesystem::remove(path_);
  expectWorks(store);
}

TEST_F(SqliteRejection, noNameAtAll) {
  for (const std::string& path :
       {std::string{}, directory_.path().string() + "/", directory_.file("."), directory_.file("..")}) {
    Store store{path};
    expectRejection(store, {"names no file", "./tenure.db"});
  }
}

TEST_F(SqliteRejection, aPathThatSqliteHasNoRoomFor) {
  Store named{directory_.file(std::string(248, 'n'))};
  expectRejection(named, {"its last part 248", "at most 504 and 247"});
  Store longestName{directory_.file(std::string(247, 'n'))};
  expectWorks(longestName);
  std::filesystem::path deep = std::filesystem::canonical(directory_.path());
  while (deep.string().size() < 360) deep /= std::string(100, 'd');
  std::filesystem::create_directories(deep);
  const auto ofSize = [&](std::size_t size) {
    return (deep / std::string(size - deep.string().size() - 1, 'n')).string();
  };
  Store path{ofSize(505)};
  expectRejection(path, {"has 505 bytes"});
  Store longestPath{ofSize(504)};
  expectWorks(longestPath);
}

TEST_F(SqliteRejection, aFileThatIsNoDatabase) {
  std::ofstream{path_} << "group: billing\nlease: { duration: 10s }\n" << std::string(5000, '#');
  const auto size = std::filesystem::file_size(path_);
  Store store{path_};
  expectRejection(store, {path_, "not an SQLite database"});
  EXPECT_EQ(std::filesystem::file_size(path_), size) << "left as it was";
  std::filesystem::remove(path_);
  expectWorks(store);
}

TEST_F(SqliteRejection, aPipe) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0666), 0);
  Store store{path_};
  expectRejection(store, {"is not a regular file"});
}

TEST_F(SqliteRejection, aLinkToNothing) {
  std::filesystem::create_symlink(directory_.file("nowhere"), path_);
  Store store{path_};
  expectRejection(store, {path_ + " is a symbolic link to a file that does not exist here"});
}

// A deployment changes such a link while a leader runs. The leader would continue in the old file, and another one
// would be elected in the new one.
TEST_F(SqliteRejection, aSymbolicLinkInAnyComponent) {
  std::filesystem::create_directories(directory_.file("releases/1/data"));
  std::filesystem::create_directory_symlink(directory_.file("releases/1"), directory_.file("current"));
  const std::string real = directory_.file("releases/1/data/leases.db");
  for (const bool exists : {false, true}) {
    if (exists) Store {
        real
        } -> ensureSchema();
    Store store{directory_.file("current/data/leases.db")};
    expectRejection(store, {directory_.file("current") + " is a symbolic link", "Give the path itself: " + real});
  }
  std::filesystem::create_symlink(real, path_);
  Store linked{path_};
  expectRejection(linked, {path_ + " is a symbolic link", "Give the path itself: " + real});
  EXPECT_FALSE(std::filesystem::exists(sidecarOf(path_)));
  Store direct{directory_.file("releases/../releases/1/./data/leases.db")};
  expectWorks(direct);
}

TEST_F(SqliteRejection, aFileWithTwoNames) {
  {
    Store store{path_};
    store->ensureSchema();
  }
  std::filesystem::create_hard_link(path_, directory_.file("second"));
  Store store{path_};
  expectRejection(store, {"has 2 names (hard links)", "remove the other names"});
  std::filesystem::remove(directory_.file("second"));
  expectWorks(store);
}

TEST_F(SqliteRejection, aReadOnlyDirectory) {
  std::filesystem::permissions(directory_.path(), std::filesystem::perms{0555});
  Actor actor{path_};
  ASSERT_EQ(actor.ask("nobody"), "ok");
  EXPECT_EQ(actor.ask("acquire lease a"), "rejected");
  const std::string message = actor.ask("error");
  EXPECT_TRUE(contains(message, directory_.path().string() + " is not writable")) << message;
  EXPECT_EQ(actor.ask("read lease"), "-") << "who may only read does";
  std::filesystem::permissions(directory_.path(), std::filesystem::perms{0777});
  EXPECT_TRUE(contains(actor.ask("acquire lease a"), "applied 1 "));
}

TEST_F(SqliteRejection, aReadOnlyFile) {
  {
    Store store{path_};
    store->ensureSchema();
  }
  std::filesystem::permissions(directory_.path(), std::filesystem::perms{0777});
  std::filesystem::permissions(sidecarOf(path_), std::filesystem::perms{0777});
  std::filesystem::permissions(path_, std::filesystem::perms{0444});
  Actor actor{path_};
  ASSERT_EQ(actor.ask("nobody"), "ok");
  EXPECT_EQ(actor.ask("acquire lease a"), "rejected");
  const std::string message = actor.ask("error");
  EXPECT_TRUE(contains(message, path_ + " is not readable and writable")) << message;
  EXPECT_TRUE(contains(message, "change its permissions")) << message;
  std::filesystem::permissions(path_, std::filesystem::perms{0666});
  EXPECT_TRUE(contains(actor.ask("acquire lease a"), "applied 1 "));
}

// `tenure status` for a user with read access only.
TEST_F(SqliteRejection, whoMayOnlyReadReadsAndMakesNothing) {
  auto writer = std::make_unique<Store>(path_);
  (*writer)->apply(acquire({"lease"}, "a"));
  (*writer)->ensureSchema();  // it is served after the notification file was created, which happens after the answer
  const auto letOthersRead = [&] {
    for (const char* end : {"", "-wal", "-shm"}) {
      if (std::filesystem::exists(path_ + end)) chmod((path_ + end).c_str(), 0644);
    }
    std::filesystem::permissions(sidecarOf(path_), std::filesystem::perms{0755});
  };
  letOthersRead();
  std::filesystem::permissions(directory_.path(), std::filesystem::perms{0555});
  const auto look = [&](const std::string& when) {
    const auto before = filesIn(directory_.path());
    const auto beside = filesIn(sidecarOf(path_));
    Actor onlooker{path_};
    ASSERT_EQ(onlooker.ask("nobody"), "ok");
    const std::string seen = onlooker.ask("read lease");
    EXPECT_TRUE(seen.starts_with("a ") && seen.ends_with(" 1")) << when << ": " << seen;
    EXPECT_TRUE(onlooker.ask("read lease").starts_with("a ")) << when << ", again";
    EXPECT_EQ(onlooker.ask("acquire lease b"), "rejected") << when;
    EXPECT_EQ(filesIn(directory_.path()), before) << when;
    EXPECT_EQ(filesIn(sidecarOf(path_)), beside) << when;
  };
  look("others have it open");
  std::filesystem::permissions(directory_.path(), std::filesystem::perms{0755});
  writer.reset();
  ASSERT_FALSE(std::filesystem::exists(path_ + "-wal"));
  std::filesystem::permissions(directory_.path(), std::filesystem::perms{0555});
  look("nobody has it open");
  std::filesystem::permissions(directory_.path(), std::filesystem::perms{0755});
}

TEST_F(SqliteRejection, aLogWithoutItsIndexIsNoPuzzleForWhoMayOnlyRead) {
  auto writer = std::make_unique<Store>(path_);
  (*writer)->apply(acquire({"lease"}, "a"));
  std::filesystem::copy_file(path_ + "-wal", directory_.file("log"));
  writer.reset();
  std::filesystem::rename(directory_.file("log"), path_ + "-wal");
  for (const char* end : {"", "-wal"}) chmod((path_ + end).c_str(), 0644);
  std::filesystem::permissions(directory_.path(), std::filesystem::perms{0555});
  Actor onlooker{path_};
  ASSERT_EQ(onlooker.ask("nobody"), "ok");
  const std::string message = onlooker.ask("read lease");
  EXPECT_TRUE(contains(message, path_ + "-shm is missing")) << message;
  EXPECT_TRUE(contains(message, "the next candidate makes it")) << message;
  std::filesystem::permissions(directory_.path(), std::filesystem::perms{0755});
}

TEST_F(SqliteRejection, aLinkOrAFileInPlaceOfTheSidecar) {
  std::filesystem::create_directory(directory_.file("elsewhere"));
  std::filesystem::create_directory_symlink(directory_.file("elsewhere"), sidecarOf(path_));
  Store store{path_};
  const std::string link = errorOf(store->write(acquire({"lease"}, "a"))).message;
  EXPECT_TRUE(contains(link, sidecarOf(path_) + " is a symbolic link")) << link;
  EXPECT_TRUE(contains(link, "remove the link")) << link;
  std::filesystem::remove(sidecarOf(path_));
  std::ofstream{sidecarOf(path_)} << "x";
  const std::string file = errorOf(store->write(acquire({"lease"}, "a"))).message;
  EXPECT_TRUE(contains(file, sidecarOf(path_) + " is not a directory; move it away")) << file;
  std::filesystem::remove(sidecarOf(path_));
  expectWorks(store);
}

TEST_F(SqliteRejection, rootsLookMakesNoSidecarAndLeavesNothing) {
  {
    Store store{path_};
    store->apply(acquire({"lease"}, "a"));
    store->apply(release({"lease"}, "a", {store->record({"lease"}).version}));
  }
  std::filesystem::remove_all(sidecarOf(path_));
  {
    Store onlooker{path_};
    EXPECT_EQ(onlooker->list("").size(), 1U);
  }
  EXPECT_EQ(filesIn(directory_.path()), std::vector<std::string>{"leases.db"});
}

TEST_F(SqliteRejection, aListingSaysHowADroppedTableHeals) {
  Store store{path_};
  store->apply(acquire({"lease"}, "a"));
  Shell{path_}.run("DROP TABLE tenure_lease");
  Store onlooker{path_};
  const ListOutcome listed = onlooker->startList("")->get();
  ASSERT_TRUE(listed.has_error());
  EXPECT_TRUE(contains(listed.error().message, "was dropped. A candidate makes it again")) << listed.error().message;
}

TEST_F(SqliteRejection, aTokenThatIsNotTheCountersIsToldInTheListing) {
  Store store{path_};
  store->apply(acquire({"lease"}, "a"));
  store->apply(acquire({"lease"}, "a", {store->record({"lease"}).version}));
  EXPECT_EQ(store->list("").at(0).warning, "");
  Shell{path_}.run("UPDATE tenure_lease SET token = 1");
  const std::string warning = store->list("").at(0).warning;
  EXPECT_TRUE(contains(warning, "token 1 is not that of the fencing counter, 2")) << warning;
}

TEST_F(SqliteRejection, anOperatorsLookSaysHowADroppedTableHealsAndACandidatesReadGoesOn) {
  Store store{path_};
  store->apply(acquire({"lease"}, "a"));
  Shell{path_}.run("DROP TABLE tenure_lease");
  Store onlooker{path_};
  std::promise<StoreResult<StoredTokens>> answer;
  extended(onlooker.raw())->readTokens({"lease"}, {patience}, [&](StoreResult<StoredTokens> found) {
    answer.set_value(found);
  });
  const StoreResult<StoredTokens> tokens = answer.get_future().get();
  ASSERT_TRUE(tokens.has_error());
  EXPECT_TRUE(contains(tokens.error().message, "was dropped. A candidate makes it again")) << tokens.error().message;
  const WriteOutcome asked = onlooker->requestStepDown({"lease"}, FencingToken{1});
  ASSERT_TRUE(std::holds_alternative<Rejected>(asked)) << describe(asked);
  EXPECT_TRUE(contains(errorOf(asked).message, "was dropped. A candidate makes it again")) << errorOf(asked).message;
  EXPECT_TRUE(onlooker->startRead({"lease"})->get().has_value()) << "who sees no record makes the tables again";
}

TEST_F(SqliteRejection, whyTheLockForMakingADatabaseIsNotToBeHadIsTold) {
  std::filesystem::create_directories(sidecarOf(path_) + "/creation-lock");
  Store store{path_};
  const StoreStatus refused = store->startEnsureSchema()->get();
  ASSERT_TRUE(refused.has_error());
  EXPECT_TRUE(contains(refused.error().message, "taking the lock for making the database, "))
      << refused.error().message;
  EXPECT_TRUE(contains(refused.error().message, "Is a directory")) << refused.error().message;
}

TEST_F(SqliteRejection, aRelativePathMeansTheDirectoryOfTheStart) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(directory_.path());
  Store store{"leases.db"};
  std::filesystem::current_path(before);
  expectWorks(store);
  EXPECT_EQ(store.raw().describe(), "sqlite leases.db");
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(SqliteRejection, aFullDiskIsToldAndPasses) {
  Store store{path_};
  Actor actor{path_};
  const std::string acquired = actor.ask("acquire lease a");
  ASSERT_TRUE(contains(acquired, "applied 1 ")) << acquired;
  const std::string version = acquired.substr(std::string{"applied 1 "}.size());
  ASSERT_EQ(actor.ask("limit " + std::to_string(std::filesystem::file_size(path_ + "-wal"))), "ok");
  const std::string outcome = actor.ask("renew lease a " + version);
  EXPECT_TRUE(outcome == "rejected" || outcome == "unknown") << outcome;
  const std::string message = actor.ask("error");
  EXPECT_TRUE(contains(message, "full")) << message;
  EXPECT_EQ(store->record({"lease"}).version.text(), version) << "nothing acknowledged is lost";
  ASSERT_EQ(actor.ask("limit 100000000"), "ok");
  EXPECT_TRUE(contains(actor.ask("renew lease a " + version), "applied 1 ")) << actor.ask("error");
}

}  // namespace
}  // namespace tenure::sqlite_test
