// Jobs of copies whose cgroup was delegated to them, as systemd does it: real cgroups, made below this process's own.
#include <fcntl.h>
#include <optional>
#include <set>
#include <sys/file.h>
#include <sys/xattr.h>

#include "cli/escape_fixture.hpp"

namespace tenure::test {
namespace {

/// Where cgroups may be made; empty: nowhere.
std::string ownCgroup() {
  std::ifstream mounts{"/proc/self/mountinfo"}, cgroups{"/proc/self/cgroup"};
  std::string point, path;
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words{line};
    std::string id, parent, device, root, mount;
    if (words >> id >> parent >> device >> root >> mount && line.find(" - cgroup2 ") != std::string::npos &&
        root == "/")
      point = mount;
  }
  for (std::string line; std::getline(cgroups, line);) {
    if (line.starts_with("0::")) path = line.substr(3);
  }
  if (point.empty() || path.empty()) return {};
  return path == "/" ? point : point + path;
}

/// In the place of a kernel without clone3, or of a container's filter.
constexpr const char* refusesClone3 =
    "import ctypes, os, platform, struct, sys\n"
    "libc = ctypes.CDLL(None)\n"
    "steps = [(0x20, 0, 0, 0), (0x15, 0, 1, 435), (6, 0, 0, 0x50000 | 38), (6, 0, 0, 0x7fff0000)]\n"
    "code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *step) for step in steps))\n"
    "program = ctypes.create_string_buffer(struct.pack('HxxxxxxP', len(steps), ctypes.addressof(code)))\n"
    "if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program): sys.exit('no filter')\n"
    "os.execvp(sys.argv[1], sys.argv[1:])\n";

class JobCgroupTest : public EscapeTest {
 protected:
  void SetUp() override {
    const std::string own = ownCgroup();
    cgroup_ = own + "/tenure-test." + std::to_string(getpid());
    const bool made = !own.empty() && mkdir(cgroup_.c_str(), 0755) == 0;
    if (!made) GTEST_SKIP() << "no cgroup can be made in " << own;  // lint-allow(skipped-test): says so
    const bool usable =
        fs::exists(cgroup_ + "/cgroup.kill") && setxattr(cgroup_.c_str(), "user.delegate", "1", 1, 0) == 0;
    if (!usable) GTEST_SKIP() << "this kernel has no cgroup.kill";  // lint-allow(skipped-test): says so
    as_ = {"sh", "-c", "echo $$ >" + cgroup_ + "/cgroup.procs && exec \"$@\"", "sh"};
  }
  ~JobCgroupTest() override {
    if (!fs::exists(cgroup_)) return;
    std::ofstream{cgroup_ + "/cgroup.kill"} << 1;
    EXPECT_TRUE(eventually([this] { return contentOf(cgroup_ + "/cgroup.events").starts_with("populated 0"); }));
    for (const std::string& left : leftHere()) removeBelow(left);
    EXPECT_EQ(rmdir(cgroup_.c_str()), 0);
  }

  static void removeBelow(const std::string& path) {
    for (const auto& entry : fs::directory_iterator{path}) {
      if (entry.is_directory()) removeBelow(entry.path());
    }
    rmdir(path.c_str());
  }
  [[nodiscard]] std::set<std::string> leftHere() const {
    std::set<std::string> out;
    for (const auto& entry : fs::directory_iterator{cgroup_}) {
      if (entry.is_directory()) out.insert(entry.path());
    }
    return out;
  }
  [[nodiscard]] std::string newCgroup(const std::string& name) const {
    std::string path = cgroup_ + '/' + name;
    fs::create_directory(path);
    return path;
  }
  void becomeUser() {
    for (const char* file : {"", "/cgroup.procs", "/cgroup.subtree_control", "/cgroup.threads"})
      ASSERT_EQ(chown((cgroup_ + file).c_str(), 65534, 65534), 0);
    for (const char* word : {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"}) as_.emplace_back(word);
    if (!succeeds({"test", "-x", DAEMONIZER}))
      GTEST_SKIP() << "others may not execute " << DAEMONIZER;  // lint-allow(skipped-test): says so
  }
  [[nodiscard]] std::string cgroupOfJob() const {
    const Finished run = runToEnd(copy({"--once"}, {"sh", "-c", "exec tail -n 1 /proc/self/cgroup"}), as("alice"));
    EXPECT_EQ(run.code, 0) << run.errors;
    return run.output;
  }
  [[nodiscard]] std::string doctorsWord() const {
    std::vector<std::string> words = as_;
    for (const std::string& word : tenure({"doctor", "--config", config(), "--json"})) words.push_back(word);
    const std::string out = runToEnd(words, as("alice")).output;
    const std::size_t at = out.find("\"limits.job_cgroup\"");
    return at == std::string::npos ? out : out.substr(at, out.find('}', at) - at);
  }

  std::string cgroup_;
};

TEST_F(JobCgroupTest, EachJobHasOneAndNothingIsLeftAfterAHundred) {
  std::set<std::string> seen;
  for (int i = 0; i < 100 && !HasFailure(); ++i) seen.insert(cgroupOfJob());
  EXPECT_EQ(seen.size(), 100U);
  EXPECT_NE(seen.begin()->find("/tenure-job."), std::string::npos) << *seen.begin();
  EXPECT_TRUE(leftHere().empty()) << *leftHere().begin();
}

TEST_F(JobCgroupTest, ASetUidDescendantEndsWithTheJob) {
  becomeUser();
  if (IsSkipped()) return;
  const std::string copy = setUidDaemonizer(), one = newActs();
  if (copy.empty()) GTEST_SKIP() << "no set-uid programs here";  // lint-allow(skipped-test): says so
  const Finished run = runToEnd(this->copy({"--once"}, {copy, "another-user", one, "200"}), as("alice"));
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_EQ(run.errors.find("runs as another user"), std::string::npos) << run.errors;
  EXPECT_EQ(actsIn(one).processes, 2);
  EXPECT_LT(actsIn(one).last - actsIn(one).first, 1'000'000'000) << "it has ended by itself";
  EXPECT_TRUE(leftHere().empty());
}

/// cgroup.kill does not end it either, so all is as without a cgroup.
TEST_F(JobCgroupTest, ASetUidDescendantWhoseFirstThreadHasEndedIsNamedAndWaitedFor) {
  becomeUser();
  if (IsSkipped()) return;
  const std::string copy = setUidDaemonizer(), one = newActs();
  if (copy.empty()) GTEST_SKIP() << "no set-uid programs here";  // lint-allow(skipped-test): says so
  const Finished run = runToEnd(this->copy({"--once"}, {copy, "another-users-thread", one, "200"}), as("alice"));
  const long long exited = monotonicNow();
  EXPECT_EQ(run.code, 0) << run.errors;
  const bool stayed = actsIn(one).last - actsIn(one).first > 1'000'000'000;  // a later kernel may end it
  EXPECT_EQ(run.errors.find("runs as another user") != std::string::npos, stayed) << run.errors;
  EXPECT_LT(actsIn(one).last, exited);
  EXPECT_TRUE(leftHere().empty());
}

/// /proc tells the guard nothing of these, and the guard is all that is left.
TEST_F(JobCgroupTest, EndsWhenSupervisorAndReaperAreKilledAtOnce) {
  for (const std::string kind : {"clear", "thread", "crowd", "chain"}) {
    repeat(20, [&] {
      expectNoneBesideTheStandby(kind, [this](const Subprocess& alice) {
        const pid_t reaper = childOf(alice.id(), "tenure-reaper");
        ASSERT_TRUE(freezeOutsideOfTransactions(alice));
        kill(reaper, SIGKILL);
        alice.signal(SIGKILL);
      });
    });
    EXPECT_TRUE(eventually([this] { return leftHere().empty(); })) << kind;
  }
}

/// The reaper ends the job and removes nothing; the next start does.
TEST_F(JobCgroupTest, WhatAKilledSupervisorLeftBehindIsRemovedByTheNext) {
  expectNoneBesideTheStandby("closed", [this](const Subprocess& alice) {
    const pid_t guard = childOf(alice.id(), "tenure-guard");
    ASSERT_TRUE(freezeOutsideOfTransactions(alice));
    kill(guard, SIGKILL);
    alice.signal(SIGKILL);
  });
  const std::string nested = newCgroup("tenure-job.abandoned") + "/below";
  fs::create_directory(nested);
  const std::string used = newCgroup("tenure-job.used"), strangers = newCgroup("others");
  const int lock = open(used.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  const std::string peopled = newCgroup("tenure-job.peopled");
  const Subprocess stranger{{"sleep", "60"}};
  std::ofstream{peopled + "/cgroup.procs"} << std::to_string(stranger.id());
  static_cast<void>(cgroupOfJob());
  EXPECT_EQ(leftHere(), (std::set<std::string>{used, strangers, peopled}));
  close(lock);
}

/// A container's runtime moves processes; the reaper does not lose them.
TEST_F(JobCgroupTest, AJobThatLeavesItEndsAllTheSame) {
  const std::string leave = "echo $$ >" + cgroup_ + "/cgroup.procs && exec \"$@\"";
  expectNoneAfterItsEnd("double-fork", {"sh", "-c", leave, "sh"});
  EXPECT_TRUE(leftHere().empty());
}

TEST_F(JobCgroupTest, CgroupsThatTheJobMakesInItEndWithIt) {
  const std::string nest = "own=" + cgroup_ + "/$(sed -n 's,^0::.*/,,p' /proc/self/cgroup)\n" +
                           "mkdir -p $own/a/b && echo $$ >$own/a/b/cgroup.procs && exec \"$@\"";
  expectNoneAfterItsEnd("double-fork", {"sh", "-c", nest, "sh"});
  EXPECT_TRUE(leftHere().empty());
}

/// It is no descendant, so ECHILD says nothing of it.
TEST_F(JobCgroupTest, AProcessThatWasPutIntoItEndsBeforeTheRelease) {
  Subprocess alice{copy({"--once"}, {"sh", "-c", "while [ ! -e go ]; do sleep 0.02; done"}), as("alice")};
  ASSERT_TRUE(eventually([this] { return leftHere().size() == 1; })) << alice.errors();
  ASSERT_TRUE(alice.saysOnStderr("the job starts"));
  Subprocess stranger{{"sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 0.01; done"}};
  ASSERT_TRUE(stranger.lineAfter("deaf").has_value());
  std::ofstream{*leftHere().begin() + "/cgroup.procs"} << std::to_string(stranger.id());
  directory_.write("go", "");
  EXPECT_EQ(alice.wait(), 0) << alice.errors();
  EXPECT_EQ(stranger.wait(milliseconds{0}), 128 + SIGKILL);
  EXPECT_NE(alice.errors().find(" is killed: its time is over"), std::string::npos) << alice.errors();
  EXPECT_TRUE(leftHere().empty());
}

TEST_F(JobCgroupTest, WhereClone3IsRefusedTheJobEntersIt) {
  directory_.write("refuse.py", refusesClone3);
  for (const std::string& word : {std::string{"python3"}, std::string{"-S"}, directory_.file("refuse.py")})
    as_.push_back(word);
  becomeUser();
  if (IsSkipped()) return;
  EXPECT_NE(doctorsWord().find("Each job gets a cgroup"), std::string::npos) << doctorsWord();
  EXPECT_NE(cgroupOfJob().find("/tenure-job."), std::string::npos);
  expectNoneAfterItsEnd("double-fork");
  expectNoneBesideTheStandby("closed", killIt);
  EXPECT_TRUE(eventually([this] { return leftHere().empty(); }));
}

/// Below a cgroup that has threads of its own no further one takes processes.
TEST_F(JobCgroupTest, AKernelThatLetsNothingInLeavesTheReaperAlone) {
  std::ofstream{newCgroup("threads") + "/cgroup.type"} << "threaded";
  EXPECT_NE(doctorsWord().find("A job gets no cgroup (no process may enter it: Operation not supported)"),
            std::string::npos)
      << doctorsWord();
  EXPECT_EQ(cgroupOfJob().find("tenure-job"), std::string::npos);
  expectNoneAfterItsEnd("double-fork");
  expectNoneBesideTheStandby("closed", killIt);
  EXPECT_EQ(leftHere(), (std::set<std::string>{cgroup_ + "/threads"}));
}

TEST_F(JobCgroupTest, TheDoctorSaysWhetherThereIsOneAndWhyNot) {
  EXPECT_NE(doctorsWord().find("Each job gets a cgroup"), std::string::npos) << doctorsWord();
  EXPECT_TRUE(leftHere().empty());
  const std::vector<std::string> into = as_;
  const auto unshared = [&](const std::string& first) {
    as_ = into;
    for (const std::string& word : {std::string{"unshare"}, std::string{"--mount"}, std::string{"--cgroup"},
                                    std::string{"sh"}, std::string{"-c"}, first + " && exec \"$@\"", std::string{"sh"}})
      as_.push_back(word);
    return doctorsWord();
  };
  ASSERT_EQ(removexattr(cgroup_.c_str(), "user.delegate"), 0);
  EXPECT_NE(doctorsWord().find("(" + cgroup_ + " is not delegated to it)"), std::string::npos) << doctorsWord();
  const std::string place = directory_.file("mounted");
  fs::create_directory(place);
  EXPECT_NE(unshared("mount -t cgroup2 none " + place).find("Each job gets a cgroup"), std::string::npos);
  EXPECT_NE(unshared("mount -t cgroup2 -o ro none " + place).find("Read-only file system"), std::string::npos);
  // A mount from outside of the namespace: its root is not this cgroup.
  EXPECT_NE(unshared("true").find("no cgroup2 is mounted that has this process"), std::string::npos);
  EXPECT_TRUE(leftHere().empty());
}

}  // namespace
}  // namespace tenure::test
