// What excludes the writers of a fenced file from each other while somebody removes, replaces, links or mounts its
// files.
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <sys/file.h>

#include <gtest/gtest.h>

#include <tenure/adapters/fenced_file.hpp>

#include "adapters/fence/src/fence_memory.hpp"
#include "adapters/file/src/file_writer.hpp"
#include "lockcore/runtime/unique_fd.hpp"
#include "support/own_mounts.hpp"
#include "support/temp_dir.hpp"

namespace tenure {
namespace {

using namespace std::chrono_literals;
using file_fence::Files;
using file_fence::FileWriter;

/// The real system calls, with something that happens right before one of them: a writer that is frozen there.
class FrozenFiles final : public Files {
 public:
  std::function<void()> beforeRename{}, beforeSync{}, beforeTruncate{}, whileWaiting{};

  int openDirectory(const std::string& name) override { return real_.openDirectory(name); }
  int open(int directory, const std::string& name, Kind kind) override { return real_.open(directory, name, kind); }
  int isNamed(int directory, const std::string& name, int fd) override { return real_.isNamed(directory, name, fd); }
  int leadsTo(const std::string& name, int directory) override { return real_.leadsTo(name, directory); }
  int copyAccess(int from, int to) override { return real_.copyAccess(from, to); }
  void close(int fd) noexcept override { real_.close(fd); }
  std::int64_t size(int fd) override { return real_.size(fd); }
  int read(int fd, std::string& out, std::uint64_t most) override { return real_.read(fd, out, most); }
  std::int64_t write(int fd, std::uint64_t at, std::string_view bytes) override { return real_.write(fd, at, bytes); }
  int truncate(int fd, std::uint64_t size) override {
    once(beforeTruncate);
    return real_.truncate(fd, size);
  }
  int sync(int fd) override {
    once(beforeSync);
    return real_.sync(fd);
  }
  int rename(int directory, const std::string& from, const std::string& to) override {
    once(beforeRename);
    return real_.rename(directory, from, to);
  }
  int renameToNew(int directory, const std::string& from, const std::string& to) override {
    once(beforeRename);
    return real_.renameToNew(directory, from, to);
  }
  int remove(int directory, const std::string& name) override { return real_.remove(directory, name); }
  int syncDirectory(int directory) override { return real_.syncDirectory(directory); }
  int lock(int fd) override { return real_.lock(fd); }
  int queue(int fd) override { return real_.queue(fd); }
  void unqueue(int fd) noexcept override { real_.unqueue(fd); }
  void pause(std::chrono::nanoseconds duration) noexcept override {
    once(whileWaiting);
    real_.pause(duration);
  }

 private:
  static void once(std::function<void()>& call) {
    if (const auto now = std::exchange(call, nullptr)) now();
  }
  Files& real_{file_fence::systemFiles()};
};

class FencedFileLocks : public testing::Test {
 protected:
  static constexpr FencedFileOptions options{.lockTimeout = 20ms};

  FencedFileLocks() {
    std::filesystem::create_directory(home_);
    EXPECT_FALSE(writer_.open());
    EXPECT_TRUE(writer_.append(stamp(5), "base\n").has_value());
  }
  static TermStamp stamp(std::uint64_t token) { return {"billing", FencingToken{token}, "a#1"}; }
  static std::string said(const FenceResult<void>& result) {
    return result.has_error() ? FenceError{result.error()}.message : "written";
  }
  static std::string opened(const std::string& name) {
    const auto file = FencedFile::open(name, options);
    return file.has_error() ? FenceError{file.error()}.message : "opened";
  }
  /// What another process says that writes under a later term meanwhile.
  [[nodiscard]] std::string laterWrite() const {
    auto file = FencedFile::open(path_, options);
    return file.has_error() ? FenceError{file.error()}.message : said(file->append(stamp(7), "later\n"));
  }
  [[nodiscard]] std::string content() const {
    std::ostringstream out;
    out << std::ifstream{path_}.rdbuf();
    return out.str();
  }
  [[nodiscard]] std::uint64_t token() const {
    return FencedFile::open(path_, options).value().highestSeen("billing").value()->token.value();
  }
  static bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
  void removeLock() const { std::filesystem::remove(path_ + ".fence.lock"); }
  /// Somebody moves the directory away and puts a copy in its place.
  void replaceDirectory() const {
    std::filesystem::rename(home_, home_ + ".old");
    std::filesystem::copy(home_ + ".old", home_);
  }

  const test::TempDir directory_;
  const std::string home_ = directory_.file("home");
  const std::string path_ = home_ + "/ledger";
  FrozenFiles files_;
  FileWriter writer_{files_, path_, options};
};

/// The case: frozen inside of a write, the lock is taken for a forgotten one, a later term writes, the writer wakes.
TEST_F(FencedFileLocks, aLockThatIsRemovedUnderAFrozenWriterLetsNobodyPastIt) {
  std::string later;
  writer_.inside = [&] {
    removeLock();
    later = laterWrite();
  };
  const auto mine = writer_.append(stamp(5), std::string(100'000, 'x'));
  EXPECT_TRUE(contains(later, "locking " + path_ + ".fence failed")) << later;
  EXPECT_TRUE(contains(said(mine), "its lock " + path_ + ".fence.lock was removed or replaced")) << said(mine);
  EXPECT_EQ(laterWrite(), "written");
  EXPECT_EQ(content(), "base\nlater\n");
  EXPECT_EQ(token(), 7U);
}

/// After the last look at the lock there is no window: what is locked is what the rename replaces.
TEST_F(FencedFileLocks, aLockThatIsRemovedRightBeforeTheRenameLetsNobodyPast) {
  for (const bool replaces : {false, true}) {
    std::string later;
    files_.beforeRename = [&] {
      removeLock();
      later = laterWrite();
    };
    const auto mine = replaces ? writer_.replace(stamp(7), "mine\n") : writer_.append(stamp(5), "mine\n");
    EXPECT_TRUE(contains(later, "locking " + path_ + ".fence failed")) << later;
    EXPECT_EQ(said(mine), "written");
    EXPECT_EQ(content(), replaces ? "mine\n" : "base\nmine\n");
    EXPECT_EQ(laterWrite(), "written");
    EXPECT_EQ(content(), replaces ? "mine\nlater\n" : "base\nmine\nlater\n");
    EXPECT_EQ(token(), 7U);
  }
}

/// There was no fence to lock yet. What it would rename is what a third writer has begun to write.
TEST_F(FencedFileLocks, whoIsFrozenWhileItMakesTheFirstFenceReplacesNone) {
  std::filesystem::remove(path_ + ".fence");
  FileWriter first{files_, path_, options};
  files_.beforeRename = [&] {
    removeLock();
    EXPECT_EQ(laterWrite(), "written");
    std::ofstream{path_ + ".fence.next"} << "half of";
  };
  const auto fault = first.open();
  ASSERT_TRUE(fault);
  EXPECT_TRUE(contains(fault->message, "renaming the fence failed: File exists")) << fault->message;
  EXPECT_FALSE(fault->writeError()->mayBeWritten);
  EXPECT_EQ(laterWrite(), "written");
  EXPECT_EQ(content(), "base\nlater\nlater\n");
  EXPECT_EQ(token(), 7U);
}

/// The content of an accepted replacement is put in place by whoever comes first.
TEST_F(FencedFileLocks, theNextWriterFinishesAReplacementWhoseLockWasRemoved) {
  std::string later;
  files_.beforeRename = [&] {
    files_.beforeRename = [&] {
      removeLock();
      later = laterWrite();
    };
  };
  const auto mine = writer_.replace(stamp(6), "mine\n");
  EXPECT_EQ(later, "written");
  EXPECT_EQ(content(), "mine\nlater\n");
  ASSERT_TRUE(mine.has_error());
  EXPECT_TRUE(FenceError{mine.error()}.writeError()->mayBeWritten) << said(mine);
}

TEST_F(FencedFileLocks, aReaderThatIsFrozenWhileItCutsOffDoesNotCutAnAcceptedWrite) {
  std::ofstream{path_, std::ios::app} << "never accepted";
  std::string later;
  files_.beforeTruncate = [&] {
    removeLock();
    later = laterWrite();
  };
  EXPECT_EQ(writer_.read().value(), "base\n");
  EXPECT_TRUE(contains(later, "locking " + path_ + ".fence failed")) << later;
  EXPECT_EQ(laterWrite(), "written");
  EXPECT_EQ(content(), "base\nlater\n");
}

TEST_F(FencedFileLocks, whoWaitedForALockThatWasRemovedTakesTheOneThatHasItsName) {
  UniqueFd first{::open((path_ + ".fence.lock").c_str(), O_RDWR | O_CLOEXEC)};
  ASSERT_EQ(flock(first.get(), LOCK_EX), 0);
  UniqueFd second;
  files_.whileWaiting = [&] {
    removeLock();
    second = UniqueFd{::open((path_ + ".fence.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
    ASSERT_EQ(flock(second.get(), LOCK_EX), 0);
    first.reset();
  };
  EXPECT_TRUE(contains(said(writer_.append(stamp(5), "mine\n")), "locking " + path_ + ".fence.lock failed"));
  second.reset();
  EXPECT_EQ(said(writer_.append(stamp(5), "mine\n")), "written");
}

/// A writer of a release that knew one lock only.
TEST_F(FencedFileLocks, aWriterOfAnOlderReleaseExcludesOneOfThisOne) {
  const UniqueFd older{::open((path_ + ".fence.lock").c_str(), O_RDWR | O_CLOEXEC)};
  ASSERT_EQ(flock(older.get(), LOCK_EX), 0);
  EXPECT_TRUE(contains(laterWrite(), "locking " + path_ + ".fence.lock failed"));
}

TEST_F(FencedFileLocks, aWriterOfThisReleaseExcludesOneOfAnOlder) {
  writer_.inside = [&] {
    const UniqueFd older{::open((path_ + ".fence.lock").c_str(), O_RDWR | O_CLOEXEC)};
    EXPECT_NE(flock(older.get(), LOCK_EX | LOCK_NB), 0);
  };
  EXPECT_EQ(said(writer_.append(stamp(5), "mine\n")), "written");
}

TEST_F(FencedFileLocks, aWriterThatIsFrozenWhileItsDirectoryIsReplacedStaysInTheOldOne) {
  std::string later;
  writer_.inside = [&] {
    replaceDirectory();
    later = laterWrite();
  };
  const auto mine = writer_.append(stamp(6), "mine\n");
  EXPECT_EQ(later, "written");
  EXPECT_TRUE(contains(said(mine), "its directory " + home_ + " was removed or replaced")) << said(mine);
  EXPECT_EQ(content(), "base\nlater\n");
  EXPECT_EQ(token(), 7U);
}

TEST_F(FencedFileLocks, soItDoesRightBeforeTheRename) {
  files_.beforeRename = [&] {
    replaceDirectory();
    EXPECT_EQ(laterWrite(), "written");
  };
  (void)writer_.append(stamp(6), "mine\n");  // this one counts where the old directory is now
  EXPECT_EQ(content(), "base\nlater\n");
  EXPECT_EQ(token(), 7U);
}

TEST_F(FencedFileLocks, aFenceThatWasReplacedDuringAWriteIsNotOverwritten) {
  writer_.inside = [&] {
    std::filesystem::copy(path_ + ".fence", path_ + ".copy");
    std::filesystem::rename(path_ + ".copy", path_ + ".fence");
  };
  const auto mine = writer_.append(stamp(6), "mine\n");
  EXPECT_TRUE(contains(said(mine), "its fence " + path_ + ".fence was removed or replaced")) << said(mine);
  EXPECT_EQ(token(), 5U);
}

/// As logrotate does it.
TEST_F(FencedFileLocks, anAppendToAFileThatWasMovedAwayMeanwhileIsNotAcknowledged) {
  for (const bool makesNew : {false, true}) {
    files_.beforeSync = [&] {
      std::filesystem::rename(path_, path_ + ".1");
      if (makesNew) std::ofstream{path_} << "base\n";
    };
    EXPECT_TRUE(contains(said(writer_.append(stamp(6), "mine\n")), "another program removed or replaced it"));
    std::filesystem::rename(path_ + ".1", path_);
    EXPECT_EQ(token(), 5U);
    EXPECT_EQ(content(), "base\n");
  }
}

TEST_F(FencedFileLocks, aDirectoryBehindALinkThatCouldBeSwitchedIsRefused) {
  std::filesystem::create_directory_symlink(home_, directory_.file("current"));
  const std::string linked = directory_.file("current") + "/ledger";
  EXPECT_TRUE(contains(opened(linked), "Give the path itself: " + path_)) << opened(linked);
  const auto memory = openFencedFileMemory(linked);
  ASSERT_TRUE(memory.has_error());
  EXPECT_TRUE(contains(FenceError{memory.error()}.message, "symbolic link"));
}

TEST_F(FencedFileLocks, aDirectoryThatBecomesALinkWhileTheFileIsOpenIsRefused) {
  std::filesystem::rename(home_, home_ + ".old");
  std::filesystem::create_directory_symlink(home_ + ".old", home_);
  EXPECT_TRUE(contains(said(writer_.append(stamp(6), "x")), "a component of its path is a symbolic link"));
}

/// As systemd makes it for a service with DynamicUser.
TEST_F(FencedFileLocks, aStateDirectoryOfSystemdIsUsed) {
  std::filesystem::create_directories(directory_.file("private/tenure"));
  std::filesystem::create_directory_symlink("private/tenure", directory_.file("tenure"));
  EXPECT_EQ(opened(directory_.file("tenure") + "/ledger"), "opened");
}

class FencedFileMounts : public FencedFileLocks {
 protected:
  void SetUp() override {
    if (test::mayHaveMounts(directory_)) return;
    GTEST_SKIP() << "only root may have mounts";  // lint-allow(skipped-test): says so
  }
  const std::string there_ = directory_.file("there");
};

/// The case: each container has its own fence beside the one file. A line of term 9 was lost to a write of term 5.
TEST_F(FencedFileMounts, aFileThatIsMountedAloneIsRefused) {
  std::filesystem::create_directory(there_);
  std::ofstream{there_ + "/ledger"};
  const std::string said = test::inOwnMounts(directory_, [&](std::ostream& say) {
    if (!test::bindMount(path_, there_ + "/ledger")) say << "not bound";
    say << opened(there_ + "/ledger");
    if (std::filesystem::exists(there_ + "/ledger.fence")) say << " and made a fence";
  });
  EXPECT_EQ(said, "file " + there_ + "/ledger: " + there_ +
                      "/ledger is a separate mount (a bind mount, `docker -v` of a single file, Kubernetes' subPath). "
                      "Another container that mounts it has another directory around it, so the two would not see each "
                      "other's fence, and a former term could write. Mount the whole directory " +
                      there_ + " instead");
}

TEST_F(FencedFileMounts, soAreAFenceAndALock) {
  for (const std::string suffix : {".fence", ".fence.lock"}) {
    std::ofstream{directory_.file("alone")} << std::ifstream{path_ + suffix}.rdbuf();
    const std::string told = test::inOwnMounts(directory_, [&](std::ostream& say) {
      if (!test::bindMount(directory_.file("alone"), path_ + suffix)) say << "not bound";
      say << opened(path_);
    });
    EXPECT_TRUE(contains(told, path_ + suffix + " failed: it is a separate mount")) << told;
  }
}

TEST_F(FencedFileMounts, aWriterNoticesThatItsFileBecameAMount) {
  const std::string told = test::inOwnMounts(directory_, [&](std::ostream& say) {
    if (!test::bindMount(path_, path_)) say << "not bound";
    say << said(writer_.append(stamp(6), "x")) << '\n' << said(writer_.replace(stamp(6), "x"));
  });
  EXPECT_TRUE(contains(told, "opening it failed: it is a separate mount")) << told;
  EXPECT_FALSE(contains(told, "written")) << told;
}

TEST_F(FencedFileMounts, aDirectoryThatIsMountedWholeHasOneFence) {
  std::filesystem::create_directory(there_);
  const std::string told = test::inOwnMounts(directory_, [&](std::ostream& say) {
    if (!test::bindMount(home_, there_)) say << "not bound";
    FencedFile other = FencedFile::open(there_ + "/ledger", options).value();
    writer_.inside = [&] { say << said(other.append(stamp(7), "x")) << '\n'; };
    say << said(writer_.append(stamp(6), "mine\n")) << '\n' << said(other.append(stamp(5), "stale\n"));
  });
  EXPECT_TRUE(contains(told, "another writer held it")) << told;
  EXPECT_TRUE(contains(told, "\nwritten\n")) << told;
  EXPECT_TRUE(contains(told, "refused a write of a (1) with fencing token 5")) << told;
}

}  // namespace
}  // namespace tenure
