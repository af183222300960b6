// Proofs that a holder of this machine is dead.
#include <chrono>
#include <filesystem>
#include <future>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "lockcore/child_process.hpp"
#include "lockcore/liveness/liveness_file.hpp"
#include "lockcore/port/extended_store.hpp"
#include "lockcore/runtime/directory.hpp"
#include "stores/postgresql/store_support.hpp"
#include "support/temp_dir.hpp"

namespace tenure::postgresql_store {
namespace {

/// The liveness file of a process that has ended.
LivenessFile fileOfDeadProcess(const std::string& directory) {
  const int ended = test::inChild([&]() -> int {
    liveness::OwnLivenessFile own{{"a store", [&]() -> StoreResult<std::string> { return directory; }}};
    _exit(own.get().has_value() ? 0 : 1);  // without destructors, which would remove the file
  });
  EXPECT_EQ(ended, 0);
  const std::string name = namesIn(directory, liveness::livenessFilePrefix).at(0);
  struct stat found {};
  EXPECT_EQ(stat((directory + '/' + name).c_str(), &found), 0);
  return {name.substr(liveness::livenessFilePrefix.size()), liveness::bootId(), found.st_dev, found.st_ino};
}

TEST_F(PostgresqlStoreTest, aHolderOfThisMachineThatDiedIsProvenDead) {
  const test::TempDir directory;
  PostgresqlStoreOptions local = options();
  local.livenessDirectory = directory.file("alive");
  const LivenessFile dead = fileOfDeadProcess(local.livenessDirectory);
  const auto watcher = extended(makePostgresqlStore(local));
  EXPECT_EQ(store().raw().deathNotice(), nullptr) << "without a directory there is no proof";
  const auto deaths = watcher->deathNotice();
  ASSERT_NE(deaths, nullptr);
  const LeaseKey key{"lease"};
  WriteRequest request = acquire(key, "a");
  request.record.livenessFile = dead;
  const RecordVersion written = request.record.version;
  store().apply(std::move(request));
  std::promise<RecordVersion> proven;
  const auto follow =
      deaths->follow(calls(watcher).record(key), [&](const RecordVersion& version) { proven.set_value(version); });
  ASSERT_NE(follow, nullptr);
  auto death = proven.get_future();
  ASSERT_EQ(death.wait_for(patience), std::future_status::ready);
  EXPECT_EQ(death.get(), written);
}

TEST_F(PostgresqlStoreTest, theFirstTermRemovesTheFilesOfProcessesThatDiedLongAgo) {
  const test::TempDir directory;
  PostgresqlStoreOptions local = options();
  local.livenessDirectory = directory.file("alive");
  const auto pathOf = [&](const LivenessFile& file) {
    return liveness::livenessFilePath(local.livenessDirectory, file.id);
  };
  const std::string old = pathOf(fileOfDeadProcess(local.livenessDirectory));
  const auto holder = extended(makePostgresqlStore(local));
  const auto begin = [&](const LeaseKey& key) {
    WriteRequest request = acquire(key, "a");
    request.record.livenessFile = *holder->deathNotice()->livenessFile();
    calls(holder).apply(std::move(request));
  };
  const auto age = [&](const std::string& path, std::chrono::minutes by) {
    std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) - by);
  };
  age(old, std::chrono::minutes{59});
  begin({"first"});
  EXPECT_EQ(access(old.c_str(), F_OK), 0) << "a record may still refer to it";
  age(old, std::chrono::minutes{2});
  begin({"second"});
  EXPECT_EQ(access(old.c_str(), F_OK), 0) << "once in the life of a store";
  const auto later = extended(makePostgresqlStore(local));
  WriteRequest request = acquire({"third"}, "b");
  request.record.livenessFile = *later->deathNotice()->livenessFile();
  const std::string own = pathOf(*request.record.livenessFile);
  age(pathOf(*holder->deathNotice()->livenessFile()), std::chrono::hours{2});
  calls(later).apply(std::move(request));
  EXPECT_NE(access(old.c_str(), F_OK), 0);
  EXPECT_EQ(access(own.c_str(), F_OK), 0);
  EXPECT_EQ(access(pathOf(*holder->deathNotice()->livenessFile()).c_str(), F_OK), 0) << "its process lives";
}

TEST_F(PostgresqlStoreTest, theLivenessFileStaysLockedWhileATermIsOpen) {
  const test::TempDir directory;
  PostgresqlStoreOptions local = options();
  local.livenessDirectory = directory.file("alive");
  const auto write = [&](bool releases) {
    const LeaseKey key{"lease", releases ? "released" : "open"};
    auto holder = extended(makePostgresqlStore(local));
    WriteRequest request = acquire(key, "a");
    request.record.livenessFile = *holder->deathNotice()->livenessFile();
    const std::string id = request.record.livenessFile->id;
    const RecordVersion version = request.record.version;
    calls(holder).apply(std::move(request));
    if (releases) calls(holder).apply(release(key, "a", {version}));
    return id;
  };
  const auto isThere = [&](const std::string& id) {
    return access(liveness::livenessFilePath(local.livenessDirectory, id).c_str(), F_OK) == 0;
  };
  EXPECT_FALSE(isThere(write(true))) << "nothing is left of a store without terms";
  EXPECT_TRUE(isThere(write(false))) << "the end of a store is not the end of its process";
}

}  // namespace
}  // namespace tenure::postgresql_store
