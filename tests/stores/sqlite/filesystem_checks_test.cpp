#include "lockcore/stores/sqlite/src/filesystem_checks.hpp"

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "lockcore/runtime/file_rights.hpp"
#include "lockcore/runtime/thread.hpp"
#include "support/temp_dir.hpp"

namespace tenure::sqlite_store {
namespace {

// Magic numbers as in linux/magic.h, repeated here so that a mistake in the table is noticed.
TEST(NetworkFileSystem, areNamed) {
  EXPECT_EQ(detail::networkFileSystem(0x6969), "NFS");
  EXPECT_EQ(detail::networkFileSystem(0x517B), "SMB");
  EXPECT_EQ(detail::networkFileSystem(0xFF534D42), "CIFS");
  EXPECT_EQ(detail::networkFileSystem(0xFE534D42), "SMB2");
  EXPECT_EQ(detail::networkFileSystem(0x01021997), "9P");
  EXPECT_EQ(detail::networkFileSystem(0x65735546), "FUSE");
  EXPECT_EQ(detail::networkFileSystem(0x00C36400), "Ceph");
  EXPECT_EQ(detail::networkFileSystem(0x5346414F), "AFS");
  EXPECT_EQ(detail::networkFileSystem(0x0BD00BD0), "Lustre");
}

TEST(NetworkFileSystem, localOnesAreAllowed) {
  for (const std::uint32_t local :
       {0xEF53U /* ext4 */, 0x58465342U /* xfs */, 0x9123683EU /* btrfs */, 0x01021994U /* tmpfs */,
        0x794C7630U /* overlayfs */, 0x2FC12FC1U /* zfs */, 0xF2F52010U /* f2fs */, 0x858458F6U /* ramfs */}) {
    EXPECT_EQ(detail::networkFileSystem(local), std::nullopt) << std::hex << local;
  }
}

// A kernel before 5.8 does not say to which mount a path belongs.
TEST(MountInfo, mountPointsAreFoundByTheirWholePath) {
  const std::string text =
      "24 1 254:0 / / rw,relatime - ext4 /dev/vda1 rw\n"
      "98 24 254:0 /srv/leases.db /app/my\\040data/leases.db rw - ext4 /dev/vda1 rw\n";
  const auto has = [&](const std::string& path) {
    std::istringstream stream{text};
    return tenure::hasMountPoint(stream, path);
  };
  EXPECT_TRUE(has("/app/my data/leases.db"));
  EXPECT_TRUE(has("/"));
  EXPECT_FALSE(has("/app/my data"));
  EXPECT_FALSE(has("/app/my data/leases.db-wal"));
  EXPECT_FALSE(has("/srv/leases.db"));
}

// Somebody deletes the files one after the other: what is left of them says nothing about the store.
TEST(OpenedFiles, areNoneWhileOneOfThemIsMissing) {
  const test::TempDir parent;
  StoreFiles files;
  files.directory = parent.file("store");
  files.database = files.directory + "/leases.db";
  files.wal = files.database + "-wal";
  files.shm = files.database + "-shm";
  std::filesystem::create_directory(files.directory);
  for (const std::string& file : {files.database, files.wal, files.shm}) std::ofstream{file} << "x";
  const auto all = OpenedFiles::look(files);
  ASSERT_TRUE(all && all->sameAs(files));
  for (const std::string& file : {files.directory, files.database, files.wal, files.shm}) {
    std::filesystem::rename(file, parent.file("aside"));
    EXPECT_FALSE(OpenedFiles::look(files)) << file;
    EXPECT_FALSE(all->leftItsLogBehind(files)) << file;
    std::filesystem::rename(parent.file("aside"), file);
    EXPECT_TRUE(all->sameAs(files)) << file;
  }
}

// Only a database that was replaced beside its old log is one whose log must go: SQLite would play the log into it.
TEST(OpenedFiles, leftTheirLogBehindOnlyIfTheDatabaseAloneIsAnother) {
  const test::TempDir parent;
  StoreFiles files;
  files.directory = parent.file("store");
  files.database = files.directory + "/leases.db";
  files.wal = files.database + "-wal";
  files.shm = files.database + "-shm";
  std::filesystem::create_directory(files.directory);
  const auto replace = [&](const std::string& file) {
    std::ofstream{file + ".new"} << "x";  // made first: the old file's inode is not free yet
    std::filesystem::rename(file + ".new", file);
  };
  for (const std::string& file : {files.database, files.wal, files.shm}) replace(file);
  const auto same = OpenedFiles::look(files);
  ASSERT_TRUE(same);
  EXPECT_FALSE(same->leftItsLogBehind(files));
  replace(files.database);
  EXPECT_TRUE(same->leftItsLogBehind(files));
  for (const std::string& file : {files.wal, files.shm}) {
    const auto before = OpenedFiles::look(files);
    ASSERT_TRUE(before);
    replace(file);
    EXPECT_FALSE(before->leftItsLogBehind(files)) << file;
    replace(files.database);
    EXPECT_FALSE(before->leftItsLogBehind(files)) << file << " and the database";
  }
}

// Candidates that start at the same time check the path while one of them creates the file.
TEST(CheckFiles, aFileThatComesOrGoesBetweenTwoLooksIsNoFault) {
  const test::TempDir directory;
  const std::string path = directory.file("leases.db");
  std::atomic<bool> done{false};
  std::thread other = detail::startThread("test-other", [&] {
    while (!done.load()) {
      std::ofstream{path} << "x";
      std::remove(path.c_str());
    }
  });
  bool seen[2]{false, false};
  int refused = 0;
  for (int i = 0; i < 20000 && refused == 0; ++i) {
    const auto checked = checkFiles("sqlite", path);
    if (checked.has_error()) {
      ++refused;
      ADD_FAILURE() << checked.error().message;
    } else {
      seen[checked.value().exists ? 1 : 0] = true;
    }
  }
  done = true;
  other.join();
  EXPECT_TRUE(seen[0] && seen[1]) << "the file was never there, or always";
}

/// As systemd makes a state directory for a service with DynamicUser. Any other link could be switched.
TEST(CheckFiles, followTheLinkOfAStateDirectoryAndNoOther) {
  const test::TempDir parent;
  std::filesystem::create_directories(parent.file("private/tenure"));
  std::filesystem::create_directory_symlink("private/tenure", parent.file("tenure"));
  std::filesystem::create_directory_symlink("private/tenure", parent.file("other"));
  std::filesystem::create_directory_symlink(parent.file("private/tenure"), parent.file("private/absolute"));
  const auto followed = checkFiles("sqlite", parent.file("tenure/leases.db"));
  ASSERT_TRUE(followed.has_value()) << followed.error().message;
  EXPECT_EQ(followed->files.database, parent.file("private/tenure/leases.db"));
  EXPECT_TRUE(checkFiles("sqlite", parent.file("other/leases.db")).has_error());
  EXPECT_TRUE(checkFiles("sqlite", parent.file("private/absolute/leases.db")).has_error());
}

/// What it leads to may be behind a link that somebody switches.
TEST(CheckFiles, refuseAStateDirectoryWhoseOwnPathHasALink) {
  const test::TempDir parent;
  std::filesystem::create_directories(parent.file("releases/tenure"));
  std::filesystem::create_directory_symlink("releases", parent.file("private"));
  std::filesystem::create_directory_symlink("private/tenure", parent.file("tenure"));
  const auto rejection = [&](const std::string& path) {
    const auto checked = checkFiles("sqlite", parent.file(path));
    return checked.has_value() ? "followed" : checked.error().message;
  };
  EXPECT_NE(rejection("tenure/leases.db").find(parent.file("private") + " is a symbolic link"), std::string::npos)
      << rejection("tenure/leases.db");
  std::filesystem::remove(parent.file("private"));
  std::filesystem::create_directory(parent.file("private"));
  std::filesystem::create_directory_symlink(parent.file("releases/tenure"), parent.file("private/tenure"));
  EXPECT_NE(rejection("tenure/leases.db").find(parent.file("private/tenure") + " is a symbolic link"),
            std::string::npos)
      << rejection("tenure/leases.db");
  std::filesystem::create_directory_symlink("private/private", parent.file("private/private"));
  EXPECT_NE(rejection("private/private/leases.db"), "followed");
}

}  // namespace
}  // namespace tenure::sqlite_store
