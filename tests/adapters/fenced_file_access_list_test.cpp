// POSIX access lists: if a file has one, the group's bits of its mode are the most that the list may allow. They are
// not what the group may do.
#include <array>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <tenure/adapters/fenced_file.hpp>

#include "adapters/file/src/files.hpp"
#include "support/temp_dir.hpp"

namespace tenure {
namespace {

constexpr const char* ofTheFile = "system.posix_acl_access";
constexpr const char* forNewFiles = "system.posix_acl_default";
constexpr std::uint32_t anotherUser = 65'534;

/// As setfacl -m u:65534:rw creates it for a file of mode 0600; the kernel's layout (linux/posix_acl_xattr.h).
std::string listForAnotherUser() {
  constexpr std::uint32_t noId = 0xFFFF'FFFF;
  struct Entry {
    std::uint16_t tag, rights;
    std::uint32_t id;
  };
  constexpr std::array<Entry, 5> entries{
      {{0x01, 6, noId}, {0x02, 6, anotherUser}, {0x04, 0, noId}, {0x10, 6, noId}, {0x20, 0, noId}}};
  std::string list{2, 0, 0, 0};
  for (const Entry& entry : entries) {
    for (const std::uint32_t value : {entry.tag | std::uint32_t{entry.rights} << 16U, entry.id}) {
      for (unsigned bits = 0; bits < 32; bits += 8) list += static_cast<char>(value >> bits & 0xFFU);
    }
  }
  return list;
}

class FencedFileAccessList : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream{path_} << "secret";
    chmod(path_.c_str(), 0600);
    if (!give(ofTheFile, path_)) {
      ASSERT_EQ(errno, EOPNOTSUPP);
      GTEST_SKIP() << "no access lists in " << directory_.path();  // lint-allow(skipped-test): says so
    }
  }
  static bool give(const char* kind, const std::string& path) {
    const std::string list = listForAnotherUser();
    return setxattr(path.c_str(), kind, list.data(), list.size(), 0) == 0;
  }
  [[nodiscard]] std::string list() const {
    std::string found(1'000, '\0');
    const ssize_t size = getxattr(path_.c_str(), ofTheFile, found.data(), found.size());
    return size < 0 ? "none" : found.substr(0, static_cast<std::size_t>(size));
  }
  [[nodiscard]] mode_t mode() const {
    struct stat found {};
    EXPECT_EQ(stat(path_.c_str(), &found), 0);
    return found.st_mode & 07777;
  }
  [[nodiscard]] FenceResult<void> replace() const {
    FencedFile file = FencedFile::open(path_).value();
    return file.replace(TermStamp{"billing", FencingToken{5}, "a#1"}, "new");
  }

  const test::TempDir directory_;
  const std::string path_ = directory_.file("ledger");
};

TEST_F(FencedFileAccessList, aReplacementKeepsIt) {
  ASSERT_EQ(list(), listForAnotherUser());
  ASSERT_EQ(mode(), 0660U) << "which would let the group in without the list";
  EXPECT_TRUE(replace().has_value());
  EXPECT_EQ(list(), listForAnotherUser());
  EXPECT_EQ(mode(), 0660U);
}

TEST_F(FencedFileAccessList, aReplacementGetsNoneFromItsDirectory) {
  ASSERT_EQ(removexattr(path_.c_str(), ofTheFile), 0);
  chmod(path_.c_str(), 0640);
  ASSERT_TRUE(give(forNewFiles, directory_.path().string()));
  EXPECT_TRUE(replace().has_value());
  EXPECT_EQ(list(), "none");
  EXPECT_EQ(mode(), 0640U);
}

/// The pipe takes the place of a file that cannot have an access list.
TEST_F(FencedFileAccessList, isNotLeftBehindWhereThereIsNoPlaceForIt) {
  const int from = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  std::array<int, 2> pipe{};
  ASSERT_EQ(pipe2(pipe.data(), O_CLOEXEC), 0);
  EXPECT_EQ(fchmod(pipe[0], 0600), 0);
  EXPECT_EQ(file_fence::systemFiles().copyAccess(from, pipe[0]), -EOPNOTSUPP);
  struct stat found {};
  EXPECT_EQ(fstat(pipe[0], &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0600U) << "the group's bits are no rights of the group";
  for (const int fd : {from, pipe[0], pipe[1]}) ::close(fd);
}

}  // namespace
}  // namespace tenure
