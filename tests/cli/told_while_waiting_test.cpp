// What people at a terminal are told while something takes long: for whom the program waits, why a job does not
// continue, and how to end a job that does not obey.
#include <chrono>
#include <csignal>
#include <poll.h>
#include <pty.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "cli/group_fixture.hpp"

namespace tenure::test {
namespace {

using std::chrono::milliseconds;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class ToldWhileWaiting : public GroupFixture {
 protected:
  [[nodiscard]] std::vector<std::string> hold(const std::vector<std::string>& job) const {
    std::vector<std::string> words{"lock", "hold", "nightly", "--path", database(), "--lease", "5s", "--"};
    words.insert(words.end(), job.begin(), job.end());
    return tenure(words);
  }
};

TEST_F(ToldWhileWaiting, whoHoldsTheLockThatAnotherCommandWaitsFor) {
  Subprocess holder{hold({"sleep", "60"}), as("alice")};
  ASSERT_TRUE(eventually([&] { return finish({"lock", "show", "nightly", "--path", database()}).code == 0; }));
  Subprocess candidate{hold({"true"}), as("bob")};
  EXPECT_TRUE(candidate.saysOnStderr("tenure: waits for lock nightly: ")) << candidate.errors();
  EXPECT_TRUE(candidate.saysOnStderr(" holds it with fencing token 1\n")) << candidate.errors();
  {
    Subprocess acquirer{tenure({"lock", "acquire", "nightly", "--path", database()}), as("carol")};
    EXPECT_TRUE(acquirer.saysOnStderr(" holds it with fencing token 1\n")) << acquirer.errors();
  }  // it must not win
  holder.signal(SIGTERM);
  EXPECT_EQ(candidate.wait(), 0) << candidate.errors();
}

TEST_F(ToldWhileWaiting, nothingWhereNobodyWaits) {
  const Finished done = runToEnd(hold({"true"}), as("alice"));
  EXPECT_EQ(done.code, 0);
  EXPECT_EQ(done.errors, "");
}

TEST_F(ToldWhileWaiting, thatASecondSignalKillsAStubbornJob) {
  Subprocess stubborn{hold({"sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"}), as("alice")};
  ASSERT_TRUE(stubborn.lineAfter("ready"));
  stubborn.signal(SIGINT);
  ASSERT_TRUE(stubborn.saysOnStderr("has not ended yet; it is killed ")) << stubborn.errors();
  EXPECT_TRUE(contains(stubborn.errors(), "and by a second one at once\n")) << stubborn.errors();
  stubborn.signal(SIGINT);
  EXPECT_EQ(stubborn.wait(), 128 + SIGKILL) << stubborn.errors();
}

TEST_F(ToldWhileWaiting, nothingOfAJobThatEndedWhenTheStoreKeepsTheCommandWaiting) {
  Subprocess holder{hold({"sh", "-c", "echo ready; exec sleep 60"}), as("alice")};
  ASSERT_TRUE(holder.lineAfter("ready"));
  sqlite3* blocker = nullptr;
  ASSERT_EQ(sqlite3_open(database().c_str(), &blocker), SQLITE_OK);
  sqlite3_busy_timeout(blocker, 5000);
  ASSERT_EQ(sqlite3_exec(blocker, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(blocker);
  holder.signal(SIGTERM);
  EXPECT_FALSE(holder.saysOnStderr("has not ended yet", milliseconds{1500})) << holder.errors();
  EXPECT_TRUE(holder.running()) << "it waits for the release; else this proves nothing";
  EXPECT_EQ(sqlite3_exec(blocker, "ROLLBACK", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(blocker);
  EXPECT_EQ(holder.wait(), 128 + SIGTERM) << holder.errors();
}

/// A command with its own terminal, started like a foreground command of a shell.
class Terminal {
 public:
  explicit Terminal(const std::vector<std::string>& command) {
    std::vector<char*> argv;
    for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    child_ = forkpty(&master_, nullptr, nullptr, nullptr);
    if (child_ == 0) {
      execv(argv[0], argv.data());
      _exit(127);
    }
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() {
    close(master_);
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }

  [[nodiscard]] bool shows(const std::string& text) {
    const auto giveUp = std::chrono::steady_clock::now() + patience;
    while (!contains(shown_, text) && std::chrono::steady_clock::now() < giveUp) {
      pollfd entry{master_, POLLIN, 0};
      char bytes[512];
      if (poll(&entry, 1, 100) <= 0) continue;
      const ssize_t got = read(master_, bytes, sizeof bytes);
      if (got <= 0) break;
      shown_.append(bytes, static_cast<std::size_t>(got));
    }
    return contains(shown_, text);
  }
  void type(char key) const { ASSERT_EQ(write(master_, &key, 1), 1); }
  [[nodiscard]] const std::string& shown() const noexcept { return shown_; }
  [[nodiscard]] int wait() const {
    int status = 0;
    waitpid(child_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  int master_{-1};
  pid_t child_{-1};
  std::string shown_{};
};

/// A job has its own process group, so the terminal stops the job when it reads. That looks like a job that hangs.
TEST_F(ToldWhileWaiting, thatTheTerminalHasStoppedTheJob) {
  constexpr char controlC = '\x03';
  Terminal terminal{hold({"cat"})};
  EXPECT_TRUE(terminal.shows("has been stopped by the terminal, which it cannot read from")) << terminal.shown();
  EXPECT_TRUE(terminal.shows("such as < /dev/null")) << terminal.shown();
  terminal.type(controlC);
  EXPECT_EQ(terminal.wait(), 128 + SIGTERM) << "it is woken to end: " << terminal.shown();
}

}  // namespace
}  // namespace tenure::test
