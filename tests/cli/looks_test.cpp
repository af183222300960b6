// Commands that only look leave no file behind and change none, and "reached and ready" means that this user can write.
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "cli/group_fixture.hpp"
#include "cli/text/exit_codes.hpp"

namespace tenure::test {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class LooksTest : public GroupFixture {
 protected:
  using Snapshot = std::map<std::string, std::array<std::uint64_t, 4>>;

  /// Of all files, but not of their content, which a leader writes meanwhile.
  [[nodiscard]] Snapshot snapshot() const {
    Snapshot all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator{directory_.file("")}) {
      struct stat found {};
      if (lstat(entry.path().c_str(), &found) == 0) {
        all[entry.path()] = {found.st_ino, found.st_mode, found.st_uid, found.st_gid};
      }
    }
    return all;
  }

  [[nodiscard]] std::vector<std::vector<std::string>> looks() const {
    return {{"status", config()},
            {"status", config(), "--json"},
            {"check", config()},
            {"check", "--connect", config()},
            {"doctor", config()},
            {"jobs", config()},
            {"lock", "list", "--config", config()},
            {"lock", "show", "g", "--config", config()},
            {"lock", "prune", "--config", config()}};
  }

  void expectNoTrace() const {
    for (const std::vector<std::string>& words : looks()) {
      const Snapshot before = snapshot();
      static_cast<void>(finish(words));
      EXPECT_EQ(snapshot(), before) << words[0] << ' ' << words[1];
    }
  }

  /// A leader that was killed with its job, its guard and its reaper, so nobody closes the database in its place.
  void crash() const {
    Subprocess leader{run({}, actingJob()), as("a")};
    ASSERT_TRUE(begins(1));
    leader.signal(SIGSTOP);  // else it would replace its guard
    const std::string id = std::to_string(leader.id());
    std::ifstream children{"/proc/" + id + "/task/" + id + "/children"};
    for (pid_t child = 0; children >> child;) kill(child, SIGKILL);
    kill(jobOf(1), SIGKILL);
    leader.signal(SIGKILL);
    leader.wait();
    ASSERT_TRUE(std::filesystem::exists(database() + "-wal"));
  }
};

/// `sudo tenure check --connect` before the first start made a database of root's (B-31).
TEST_F(LooksTest, BeforeTheFirstStart) {
  configure();
  expectNoTrace();
  const Finished checked = finish({"check", "--connect", config()});
  EXPECT_EQ(checked.code, cli::exitOk) << checked.errors;
  EXPECT_TRUE(has(checked.output, "which is reached and ready")) << checked.output;
}

TEST_F(LooksTest, AfterAnOrderlyEnd) {
  configure();
  ASSERT_EQ(finish({"run", "--config", config(), "--once", "--", "true"}).code, cli::exitOk);
  expectNoTrace();
}

TEST_F(LooksTest, AfterACrash) {
  configure();
  crash();
  expectNoTrace();
  EXPECT_TRUE(has(finish({"status", config()}).output, "fencing token  1"));
}

TEST_F(LooksTest, BesideALeader) {
  configure();
  const Subprocess leader{run({}, actingJob()), as("a")};
  ASSERT_TRUE(begins(1));
  expectNoTrace();
  EXPECT_TRUE(goesOn(1));
}

TEST_F(LooksTest, AtALogWithoutItsIndex) {
  configure();
  crash();
  std::filesystem::remove(database() + "-shm");
  expectNoTrace();
  const Finished status = finish({"status", config()});
  EXPECT_EQ(status.code, cli::exitStore);
  EXPECT_TRUE(has(status.errors, "-shm is missing, without which the log cannot be read")) << status.errors;
  EXPECT_EQ(finish({"run", "--config", config(), "--once", "--wait", "20s", "--", "true"}).code, cli::exitOk);
}

/// The user of the candidates cannot write a log that belongs to another user: that is not "ready".
TEST_F(LooksTest, AUserWhoCannotWriteIsNotReady) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may become another user";  // lint-allow(skipped-test): says so
  configure();
  crash();
  std::filesystem::permissions(directory_.file(""), std::filesystem::perms{0777});
  for (const char* end : {"", "-wal"}) std::filesystem::permissions(database() + end, std::filesystem::perms{0666});
  std::filesystem::permissions(database() + "-shm", std::filesystem::perms{0644});
  std::filesystem::permissions(config(), std::filesystem::perms{0644});
  const auto asNobody = [&](const std::vector<std::string>& words) {
    std::vector<std::string> command{"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"};
    for (const std::string& word : tenure(words)) command.push_back(word);
    return runToEnd(command, as("tester"));
  };
  const Finished checked = asNobody({"check", "--connect", config()});
  EXPECT_EQ(checked.code, cli::exitStore) << checked.output << checked.errors;
  EXPECT_TRUE(has(checked.errors, database() + "-shm is there, belongs to user 0 (root)")) << checked.errors;
  const Finished doctor = asNobody({"doctor", config()});
  EXPECT_EQ(doctor.code, cli::exitFaults) << doctor.output;
  EXPECT_TRUE(has(doctor.output, "files.access")) << doctor.output;
}

/// Two users that do not see each other's liveness files wait for each other for ever where a database is missing.
TEST_F(LooksTest, ALivenessFileThatThisUserMayNotReadIsNamed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may become another user";  // lint-allow(skipped-test): says so
  configure();
  crash();
  std::filesystem::permissions(directory_.file(""), std::filesystem::perms{0777});
  for (const char* end : {"", "-wal", "-shm"}) {
    std::filesystem::permissions(database() + end, std::filesystem::perms{0666});
  }
  std::filesystem::permissions(directory_.file(".leases.db.tenure"), std::filesystem::perms{0777});
  std::vector<std::string> command{"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"};
  for (const std::string& word : tenure({"check", "--connect", config()})) command.push_back(word);
  const Finished checked = runToEnd(command, as("tester"));
  EXPECT_EQ(checked.code, cli::exitOk) << checked.errors;
  EXPECT_TRUE(has(checked.errors, "/beacon-")) << checked.errors;
  EXPECT_TRUE(has(checked.errors, "belongs to user 0 (root), and this user may not read it")) << checked.errors;
  EXPECT_TRUE(has(checked.errors, "may be opened by every user of this machine: ")) << checked.errors;
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(database() + end);
  const Finished missing = runToEnd(command, as("tester"));
  EXPECT_EQ(missing.code, cli::exitStore) << missing.output << missing.errors;
}

}  // namespace
}  // namespace tenure::test
