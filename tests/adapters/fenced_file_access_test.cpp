// Who may open a fenced file and what lies beside it, and what lies in their place that is no file.
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <tenure/adapters/fenced_file.hpp>

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
  /// In a child that has become another user: its exit code.
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

  static TermStamp stamp(std::uint64_t token) { return {"billing", FencingToken{token}, "a#1"}; }

  const test::TempDir directory_;
  const std::string path_ = directory_.file("ledger");
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
    if (!refused.has_error()) return 1;
    const std::string message = FenceError{refused.error()}.message;
    return message.find("giving the new content the owner and the mode of the old failed") != std::string::npos ? 0 : 2;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(statusOf().st_uid, 0U);
}

TEST_F(FencedFileAccess, whatLiesBesideIsForItsOwnerAlone) {
  put("x");
  std::ofstream{path_ + ".fence.lock"};  // as an older release made it
  chmod((path_ + ".fence.lock").c_str(), 0644);
  FencedFile file = open().value();
  EXPECT_TRUE(file.append(stamp(5), "y").has_value());
  EXPECT_EQ(modeOf(".fence"), 0600U);
  EXPECT_EQ(modeOf(".fence.lock"), 0600U);
  if (geteuid() != 0) return;
  EXPECT_EQ(asNobody([&] { return ::open((path_ + ".fence.lock").c_str(), O_RDONLY | O_CLOEXEC) < 0 ? 0 : 1; }), 0)
      << "whoever opens it can lock it";
}

TEST_F(FencedFileAccess, linksAndPipesInPlaceOfAFileAreRefused) {
  const std::string target = directory_.file("target");
  std::ofstream{target} << "somebody else's";
  for (const std::string suffix : {"", ".fence", ".fence.lock"}) {
    std::filesystem::create_symlink(target, path_ + suffix);
    const auto refused = open();
    ASSERT_TRUE(refused.has_error()) << suffix;
    EXPECT_NE(FenceError{refused.error()}.message.find("it is a symbolic link"), std::string::npos);
    std::filesystem::remove(path_ + suffix);
    std::filesystem::remove(path_ + ".fence.lock");
  }
  for (const std::string suffix : {".fence.next", ".fence.1"}) {
    FencedFile file = open().value();
    std::filesystem::remove(path_ + suffix);  // of the attempt before
    std::filesystem::create_symlink(target, path_ + suffix);
    EXPECT_TRUE(file.replace(stamp(5), "new").has_error()) << suffix;
    std::filesystem::remove(path_ + suffix);
  }
  ASSERT_EQ(mkfifo((path_ + ".fence.next").c_str(), 0666), 0);
  EXPECT_TRUE(open().value().replace(stamp(5), "new").has_error());
  std::ostringstream left;
  left << std::ifstream{target}.rdbuf();
  EXPECT_EQ(left.str(), "somebody else's");
}

}  // namespace
}  // namespace tenure
