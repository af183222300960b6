// Who may open the files of the store.
#include "lockcore/stores/sqlite/src/access.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <grp.h>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "actor.hpp"
#include "lockcore/stores/sqlite/src/filesystem_checks.hpp"
#include "sqlite_support.hpp"
#include "support/temp_dir.hpp"

namespace tenure::sqlite_test {
namespace {

constexpr uid_t nobody = 65534;

unsigned modeOf(const std::string& path) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 ? found.st_mode & 07777U : 0;
}

/// A umask for as long as it lives.
class Umask {
 public:
  explicit Umask(mode_t mask) : before_{umask(mask)} {}
  ~Umask() { umask(before_); }
  Umask(const Umask&) = delete;
  Umask& operator=(const Umask&) = delete;

 private:
  mode_t before_;
};

class SqliteAccess : public testing::Test {
 protected:
  /// Every file of the store, used once for each purpose.
  void useStore(const SqliteStoreOptions& options) {
    contract::StoreCalls calls{makeSqliteStore(options), std::make_shared<contract::CallLedger>()};
    calls.apply(acquire(key_, "a"));
    const auto watch = calls.raw().watch(key_, [] {});
    static_cast<void>(calls.raw().deathNotice()->livenessFile());
    ASSERT_TRUE(eventually([&] { return filesIn(sidecarOf(path_)).size() >= 3 && allHaveTheirModes(); }));
    for (const std::string& name : filesIn(directory_.path().string())) modes_[name] = modeOf(directory_.file(name));
    for (const std::string& name : filesIn(sidecarOf(path_))) {
      modes_["." + name.substr(0, 4)] = modeOf(sidecarOf(path_) + '/' + name);
    }
  }

  /// The umask may take the owner's right to write from a file for a moment, until its mode is set.
  bool allHaveTheirModes() const {
    const auto names = filesIn(sidecarOf(path_));
    return std::all_of(names.begin(), names.end(),
                       [&](const auto& name) { return (modeOf(sidecarOf(path_) + '/' + name) & 0200U) != 0; });
  }

  test::TempDir directory_;
  const std::string path_ = directory_.file("leases.db");
  const LeaseKey key_{"lease"};
  std::map<std::string, unsigned> modes_;
};

TEST_F(SqliteAccess, allFilesAreOfTheirOwnerAloneWhateverTheUmask) {
  for (const mode_t mask : {0U, 022U, 077U, 0277U}) {
    std::filesystem::remove_all(sidecarOf(path_));
    for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(path_ + end);
    modes_.clear();
    const Umask here{mask};
    useStore({.path = path_});
    EXPECT_EQ(modes_, (std::map<std::string, unsigned>{{".leases.db.tenure", 0700},
                                                       {".beac", 0600},
                                                       {".crea", 0600},
                                                       {".wake", 0600},
                                                       {"leases.db", 0600},
                                                       {"leases.db-shm", 0600},
                                                       {"leases.db-wal", 0600}}))
        << "umask " << mask;
  }
}

TEST_F(SqliteAccess, aModeForTheGroupIsThatOfAllFiles) {
  for (const unsigned mode : {0640U, 0660U}) {
    std::filesystem::remove_all(sidecarOf(path_));
    for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(path_ + end);
    modes_.clear();
    const Umask here{077};
    useStore({.path = path_, .mode = mode});
    for (const auto& [name, found] : modes_) {
      EXPECT_EQ(found, name == ".leases.db.tenure" ? directoryModeFor(mode) : mode) << name;
    }
  }
}

TEST_F(SqliteAccess, aGroupIsThatOfAllFiles) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may give files to any group";  // lint-allow(skipped-test): says so
  useStore({.path = path_, .mode = 0660, .group = "daemon"});
  struct stat database {};
  ASSERT_EQ(stat(path_.c_str(), &database), 0);
  EXPECT_NE(database.st_gid, getegid());
  Store again{path_};
  again->apply(acquire({"other"}, "a"));
  for (const std::string& path :
       {path_ + "-wal", path_ + "-shm", sidecarOf(path_), sidecarOf(path_) + "/creation-lock"}) {
    struct stat found {};
    ASSERT_EQ(stat(path.c_str(), &found), 0) << path;
    EXPECT_EQ(found.st_gid, database.st_gid) << path;
  }
}

/// `sudo tenure pause` beside a database that was restored alone made a directory of root's, in which no candidate
/// could show that it lives.
TEST_F(SqliteAccess, whatRootMakesBesideADatabaseBelongsToItsOwner) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may give files away";  // lint-allow(skipped-test): says so
  {
    Store made{path_};
    made->ensureSchema();
  }
  ASSERT_EQ(chown(path_.c_str(), nobody, nobody), 0);
  ASSERT_EQ(chown(directory_.path().c_str(), nobody, nobody), 0);
  std::filesystem::remove_all(sidecarOf(path_));
  const Umask here{077};
  {
    Store root{path_};
    root->apply(acquire(key_, "root"));
    static_cast<void>(extended(root.raw())->deathNotice()->livenessFile());
    ASSERT_TRUE(eventually([&] { return filesIn(sidecarOf(path_)).size() >= 2; }));
    for (const auto& entry : std::filesystem::recursive_directory_iterator{directory_.path()}) {
      struct stat found {};
      // A file that is made behind the answer is root's for a moment.
      EXPECT_TRUE(eventually([&] { return lstat(entry.path().c_str(), &found) == 0 && found.st_uid == nobody; }))
          << entry.path();
    }
  }
  Actor owner{path_};
  ASSERT_EQ(owner.ask("nobody"), "ok");
  EXPECT_TRUE(contains(owner.ask("acquire other a"), "applied")) << owner.ask("error");
  EXPECT_EQ(owner.ask("livenessFile"), "ok");
}

TEST_F(SqliteAccess, aGroupThatIsNotThereIsAnErrorAndMakesNoFile) {
  contract::StoreCalls calls{makeSqliteStore({.path = path_, .mode = 0660, .group = "no-such-group"}),
                             std::make_shared<contract::CallLedger>()};
  const StoreError error = errorOf(calls.startWrite(acquire(key_, "a"), patience)->get());
  EXPECT_TRUE(contains(error.message, "there is no group no-such-group")) << error.message;
  const FileAccess look = sqlite_store::lookAtAccess({.path = path_, .mode = 0660, .group = "no-such-group"});
  ASSERT_TRUE(look.obstacle);
  EXPECT_EQ(look.obstacle->message, error.message);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

/// In a process of its own, which may give up root. `prepare` runs before that.
void expectLookAndStoreAgree(const std::string& path, bool may, const std::function<void()>& prepare) {
  const pid_t child = fork();
  if (child == 0) {
    prepare();
    if (setresuid(nobody, nobody, nobody) != 0) _exit(9);
    const SqliteStoreOptions options{.path = path, .mode = 0660, .group = "daemon"};
    const bool told = !sqlite_store::lookAtAccess(options).obstacle;
    const bool leftNone = !std::filesystem::exists(path);
    const auto files = sqlite_store::checkFiles("it", path);
    const bool made = !sqlite_store::makeDatabaseFile("it", files->files, options);
    _exit((told == may ? 0 : 1) | (leftNone ? 0 : 2) | (made == may ? 0 : 4));
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "bits: 1 the look, 2 it made a file, 4 the store";
  std::filesystem::remove(path);
}

TEST_F(SqliteAccess, aLookSaysEarlyWhetherThisUserMayGiveTheDatabaseToItsGroup) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may become another user";  // lint-allow(skipped-test): says so
  const std::string directory = directory_.path().string();
  const gid_t group = getgrnam("daemon")->gr_gid;
  ASSERT_EQ(chown(directory.c_str(), nobody, nobody), 0);
  const auto become = [](std::vector<gid_t> more, gid_t own) {
    return [more, own] {
      if (setgroups(more.size(), more.data()) != 0 || setresgid(own, own, own) != 0) _exit(8);
    };
  };
  expectLookAndStoreAgree(path_, false, become({}, nobody));
  expectLookAndStoreAgree(path_, false, become({nobody}, nobody));
  expectLookAndStoreAgree(path_, true, become({nobody, group}, nobody));
  expectLookAndStoreAgree(path_, true, become({}, group));
  ASSERT_EQ(chown(directory.c_str(), nobody, group), 0);
  expectLookAndStoreAgree(path_, false, become({}, nobody));
  ASSERT_EQ(chmod(directory.c_str(), 02770), 0);  // new files get the group of such a directory
  expectLookAndStoreAgree(path_, true, become({}, nobody));
}

TEST_F(SqliteAccess, aModeThatLetsEverybodyInIsRefused) {
  for (const unsigned mode : {0644U, 0666U, 0604U, 0400U, 0060U, 01600U}) {
    const OptionFaults faults = faultsOf(SqliteStoreOptions{.path = path_, .mode = mode});
    ASSERT_EQ(faults.size(), 1U) << mode;
    EXPECT_EQ(faults.front().field, "mode");
  }
  EXPECT_EQ(faultsOf(SqliteStoreOptions{.path = path_, .group = "daemon"}).front().field, "group");
}

/// Existing files keep their mode; new ones beside them get it, so that their users still see each other.
TEST_F(SqliteAccess, anExistingDatabaseKeepsItsModeAndIsTold) {
  {
    Store made{path_};
    made->ensureSchema();
  }
  std::filesystem::permissions(path_, std::filesystem::perms{0644});
  std::filesystem::permissions(directory_.path(), std::filesystem::perms{0755});
  std::filesystem::remove_all(sidecarOf(path_));
  std::mutex mutex;
  std::vector<std::string> lines;
  const Logger logger{LogLevel::warn, [&](LogLevel, std::string_view line) {
                        const std::lock_guard lock{mutex};
                        lines.emplace_back(line);
                      }};
  contract::StoreCalls calls{makeSqliteStore({.path = path_}, logger), std::make_shared<contract::CallLedger>()};
  calls.apply(acquire(key_, "a"));
  EXPECT_EQ(modeOf(path_), 0644U);
  EXPECT_EQ(modeOf(path_ + "-shm"), 0644U);
  EXPECT_EQ(modeOf(sidecarOf(path_)), 0755U);
  const std::lock_guard lock{mutex};
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(contains(lines[0], "may be opened by every user of this machine: " + path_ + " (0644)")) << lines[0];
  EXPECT_TRUE(contains(lines[0], "chmod 0600 " + path_)) << lines[0];
}

TEST_F(SqliteAccess, aWideModeBehindAClosedDirectoryIsNotTold) {
  {
    Store made{path_};
    made->ensureSchema();
  }
  std::filesystem::permissions(path_, std::filesystem::perms{0666});
  std::filesystem::permissions(directory_.path(), std::filesystem::perms{0700});
  EXPECT_EQ(sqlite_store::lookAtAccess({.path = path_}).wide, "");
  std::filesystem::permissions(directory_.path(), std::filesystem::perms{0711});
  EXPECT_NE(sqlite_store::lookAtAccess({.path = path_}).wide, "");
}

/// B-31: a -shm file of another user locks the owner of the database out.
TEST_F(SqliteAccess, aLogFileOfAnotherUserIsNamedWithItsOwner) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may give files away";  // lint-allow(skipped-test): says so
  for (const char* end : {"-shm", "-wal"}) {
    const std::string log = path_ + end;
    std::filesystem::permissions(directory_.path(), std::filesystem::perms{0777});
    Actor actor{path_};
    ASSERT_EQ(actor.ask("nobody"), "ok");
    ASSERT_TRUE(contains(actor.ask("acquire lease" + std::string{end} + " a"), "applied"));
    actor.kill();
    std::filesystem::remove(log);
    std::ofstream{log} << "";
    std::filesystem::permissions(log, std::filesystem::perms{0600});
    Actor owner{path_};
    ASSERT_EQ(owner.ask("nobody"), "ok");
    EXPECT_EQ(owner.ask("acquire other a"), "rejected");
    const std::string message = owner.ask("error");
    EXPECT_TRUE(contains(message, log + " is there, belongs to user 0 (root), and this user may not write it"))
        << message;
    for (const char* each : {"", "-wal", "-shm"}) std::filesystem::remove(path_ + each);
    std::filesystem::remove_all(sidecarOf(path_));
  }
}

TEST_F(SqliteAccess, aSidecarOfAnotherUserIsNamedWithItsOwner) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may give files away";  // lint-allow(skipped-test): says so
  {
    Store made{path_};
    made->ensureSchema();
  }
  ASSERT_EQ(chown(path_.c_str(), nobody, nobody), 0);
  std::filesystem::permissions(directory_.path(), std::filesystem::perms{0777});
  Actor actor{path_};
  ASSERT_EQ(actor.ask("nobody"), "ok");
  EXPECT_EQ(actor.ask("acquire lease a"), "rejected");
  const std::string message = actor.ask("error");
  EXPECT_TRUE(contains(message, sidecarOf(path_) + " belongs to user 0 (root)")) << message;
}

}  // namespace
}  // namespace tenure::sqlite_test
