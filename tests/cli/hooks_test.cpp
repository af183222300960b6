// The hooks of a group's file under `tenure run`: when they run, what they find, and that none of them delays anything.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include <gtest/gtest.h>

#include "cli/group_fixture.hpp"
#include "cli/text/exit_codes.hpp"

namespace tenure::test {
namespace {

class HooksTest : public GroupFixture {
 protected:
  /// Each hook first writes its name, token and remaining time; `elected` and so on are what it does besides.
  void configureHooks(const std::string& elected, const std::string& renewed, const std::string& revoked,
                      const std::string& lease = {}, const std::string& timeout = "10s") const {
    const auto hook = [](const std::string& name, const std::string& does) {
      return does.empty() ? ""
                          : "  on_" + name + ": 'echo " + name +
                                " $$TENURE_FENCING_TOKEN $$TENURE_REMAINING_MS >>hooks; " + does + "'\n";
    };
    configure(lease, "hooks:\n" + hook("elected", elected) + hook("renewed", renewed) + hook("revoked", revoked) +
                         "  timeout: " + timeout + "\n");
  }
  [[nodiscard]] std::string hooks() const { return contentOf(directory_.file("hooks")); }
  [[nodiscard]] std::size_t times(const std::string& what) const {
    std::istringstream lines{hooks()};
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line);) count += line.starts_with(what) ? 1U : 0U;
    return count;
  }
};

TEST_F(HooksTest, OneThatEndedInTimeIsNotLateWhereverTheSupervisorWas) {
  configureHooks("while [ ! -e stopped ]; do sleep 0.02; done", "", "", {}, "1s");
  lengthenLease();
  Subprocess alice{run({}, {"sh", "-c", "echo job >>hooks; exec sleep 600"}), as("alice")};
  ASSERT_TRUE(eventually([&] { return times("elected 1 ") == 1; })) << alice.errors();
  alice.signal(SIGSTOP);
  directory_.write("stopped", "");
  std::this_thread::sleep_for(std::chrono::milliseconds{1200});  // lint-allow(sleep): longer than hooks.timeout
  alice.signal(SIGCONT);
  EXPECT_TRUE(eventually([&] { return times("job") == 1; })) << alice.errors();
}

TEST_F(HooksTest, RunInTheOrderOfTheTermAndEndBeforeTheNextBegins) {
  configureHooks("sleep 0.2; echo ready >>hooks", "true", "sleep 0.3; echo undone >>hooks");
  Subprocess alice{run({}, {"sh", "-c", "echo job >>hooks; exec sleep 600"}), as("alice")};
  ASSERT_TRUE(eventually([&] { return times("renewed 1 ") >= 2; })) << hooks() << alice.errors();
  Subprocess bob{run({}, {"sh", "-c", "echo job >>hooks; exec sleep 600"}), as("bob")};
  ASSERT_TRUE(bob.saysOnStderr("the leader is alice ("));
  alice.signal(SIGTERM);
  EXPECT_EQ(alice.wait(), cli::exitOk) << alice.errors();
  ASSERT_TRUE(eventually([&] { return times("job") == 2; })) << hooks() << bob.errors();
  std::vector<std::string> order;
  std::istringstream lines{hooks()};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words{line};
    std::string name, token, left;
    words >> name >> token >> left;
    const std::string what = token.empty() ? name : name + token;
    if (name != "renewed") order.push_back(what);
    const bool isOver = std::count(order.begin(), order.end(), "revoked" + token) != 0;
    EXPECT_FALSE(name == "renewed" && isOver) << hooks();
    if (name != "elected" && name != "renewed") continue;
    EXPECT_GT(std::stoi(left), 500) << line;
    EXPECT_LT(std::stoi(left), 2000) << line << ", which is more than the lease";
  }
  EXPECT_EQ(order,
            (std::vector<std::string>{"elected1", "ready", "job", "revoked1", "undone", "elected2", "ready", "job"}));
}

TEST_F(HooksTest, FindWhatTheJobFindsAndWhenTheTermEnds) {
  configureHooks("env >environment; cat /proc/uptime >uptime", "", "");
  const Finished done = runToEnd(run({"--once"}, {"true"}), as("alice"));
  EXPECT_EQ(done.code, 0) << done.errors;
  const std::string found = contentOf(directory_.file("environment"));
  for (const char* line : {"TENURE_FENCING_TOKEN=1\n", "TENURE_GROUP=test-group\n", "TENURE_CANDIDATE=alice#",
                           "TENURE_LEASE_DURATION=2s\n", "TENURE_CONFIG=", "TENURE_JOB="}) {
    EXPECT_NE(found.find(line), std::string::npos) << line << found;
  }
  const std::string key = "TENURE_VALID_UNTIL_MS=";
  ASSERT_NE(found.find(key), std::string::npos) << found;
  const long long until = std::stoll(found.substr(found.find(key) + key.size()));
  const long long then = std::stoll(contentOf(directory_.file("uptime"))) * 1000;  // whole seconds
  EXPECT_GT(until, then) << "by the clock of /proc/uptime";
  EXPECT_LT(until, then + 3000);
}

TEST_F(HooksTest, TermWhoseOnElectedFailsIsGivenUpWithoutAJob) {
  configureHooks("test $$NAME = bob", "", "true");
  Subprocess alice{run({}, {"sh", "-c", "echo job >>hooks"}), as("alice")};
  EXPECT_TRUE(alice.saysOnStderr("tenure: hook on_elected ended with exit code 1; the job is not started"))
      << alice.errors();
  EXPECT_TRUE(alice.saysOnStderr("gives up leadership, because hook on_elected failed; competes again in 2s"))
      << alice.errors();
  ASSERT_TRUE(eventually([&] { return times("revoked 1 ") == 1; })) << "what was half done is undone";
  EXPECT_EQ(times("job"), 0U);
  EXPECT_EQ(runToEnd(run({"--once"}, {"sh", "-c", "exit 7"}), as("bob")).code, 7) << "another candidate can do it";
  alice.signal(SIGKILL);
  EXPECT_EQ(alice.wait(), 128 + SIGKILL);
  EXPECT_EQ(runToEnd(run({"--once"}, {"true"}), as("carol")).code, cli::exitFailed);
}

TEST_F(HooksTest, OnElectedThatTakesTooLongIsKilledWithAllThatItStarted) {
  configureHooks("trap \"\" TERM; sleep 601 & echo $$! >child; sleep 602", "", "", "", "2s");
  const Finished done = runToEnd(run({"--once"}, {"sh", "-c", "echo job >>hooks"}), as("alice"));
  EXPECT_EQ(done.code, cli::exitFailed) << done.errors;
  EXPECT_NE(done.errors.find("hook on_elected took longer than hooks.timeout; the job is not started"),
            std::string::npos)
      << done.errors;
  EXPECT_EQ(times("job"), 0U);
  const std::string child = contentOf(directory_.file("child"));
  ASSERT_NE(child, "") << "it was killed before it had started anything";
  EXPECT_TRUE(eventually([&] { return kill(std::stoi(child), 0) != 0; }));
}

TEST_F(HooksTest, WhatOnElectedLeavesBehindIsKilledAtOnceAndDoesNotMakeItLate) {
  configureHooks("(trap \"\" TERM; : >ready; exec sleep 600) & echo $$! >child; while ! test -e ready; do :; done", "",
                 "", "  drain_timeout: 30s\n", "8s");
  const Finished done = runToEnd(run({"--once"}, {"sh", "-c", "echo job >>hooks"}), as("alice"));
  EXPECT_EQ(done.code, 0) << done.errors;
  EXPECT_NE(done.errors.find("is killed: its first process has ended"), std::string::npos) << done.errors;
  EXPECT_EQ(times("job"), 1U);
  EXPECT_NE(kill(std::stoi(contentOf(directory_.file("child"))), 0), 0);
}

TEST_F(HooksTest, OnElectedDiesWithItsSupervisorAsAJobDoes) {
  configureHooks("trap \"\" TERM; echo $$$$ >child; while :; do sleep 0.1; done", "", "");
  Subprocess alice{run({}, {"true"}), as("alice")};
  ASSERT_TRUE(eventually([&] { return !contentOf(directory_.file("child")).empty(); })) << alice.errors();
  const Witness hook{std::stoi(contentOf(directory_.file("child")))};
  alice.signal(SIGKILL);
  EXPECT_TRUE(hook.ended()) << "the guard ends it when the term is over";
}

TEST_F(HooksTest, OnRenewedThatHangsDelaysNoRenewalAndIsKilled) {
  configureHooks("", "trap \"\" TERM; echo $$$$ >>children; sleep 600", "", "", "1s");
  Subprocess alice{run({}, actingJob()), as("alice")};
  std::size_t seen = 0;
  ASSERT_TRUE(eventually([&] { return (seen = times("renewed 1 ")) > 0; })) << alice.errors();
  const long long from = monotonicNow();
  EXPECT_TRUE(alice.saysOnStderr("tenure: hook on_renewed was killed after 1s, its time limit (hooks.timeout)"));
  ASSERT_TRUE(eventually([&] { return times("renewed 1 ") >= seen + 3; })) << hooks();
  // Not three seconds: a busy machine may have let the first one write late. Three renewals take 0.9 s.
  EXPECT_GE(monotonicNow() - from, 2'000'000'000) << "renewals in between started none";
  EXPECT_TRUE(goesOn(1)) << "the lease of 2 s was renewed all the time";
  EXPECT_EQ(alice.errors().rfind("was killed after"), alice.errors().find("was killed after")) << "one line is enough";
  alice.signal(SIGTERM);
  EXPECT_EQ(alice.wait(), cli::exitOk) << alice.errors();
  // The last one has perhaps been killed before it wrote its number.
  std::istringstream children{contentOf(directory_.file("children"))};
  int started = 0;
  for (pid_t hook = 0; children >> hook; ++started) {
    EXPECT_TRUE(eventually([&] { return kill(hook, 0) != 0; })) << "hook " << hook << " lives on";
  }
  EXPECT_GE(started, 3);
}

TEST_F(HooksTest, OnRevokedRunsAfterLeadershipWasLost) {
  configureHooks("", "", "true");
  Subprocess alice{run({}, actingJob()), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  Subprocess bob{run({}, actingJob()), as("bob")};
  ASSERT_TRUE(bob.saysOnStderr("the leader is alice ("));
  ASSERT_TRUE(freezeOutsideOfTransactions(alice));
  ASSERT_TRUE(begins(2)) << bob.errors();
  EXPECT_EQ(times("revoked"), 0U);
  alice.signal(SIGCONT);
  EXPECT_TRUE(eventually([&] { return times("revoked 1 0") == 1; })) << hooks() << alice.errors();
}

TEST_F(HooksTest, LeaseIsNotReleasedIfOnRevokedFails) {
  configureHooks("", "", "exit 5", "  drain_timeout: 500ms\n");
  Subprocess alice{run({}, actingJob()), as("alice")};
  ASSERT_TRUE(begins(1)) << alice.errors();
  Subprocess bob{run({}, actingJob()), as("bob")};
  ASSERT_TRUE(bob.saysOnStderr("the leader is alice ("));
  alice.signal(SIGTERM);
  EXPECT_EQ(alice.wait(), cli::exitOk) << alice.errors();
  EXPECT_NE(
      alice.errors().find("tenure: hook on_revoked ended with exit code 5; the lease is not released, it expires"),
      std::string::npos)
      << alice.errors();
  ASSERT_TRUE(begins(2)) << bob.errors();
  EXPECT_GT(firstAct(2) - lastAct(1), 1'000'000'000) << "bob has waited for the end of the lease";
}

TEST_F(HooksTest, SecondSignalKillsOnRevokedToo) {
  configureHooks("", "", "trap \"\" TERM; echo $$$$ >child; sleep 600", "  drain_timeout: 500ms\n", "1h");
  Subprocess alice{run({}, {"sleep", "600"}), as("alice")};
  ASSERT_TRUE(alice.saysOnStderr("the job starts as process")) << alice.errors();
  alice.signal(SIGTERM);
  ASSERT_TRUE(eventually([&] { return !contentOf(directory_.file("child")).empty(); })) << alice.errors();
  const Witness hook{std::stoi(contentOf(directory_.file("child")))};
  alice.signal(SIGQUIT);
  EXPECT_TRUE(hook.ended());
  EXPECT_EQ(alice.wait(), cli::exitOk) << alice.errors();
}

TEST_F(HooksTest, LocksRunNoHooksOfTheFile) {
  configureHooks("true", "true", "true");
  const Finished done = finish({"lock", "hold", "k", "--config", config(), "--", "true"});
  EXPECT_EQ(done.code, 0) << done.errors;
  EXPECT_EQ(hooks(), "");
}

/// A group may be one that is only watched, or has other leases than one, or asks its leader for progress. The file may
/// also be named by TENURE_CONFIG, which `tenure run` sets for its job.
TEST_F(HooksTest, LocksTakeNothingElseOfTheFileEither) {
  const std::string text =
      "group: test-group\nstore: { type: sqlite, path: ./leases.db }\ncandidate: { id: alice, mode: ";
  for (const std::string rest :
       {"observe }\nlease: { duration: 1s }\n", "compete }\nlease: { duration: 1s }\nshards: { count: 4 }\n",
        "compete }\nlease: { duration: 1s, progress_timeout: 500ms, probe: 'true' }\n"}) {
    directory_.write("group.yaml", text + rest);
    SubprocessOptions options = as("alice");
    options.environment["TENURE_CONFIG"] = config();
    const Finished done = runToEnd(tenure({"lock", "hold", "k", "--", "sleep", "2"}), options);
    EXPECT_EQ(done.code, 0) << rest << done.errors;
  }
}

/// A copy is ready while the file `ready.NAME` is there.
class ReadyTest : public GroupFixture {
 protected:
  void configureReady(const std::string& onUnready = "keep") const {
    directory_.write("group.yaml",
                     "group: test-group\nstore: { type: sqlite, path: ./leases.db }\n"
                     "lease: { duration: 2s, heartbeat: 300ms }\n"
                     "candidate: { id: \"${NAME}\", ready: 'test -e ready.${NAME}', ready_every: 100ms, on_unready: " +
                         onUnready + " }\n");
  }
  void setReady(const std::string& name, bool ready) const {
    const std::string file = directory_.file("ready." + name);
    ready ? static_cast<void>(std::ofstream{file}) : static_cast<void>(std::filesystem::remove(file));
  }
};

TEST_F(ReadyTest, WhoIsNotReadyWatchesAndWhoIsReadyLeads) {
  configureReady();
  Subprocess alice{run({}, {"sleep", "600"}), as("alice")};
  ASSERT_TRUE(alice.saysOnStderr("is not ready: "));
  setReady("bob", true);
  Subprocess bob{run({}, {"sleep", "600"}), as("bob")};
  ASSERT_TRUE(bob.saysOnStderr("elected with fencing token 1"));
  ASSERT_TRUE(alice.saysOnStderr("the leader is bob ("));
  setReady("alice", true);
  ASSERT_TRUE(alice.saysOnStderr("is ready"));
  bob.signal(SIGTERM);
  EXPECT_EQ(bob.wait(), cli::exitOk) << bob.errors();
  EXPECT_TRUE(alice.saysOnStderr("elected with fencing token 2"));
}

TEST_F(ReadyTest, ALeaderThatTurnsUnreadyStepsDownIfTheFileSaysSo) {
  configureReady("step_down");
  setReady("alice", true);
  Subprocess alice{run({}, {"sleep", "600"}), as("alice")};
  ASSERT_TRUE(alice.saysOnStderr("elected with fencing token 1"));
  setReady("bob", true);
  Subprocess bob{run({}, {"sleep", "600"}), as("bob")};
  ASSERT_TRUE(bob.saysOnStderr("the leader is alice ("));
  setReady("alice", false);
  ASSERT_TRUE(alice.saysOnStderr("revoked (steppedDown: not ready: hook candidate.ready"));
  EXPECT_TRUE(bob.saysOnStderr("elected with fencing token 2"));
}

TEST_F(ReadyTest, ALeaderThatTurnsUnreadyLeadsOnByDefault) {
  configureReady();
  setReady("alice", true);
  Subprocess alice{run({}, {"sleep", "600"}), as("alice")};
  ASSERT_TRUE(alice.saysOnStderr("elected with fencing token 1"));
  setReady("alice", false);
  ASSERT_TRUE(alice.saysOnStderr("is not ready: "));
  EXPECT_FALSE(alice.saysOnStderr("revoked (", std::chrono::seconds{3})) << "three quarters more than a lease";
}

TEST_F(ReadyTest, AWaitThatEndsSaysThatTheCopyWasNotReady) {
  configureReady();
  const Finished done = runToEnd(run({"--once", "--wait", "3s"}, {"true"}), as("alice"));
  EXPECT_EQ(done.code, cli::exitBusy);
  EXPECT_NE(done.errors.find("this copy is not ready (candidate.ready)"), std::string::npos) << done.errors;
}

/// The probe of NAME writes to disk.NAME/probe, or is the given command.
class ProbeTest : public GroupFixture {
 protected:
  static constexpr milliseconds progressTimeout{1500}, every{200}, limit{500}, lease{2000};
  void SetUp() override {
    for (const char* name : {"alice", "bob"}) std::filesystem::create_directory(directory_.file(disk(name)));
  }
  [[nodiscard]] static std::string disk(const std::string& name) { return "disk." + name; }
  void configureProbe(const std::string& probe = "probe_write: \"disk.${NAME}/probe\"") const {
    configure("  progress_timeout: 1500ms\n  probe_every: 200ms\n  probe_timeout: 500ms\n  " + probe + "\n");
  }
  [[nodiscard]] auto leading(const std::string& name, int token) const {
    auto out = std::make_unique<Subprocess>(run({}, {"sleep", "600"}), as(name));
    EXPECT_TRUE(out->saysOnStderr("elected with fencing token " + std::to_string(token))) << out->errors();
    return out;
  }
  [[nodiscard]] auto following(const std::string& name, const std::string& leader) const {
    auto out = std::make_unique<Subprocess>(run({}, {"sleep", "600"}), as(name));
    EXPECT_TRUE(out->saysOnStderr("the leader is " + leader + " (")) << out->errors();
    return out;
  }
  /// From now until the next one is elected.
  static void expectSuccession(Subprocess& next) {
    const auto from = std::chrono::steady_clock::now();
    ASSERT_TRUE(next.saysOnStderr("elected with fencing token 2")) << next.errors();
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - from);
    RecordProperty("succeeded_after_ms", static_cast<int>(took.count()));
    EXPECT_LE(took, progressTimeout + every + limit + lease);
  }
};

TEST_F(ProbeTest, AWriteThatSucceedsKeepsTheLeaseAndTheJobReportsNothing) {
  configureProbe();
  Subprocess alice{run({}, {"sh", "-c", "echo fd: $TENURE_PROGRESS_FD.; exec sleep 600"}), as("alice")};
  ASSERT_EQ(alice.lineAfter("fd: "), ".");
  EXPECT_FALSE(alice.saysOnStderr("revoked (", std::chrono::seconds{4})) << alice.errors();
  const std::filesystem::path file = directory_.file("disk.alice/probe");
  EXPECT_TRUE(contentOf(file.string()).starts_with("tenure probe ")) << contentOf(file.string());
  EXPECT_EQ(std::filesystem::status(file).permissions(), std::filesystem::perms{0600});
}

/// I2: what a run that hangs would have shown is not known, whatever the job does.
TEST_F(ProbeTest, ACommandThatHangsCostsTheLeaseWithinItsBound) {
  configureProbe("probe: 'test ! -e stalled.$${NAME} || exec sleep 600'");
  const auto alice = leading("alice", 1);
  const auto bob = following("bob", "alice");
  std::ofstream{directory_.file("stalled.alice")};
  expectSuccession(*bob);
  EXPECT_TRUE(alice->saysOnStderr("lease.probe was killed after 500ms, its time limit (lease.probe_timeout)"));
  EXPECT_TRUE(alice->saysOnStderr("revoked (expired: the work has reported no progress for 1500 ms"));
}

TEST_F(ProbeTest, AFileThatIsNoProbesIsNeverWritten) {
  const std::string theirs = directory_.file("theirs");
  std::ofstream{theirs} << "tenure prob";
  configureProbe();
  for (const auto& [file, why] :
       std::map<std::string, std::string>{{"/dev/full", "it is a symbolic link; name the file itself"},
                                          {theirs, "it is a symbolic link; name the file itself"},
                                          {"", "it is there, and the probe did not write it; name another file"}}) {
    const std::string probe = directory_.file("disk.alice/probe");
    std::filesystem::remove(probe);
    file.empty() ? std::filesystem::copy(theirs, probe) : std::filesystem::create_symlink(file, probe);
    const Finished check = runToEnd(tenure({"check", config()}), as("alice"));
    EXPECT_NE(check.errors.find("cannot be used here: lease.probe_write: " + probe + ": " + why), std::string::npos)
        << check.errors;
    Subprocess alice{run({"--once"}, {"sleep", "600"}), as("alice")};
    EXPECT_TRUE(alice.saysOnStderr("lease.probe cannot write " + probe + ": " + why)) << alice.errors();
    EXPECT_EQ(alice.wait(), cli::exitLost) << alice.errors();
    EXPECT_EQ(contentOf(theirs), "tenure prob");
  }
}

/// A probe is no part of the job: its end is not waited for.
TEST_F(ProbeTest, AProbeThatHangsKeepsNoTermOpen) {
  configureProbe("probe: 'trap : TERM; touch hangs; while :; do sleep 0.1; done'");
  lengthenLease();
  const auto alice = leading("alice", 1);
  const auto bob = following("bob", "alice");
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(directory_.file("hangs")); }));
  alice->signal(SIGTERM);
  EXPECT_TRUE(bob->saysOnStderr("elected with fencing token 2")) << "long before the lease of a minute is over";
  EXPECT_EQ(alice->wait(), cli::exitOk) << alice->errors();
}

/// A file system that was frozen: who writes to it hangs in the kernel, and no signal ends that.
class FrozenDisk {
 public:
  explicit FrozenDisk(std::string at) : at_{std::move(at)} {
    const std::string image = at_ + ".image";
    works_ = does("truncate -s 8M " + image + " && mkfs.ext4 -q " + image + " && mount -o loop " + image + ' ' + at_);
  }
  FrozenDisk(const FrozenDisk&) = delete;
  FrozenDisk& operator=(const FrozenDisk&) = delete;
  ~FrozenDisk() {
    if (frozen_) thaw();
    if (works_) does("umount -l " + at_);
  }
  [[nodiscard]] bool works() const noexcept { return works_; }
  [[nodiscard]] bool freeze() { return frozen_ = does("fsfreeze -f " + at_); }
  void thaw() {
    does("fsfreeze -u " + at_);
    frozen_ = false;
  }

 private:
  static bool does(const std::string& command) {
    return runToEnd({"sh", "-c", "exec 2>&1; PATH=$PATH:/usr/sbin:/sbin; " + command}).code == 0;
  }
  const std::string at_;
  bool works_{false};
  bool frozen_{false};
};

TEST_F(ProbeTest, ADiskThatStallsIsSucceededWithinItsBoundAndHoldsUpNothing) {
  FrozenDisk disk{directory_.file("disk.alice")};
  if (!disk.works()) GTEST_SKIP() << "no loop device with ext4 here";  // lint-allow(skipped-test): says so
  configureProbe();
  const auto alice = leading("alice", 1);
  const auto bob = following("bob", "alice");
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(directory_.file("disk.alice/probe")); }));
  ASSERT_TRUE(disk.freeze());
  expectSuccession(*bob);
  EXPECT_TRUE(alice->saysOnStderr("the leader is bob ("));
  const auto from = std::chrono::steady_clock::now();
  alice->signal(SIGTERM);
  EXPECT_EQ(alice->wait(), cli::exitOk) << alice->errors();
  EXPECT_LT(std::chrono::steady_clock::now() - from, std::chrono::seconds{10}) << "the disk still stalls";
  disk.thaw();
}

/// It undoes what the job did, and half of that may be worse than nothing. It is told to stop, but it may go on for as
/// long as its time limit is.
TEST_F(HooksTest, OnRevokedMayEndItsWorkWhenItsSupervisorHasCrashed) {
  configureHooks("", "", "trap \"\" TERM; echo shielded >>hooks; sleep 3; echo undone >>hooks", {}, "20s");
  Subprocess alice{run({}, {"sh", "-c", "echo works >>hooks; exec sleep 600"}), as("alice")};
  ASSERT_TRUE(eventually([&] { return times("works") == 1; })) << alice.errors();
  alice.signal(SIGTERM);
  ASSERT_TRUE(eventually([&] { return times("shielded") == 1; })) << hooks() << alice.errors();
  alice.signal(SIGKILL);
  EXPECT_TRUE(eventually([&] { return times("undone") == 1; })) << hooks();
}

}  // namespace
}  // namespace tenure::test
