// Who may open a fenced file and the files beside it, and what happens if something in their place is not a regular
// file.
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <sstream>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/adapters/fenced_file.hpp>

#include "adapters/fence/src/fence_memory.hpp"
#include "adapters/file/src/files.hpp"
#include "support/temp_dir.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;

constexpr uid_t nobody = 65'534;

class FencedFileAccess : public testing::Test {
 protected:
  FencedFileAccess() { std::filesystem::permissions(directory_.path(), std::filesystem::perms::all); }

  [[nodiscard]] FenceResult<FencedFile> open() const { return FencedFile::open(path_, {.lockTimeout = 20ms}); }
  void put(const std::string& text) const { std::ofstream{path_} << text; }
  [[nodiscard]] struct stat statusOf(const std::string& suffix = "") const {
    struct stat found {};
    EXPECT_EQ(stat((path_ + suffix).c_str(), &found), 0) << path_ << suffix;
    return found;
  }
  [[nodiscard]] mode_t modeOf(const std::string& suffix = "") const { return statusOf(suffix).st_mode & 07777; }
  /// Runs the work in a child that has become another user, and returns its exit code.
  template <class Work>
  static int asNobody(const Work& work) {
    const pid_t child = fork();
    if (child == 0) {
      if (setgid(nobody) != 0 || setuid(nobody) != 0) _exit(99);
      _exit(work());
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
  }

  template <class Result>
  static bool says(const Result& result, const std::string& text) {
    if (!result.has_error()) return false;
    const std::string message = FenceError{result.error()}.message;
    const bool found = message.find(text) != std::string::npos;
    if (!found) std::cerr << "it says " << message << '\n';
    return found;
  }
  static std::string textOf(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream{path}.rdbuf();
    return text.str();
  }
  static void needsRoot() {
    if (geteuid() != 0) GTEST_SKIP() << "only root can make files of others";  // lint-allow(skipped-test): says so
  }

  static TermStamp stamp(std::uint64_t token) { return {"billing", FencingToken{token}, "a#1"}; }

  const test::TempDir directory_;
  const std::string path_ = directory_.file("ledger");
  const std::string target_ = path_ + ".target";
};

TEST_F(FencedFileAccess, aReplacementKeepsModeAndOwner) {
  put("secret");
  chmod(path_.c_str(), 0600);
  const bool isRoot = geteuid() == 0;
  if (isRoot) {
    ASSERT_EQ(chown(path_.c_str(), nobody, nobody), 0);
  }
  FencedFile file = open().value();
  EXPECT_TRUE(file.replace(stamp(5), "new").has_value());
  EXPECT_EQ(modeOf(), 0600U);
  EXPECT_EQ(statusOf().st_uid, isRoot ? nobody : geteuid());
  chmod(path_.c_str(), 0640);
  EXPECT_TRUE(file.replace(stamp(5), "newer").has_value());
  EXPECT_EQ(modeOf(), 0640U);
}

TEST_F(FencedFileAccess, aReplacementThatWouldChangeTheOwnerIsRefused) {
  if (geteuid() != 0) return;  // only root can become another user
  put("of root");
  chmod(path_.c_str(), 0666);
  const int code = asNobody([&] {
    FencedFile file = open().value();
    const auto refused = file.replace(stamp(5), "mine");
    return refused.has_error() && says(refused,
                                       "giving the new content the owner, the mode and the access list of the "
                                       "old failed")
               ? 0
               : 1;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(statusOf().st_uid, 0U);
}

TEST_F(FencedFileAccess, whatLiesBesideIsForItsOwnerAlone) {
  put("x");
  std::ofstream{path_ + ".fence.lock"};  // as an older release created it
  chmod((path_ + ".fence.lock").c_str(), 0644);
  FencedFile file = open().value();
  EXPECT_TRUE(file.append(stamp(5), "y").has_value());
  EXPECT_EQ(modeOf(".fence"), 0600U);
  EXPECT_EQ(modeOf(".fence.lock"), 0600U);
  chmod((path_ + ".fence").c_str(), 0644);  // as a person who restored it did
  EXPECT_TRUE(file.highestSeen("billing").has_value());
  EXPECT_EQ(modeOf(".fence"), 0600U);
  if (geteuid() != 0) return;
  EXPECT_EQ(asNobody([&] { return ::open((path_ + ".fence.lock").c_str(), O_RDONLY | O_CLOEXEC) < 0 ? 0 : 1; }), 0)
      << "whoever opens it can lock it";
}

TEST_F(FencedFileAccess, linksAndPipesInPlaceOfAFileAreRefused) {
  std::ofstream{target_} << "somebody else's";
  for (const std::string suffix : {"", ".fence", ".fence.lock"}) {
    std::filesystem::create_symlink(target_, path_ + suffix);
    const auto refused = open();
    ASSERT_TRUE(refused.has_error()) << suffix;
    EXPECT_TRUE(says(refused, "is a symbolic link"));
    std::filesystem::remove(path_ + suffix);
    ASSERT_EQ(mkfifo((path_ + suffix).c_str(), 0666), 0);
    EXPECT_TRUE(says(open(), "is not a regular file")) << suffix;
    std::filesystem::remove(path_ + suffix);
    std::filesystem::remove(path_ + ".fence.lock");
  }
  EXPECT_EQ(textOf(target_), "somebody else's");
}

/// If something already has the name of a file that a write creates, it is removed and never written to.
TEST_F(FencedFileAccess, whatIsInPlaceOfANewFileIsNotWrittenTo) {
  std::ofstream{target_} << "somebody else's";
  const std::vector<std::function<void(const std::string&)>> ways{
      [&](const std::string& name) { std::filesystem::create_symlink(target_, name); },
      [&](const std::string& name) { std::filesystem::create_hard_link(target_, name); },
      [&](const std::string& name) { ASSERT_EQ(mkfifo(name.c_str(), 0666), 0); },
  };
  FencedFile file = open().value();
  int replacements = 0;
  for (const auto& make : ways) {
    make(path_ + ".fence.next");
    make(path_ + ".fence." + std::to_string(replacements + 1));
    EXPECT_TRUE(file.replace(stamp(5), std::to_string(replacements)).has_value());
    EXPECT_EQ(textOf(path_), std::to_string(replacements++));
    make(path_ + ".fence.next");
    EXPECT_TRUE(file.append(stamp(5), "").has_value());
  }
  EXPECT_EQ(textOf(target_), "somebody else's");
  EXPECT_EQ(statusOf(".target").st_nlink, 1U);
  std::filesystem::create_directory(path_ + ".fence.next");
  EXPECT_TRUE(says(file.append(stamp(5), "x"), "removing what is in the place of the fence " + path_ + ".fence.next"));
}

TEST_F(FencedFileAccess, whoOpenedTheNameOfANewContentBeforeDoesNotGetIt) {
  put("old");
  chmod(path_.c_str(), 0600);
  std::ofstream{path_ + ".fence.1"};
  const int before = ::open((path_ + ".fence.1").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(before, 0);
  FencedFile file = open().value();
  EXPECT_TRUE(file.replace(stamp(5), "secret").has_value());
  EXPECT_EQ(pwrite(before, "EVIL!!", 6, 0), 6);
  ::close(before);
  EXPECT_EQ(file.read().value(), "secret");
}

TEST_F(FencedFileAccess, hardLinksInPlaceOfTheFenceAndItsLockAreRefused) {
  { FencedFile file = open().value(); }
  for (const std::string suffix : {".fence", ".fence.lock"}) {
    std::filesystem::create_hard_link(path_ + suffix, target_);
    chmod(target_.c_str(), 0644);
    const auto refused = open();
    ASSERT_TRUE(refused.has_error()) << suffix;
    EXPECT_TRUE(says(refused, path_ + suffix + " failed: it has other names (hard links)"));
    EXPECT_EQ(modeOf(".target"), 0644U) << "it may be another program's file";
    std::filesystem::remove(target_);
    EXPECT_TRUE(open().has_value());
  }
}

/// An append would change both names' content, and a replacement would separate them.
TEST_F(FencedFileAccess, aFileWithTwoNamesIsRefused) {
  put("old");
  FencedFile file = open().value();
  std::filesystem::create_hard_link(path_, target_);
  EXPECT_TRUE(says(file.append(stamp(5), "x"), "it has other names (hard links)"));
  EXPECT_TRUE(says(file.replace(stamp(5), "x"), "it has other names (hard links)"));
  EXPECT_TRUE(says(open(), path_ + " has 2 names (hard links)"));
  EXPECT_EQ(textOf(target_), "old");
  std::filesystem::remove(target_);
  EXPECT_TRUE(file.append(stamp(5), "er").has_value());
  EXPECT_EQ(textOf(path_), "older");
}

/// Its checksum is right, and with its token nobody could write any more.
TEST_F(FencedFileAccess, aFenceOfAnotherUserIsNotBelieved) {
  ASSERT_NO_FATAL_FAILURE(needsRoot());
  if (IsSkipped()) return;
  FencedFile file = open().value();
  EXPECT_TRUE(file.append(stamp(5), "x").has_value());
  for (const uid_t other : {nobody, uid_t{1}}) {
    ASSERT_EQ(chown((path_ + ".fence").c_str(), other, other), 0);
    const std::string error =
        path_ + ".fence failed: it belongs to another user: if a fence of that user made it, run as that user";
    EXPECT_TRUE(says(open(), error));
    EXPECT_TRUE(says(file.append(stamp(5), "y"), error));
    EXPECT_TRUE(says(file.read(), error));
    EXPECT_TRUE(says(file.highestSeen("billing"), error));
    EXPECT_TRUE(says(openFencedFileMemory(path_), error));
  }
  ASSERT_EQ(chown((path_ + ".fence").c_str(), 0, 0), 0);
  EXPECT_TRUE(file.append(stamp(5), "y").has_value());
}

/// The user who made it may lock it, and keeps an open descriptor whatever is done to its mode.
TEST_F(FencedFileAccess, aLockOfAnotherUserIsRefused) {
  ASSERT_NO_FATAL_FAILURE(needsRoot());
  if (IsSkipped()) return;
  const std::string error = path_ + ".fence.lock failed: it belongs to another user";
  for (const mode_t mode : {0666U, 0600U}) {
    std::ofstream{path_ + ".fence.lock"};
    chmod((path_ + ".fence.lock").c_str(), mode);
    ASSERT_EQ(chown((path_ + ".fence.lock").c_str(), 1, 1), 0);
    EXPECT_TRUE(says(open(), error));
    EXPECT_EQ(asNobody([&] { return says(open(), error) ? 0 : 1; }), 0) << mode;
    std::filesystem::remove(path_ + ".fence.lock");
  }
}

/// The name of an accepted content becomes free once the content is in place, and it is easy to guess.
TEST_F(FencedFileAccess, aContentOfAnotherUserIsNotPutInPlace) {
  ASSERT_NO_FATAL_FAILURE(needsRoot());
  if (IsSkipped()) return;
  FencedFile file = open().value();
  EXPECT_TRUE(file.replace(stamp(5), "mine").has_value());
  std::ofstream{path_ + ".fence.1"} << "his own";
  ASSERT_EQ(chown((path_ + ".fence.1").c_str(), nobody, nobody), 0);
  EXPECT_TRUE(says(file.append(stamp(5), "x"), path_ + ".fence.1 in place failed: it belongs to another user"));
  EXPECT_EQ(textOf(path_), "mine");
  std::filesystem::remove(path_ + ".fence.1");
  std::filesystem::create_hard_link(path_, path_ + ".fence.1");
  EXPECT_TRUE(says(file.append(stamp(5), "x"), path_ + ".fence.1 in place failed: it has other names"));
}

/// As in /tmp, where every user may create names and only their owners may remove them.
TEST_F(FencedFileAccess, namesOfOthersInAStickyDirectoryDoNotHoldUpAppends) {
  ASSERT_NO_FATAL_FAILURE(needsRoot());
  if (IsSkipped()) return;
  ASSERT_EQ(chmod(directory_.path().c_str(), 01777), 0);
  for (const std::string suffix : {".fence.1", ".fence.2"}) {
    std::ofstream{path_ + suffix} << "his own";
    ASSERT_EQ(chown((path_ + suffix).c_str(), 1, 1), 0);
  }
  const int code = asNobody([&] {
    FencedFile file = open().value();
    if (!file.append(stamp(5), "one\n")) return 1;
    const auto refused = file.replace(stamp(5), "new");
    if (!says(refused, path_ + ".fence.1 failed: it belongs to another user")) return 2;
    return file.append(stamp(5), "two\n") ? 0 : 3;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(textOf(path_), "one\ntwo\n");
  FencedFile asRoot = FencedFile::open(directory_.file("other")).value();
  std::ofstream{directory_.file("other.fence.1")} << "his own";
  EXPECT_TRUE(asRoot.replace(stamp(5), "new").has_value()) << "root may remove it";
}

/// The kernel removes these bits from any file that a user other than root writes.
TEST_F(FencedFileAccess, setUserIdAndSetGroupIdOutliveOnlyReplacementsByRoot) {
  ASSERT_NO_FATAL_FAILURE(needsRoot());
  if (IsSkipped()) return;
  put("old");
  ASSERT_EQ(chown(path_.c_str(), nobody, nobody), 0);
  chmod(path_.c_str(), 06755);
  EXPECT_TRUE(open().value().replace(stamp(5), "new").has_value());
  EXPECT_EQ(modeOf(), 06755U);
  for (const std::string suffix : {".fence", ".fence.lock"}) std::filesystem::remove(path_ + suffix);
  EXPECT_EQ(asNobody([&] { return open().value().replace(stamp(5), "newer") ? 0 : 1; }), 0);
  EXPECT_EQ(modeOf(), 0755U);
}

/// Somebody may create the name between the removal of the old file and the creation of the new one.
TEST_F(FencedFileAccess, aNewFileIsNeverOneThatWasThere) {
  put("his own");
  using file_fence::Files;
  for (const Files::Kind kind : {Files::Kind::newContent, Files::Kind::newBeside}) {
    EXPECT_EQ(file_fence::systemFiles().open(AT_FDCWD, path_, kind), -EEXIST);
  }
}

TEST_F(FencedFileAccess, aFenceIsReadWithoutRoomForTheLongest) {
  put("as short as most");
  file_fence::Files& files = file_fence::systemFiles();
  const int directory = files.openDirectory(directory_.path());
  const int fd = files.open(directory, "ledger", file_fence::Files::Kind::content);
  files.close(directory);
  std::string text;
  EXPECT_EQ(files.read(fd, text, 16U << 20U), 0);
  EXPECT_EQ(text, "as short as most");
  EXPECT_LT(text.capacity(), 1'000U);
  EXPECT_EQ(files.read(fd, text, 8), 0);
  EXPECT_EQ(text, "as short");
  files.close(fd);
}

}  // namespace
}  // namespace tenure
