// `tenure run` as a service: what a manager with a real socket is told, by real processes.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "cli/group_fixture.hpp"
#include "cli/notify_receiver.hpp"
#include "cli/text/exit_codes.hpp"

namespace tenure::test {
namespace {

class ServiceRunTest : public GroupFixture {
 protected:
  [[nodiscard]] SubprocessOptions served(const std::string& name, const std::string& address,
                                         const std::string& watchdog = {}) const {
    SubprocessOptions options = as(name);
    options.environment["NOTIFY_SOCKET"] = address;
    if (!watchdog.empty()) options.environment["WATCHDOG_USEC"] = watchdog;
    return options;
  }
  [[nodiscard]] std::string address(const std::string& name) const { return directory_.file(name + ".notify"); }
};

TEST_F(ServiceRunTest, TellsAllItsStatesAndTheJobKnowsNothingOfIt) {
  configure();
  NotifyReceiver ofAlice{address("alice")};
  NotifyReceiver ofBob{address("bob")};
  const std::string environment = directory_.file("environment");
  Subprocess alice{
      run({}, {"sh", "-c", "env > " + environment + "; trap 'sleep 0.3; exit' TERM; while :; do sleep 0.1; done"}),
      served("alice", address("alice"), "9000000")};
  ASSERT_TRUE(ofAlice.got("STATUS=leading group test-group, token 1")) << ofAlice.text() << alice.errors();
  EXPECT_TRUE(ofAlice.got("READY=1"));
  EXPECT_TRUE(ofAlice.got("WATCHDOG=1"));
  ASSERT_TRUE(eventually([&] { return !contentOf(environment).empty(); }));
  EXPECT_EQ(contentOf(environment).find("NOTIFY_SOCKET"), std::string::npos);
  EXPECT_EQ(contentOf(environment).find("WATCHDOG"), std::string::npos);

  Subprocess bob{run({}, {"sleep", "600"}), served("bob", address("bob"))};
  EXPECT_TRUE(ofBob.got("STATUS=standing by, alice leads")) << ofBob.text() << bob.errors();
  EXPECT_TRUE(ofBob.got("READY=1")) << "a standby is as ready as a leader";

  alice.signal(SIGTERM);
  EXPECT_EQ(alice.wait(), cli::exitOk);
  EXPECT_TRUE(ofAlice.got("STATUS=draining")) << ofAlice.text();
  EXPECT_TRUE(ofAlice.got("STOPPING=1\nEXTEND_TIMEOUT_USEC=6000000"))
      << "drain timeout, lease and 2 s: " << ofAlice.text();
  EXPECT_TRUE(ofBob.got("STATUS=leading group test-group, token 2")) << ofBob.text();
  EXPECT_EQ(ofBob.text().find("WATCHDOG"), std::string::npos) << "nobody asked for it";
  for (const Notification& one : ofAlice.all()) EXPECT_EQ(one.sender, alice.id()) << "NotifyAccess=main";
}

TEST_F(ServiceRunTest, TellsThatItIsInDoubtWhileRenewalsFailAndThatItIsNoMore) {
  directory_.write("group.yaml",
                   "group: test-group\ncandidate: { id: alice }\nstore: { type: sqlite, path: ./leases.db }\n"
                   "lease: { duration: 6s, heartbeat: 300ms }\n");
  NotifyReceiver manager{address("alice")};
  Subprocess alice{run({}, {"sleep", "600"}), served("alice", address("alice"))};
  const std::string leading = "STATUS=leading group test-group, token 1";
  ASSERT_TRUE(manager.got(leading)) << manager.text() << alice.errors();
  sqlite3* blocker = nullptr;
  ASSERT_EQ(sqlite3_open(database().c_str(), &blocker), SQLITE_OK);
  sqlite3_busy_timeout(blocker, 5000);
  ASSERT_EQ(sqlite3_exec(blocker, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(blocker);
  EXPECT_TRUE(manager.got(leading + ", in doubt")) << manager.text() << alice.errors();
  static_cast<void>(sqlite3_close(blocker));  // which rolls back
  EXPECT_TRUE(eventually([&] {
    static_cast<void>(manager.take());
    return manager.text().rfind(leading) != manager.text().rfind(leading + ", in doubt");
  })) << manager.text();
}

TEST_F(ServiceRunTest, JobMayNotifyIfThatIsAskedFor) {
  configure();
  const Finished done = runToEnd(run({"--once", "--notify", "job"}, {"sh", "-c", "echo $NOTIFY_SOCKET $WATCHDOG_USEC"}),
                                 served("alice", "@nobody-listens-here", "7000000"));
  EXPECT_EQ(done.code, 0);
  EXPECT_EQ(done.output, "@nobody-listens-here 7000000\n");
  EXPECT_NE(done.errors.find("cannot be reported to the service manager"), std::string::npos) << done.errors;
  const Finished wrong = finish({"run", "--config", config(), "--notify", "all", "--", "true"});
  EXPECT_EQ(wrong.code, cli::exitUsage);
}

TEST_F(ServiceRunTest, StoreThatIsOutOfServiceIsWaitedForAndOneThatCannotBeIsNoStart) {
  directory_.write("group.yaml", "group: g\nstore: { type: sqlite, path: ./missing/leases.db }\n");
  NotifyReceiver manager{address("alice")};
  Subprocess alice{run({}, {"true"}), served("alice", address("alice"))};
  EXPECT_TRUE(manager.got("READY=1")) << alice.errors();
  EXPECT_TRUE(manager.got("STATUS=waiting for the store")) << manager.text();
  alice.signal(SIGTERM);
  EXPECT_EQ(alice.wait(), cli::exitOk);

  configure();
  directory_.write("leases.db", std::string(4096, 'x'));
  NotifyReceiver other{address("bob")};
  EXPECT_EQ(runToEnd(run({}, {"true"}), served("bob", address("bob"))).code, cli::exitStore);
  static_cast<void>(other.take());
  EXPECT_EQ(other.text().find("READY=1"), std::string::npos) << other.text();
}

pid_t threadNamed(const std::string& name, pid_t process) {
  for (const auto& thread : std::filesystem::directory_iterator{"/proc/" + std::to_string(process) + "/task"}) {
    if (contentOf(thread.path() / "comm") == name + '\n') return std::stoi(thread.path().filename());
  }
  return -1;
}

/// Holds one thread of a child; the others go on.
class HeldThread {
 public:
  explicit HeldThread(pid_t thread)
      : thread_{thread},
        held_{ptrace(PTRACE_SEIZE, thread_, nullptr, nullptr) == 0 &&
              ptrace(PTRACE_INTERRUPT, thread_, nullptr, nullptr) == 0 &&
              waitpid(thread_, nullptr, __WALL) == thread_} {}
  HeldThread(const HeldThread&) = delete;
  HeldThread& operator=(const HeldThread&) = delete;
  ~HeldThread() { ptrace(PTRACE_DETACH, thread_, nullptr, nullptr); }
  [[nodiscard]] bool isHeld() const noexcept { return held_; }

 private:
  pid_t thread_;
  bool held_;
};

TEST_F(ServiceRunTest, WatchdogStarvesWhileTheThreadThatRenewsIsStuck) {
  configure();
  NotifyReceiver manager{address("alice")};
  Subprocess alice{run({}, {"sleep", "600"}), served("alice", address("alice"), "200000")};
  ASSERT_TRUE(manager.got("WATCHDOG=1")) << alice.errors();
  for (const std::string name : {"tenure-renewal", "tenure"}) {
    const pid_t thread = threadNamed(name, alice.id());
    ASSERT_GT(thread, 0) << name;
    {
      const HeldThread held{thread};
      ASSERT_TRUE(held.isHeld()) << name;
      ASSERT_TRUE(alice.running());
      static_cast<void>(manager.take());
      const long long from = monotonicNow();
      std::size_t beats = 0;
      while (monotonicNow() - from < 600'000'000) beats += manager.take().size();
      EXPECT_LE(beats, 1U) << name << ": one may have been on its way";
    }
    const std::size_t before = manager.all().size();
    EXPECT_TRUE(eventually([&] { return static_cast<void>(manager.take()), manager.all().size() > before; })) << name;
  }
}

}  // namespace
}  // namespace tenure::test
