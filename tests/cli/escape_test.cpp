// Descendants of a job that try to outlive it: whatever they do, none acts when the next term's job does. The judge is
// what they wrote. TENURE_ESCAPES=1000 makes a thousand rounds of the commonest kinds and fifty to a hundred of others.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utility>

#include <gtest/gtest.h>

#include "cli/exit_codes.hpp"
#include "cli/group_fixture.hpp"

namespace tenure::test {
namespace {

namespace fs = std::filesystem;

int longRounds() {
  const char* const text = std::getenv("TENURE_ESCAPES");  // NOLINT(concurrency-mt-unsafe): one thread
  return text != nullptr ? std::atoi(text) : 0;
}

/// How many rounds of a kind: a part of a thousand in the long run.
int roundsOf(int part) { return longRounds() > 0 ? std::max(1, longRounds() / part) : 1; }

class EscapeTest : public GroupFixture {
 protected:
  EscapeTest() {
    configure("  drain_timeout: 400ms\n");
    fs::permissions(directory_.path(), fs::perms::all);
  }

  /// The acts of one job, in a directory of their own.
  [[nodiscard]] std::string newActs() {
    std::string path = directory_.file("acts." + std::to_string(++jobs_));
    fs::create_directory(path);
    fs::permissions(path, fs::perms::all);
    return path;
  }
  struct Acts {
    int processes{0};
    long long first{0}, last{0};
  };
  static Acts actsIn(const std::string& path) {
    Acts out;
    for (const auto& entry : fs::directory_iterator{path}) {
      long long acts[2] = {0, 0};
      std::ifstream file{entry.path(), std::ios::binary};
      if (!file.read(reinterpret_cast<char*>(acts), sizeof acts)) continue;
      ++out.processes;
      if (out.first == 0 || acts[0] < out.first) out.first = acts[0];
      out.last = std::max(out.last, acts[1]);
    }
    return out;
  }
  [[nodiscard]] std::vector<std::string> copy(const std::vector<std::string>& options,
                                              const std::vector<std::string>& job) const {
    std::vector<std::string> out = as_;
    const std::vector<std::string> command = run(options, job);
    out.insert(out.end(), command.begin(), command.end());
    return out;
  }

  /// A job of this kind ends by itself at once; then the next one runs.
  void expectNoneAfterItsEnd(const std::string& kind, std::vector<std::string> job = {DAEMONIZER}, int code = 0) {
    const std::string one = newActs(), two = newActs();
    if (job.size() > 1) job.emplace_back(DAEMONIZER);  // what is started is an argument
    job.insert(job.end(), {kind, one, "5"});
    const Finished first = runToEnd(copy({"--once"}, job), as("alice"));
    ASSERT_EQ(first.code, code) << first.errors;
    const Finished second = runToEnd(copy({"--once"}, {DAEMONIZER, "act", two, "20"}), as("bob"));
    ASSERT_EQ(second.code, 0) << second.errors;
    const bool killed = first.errors.find(" is killed: ") != std::string::npos;  // maybe before its first act
    ASSERT_TRUE(actsIn(one).last > 0 || killed) << "this proves nothing\n" << first.errors;
    EXPECT_LT(actsIn(one).last, actsIn(two).first) << kind << " acts beside the next job\n" << first.errors;
  }

  /// Such a job runs, a standby waits, and then something happens.
  template <class Event>
  void expectNoneBesideTheStandby(const std::string& kind, Event&& event) {
    const std::string one = newActs(), two = newActs();
    Subprocess alice{copy({}, {DAEMONIZER, kind, one, "30000"}), as("alice")};
    ASSERT_TRUE(eventually([&] { return actsIn(one).processes >= 2; })) << alice.errors();
    Subprocess bob{copy({}, {DAEMONIZER, "act", two, "30000"}), as("bob")};
    ASSERT_TRUE(bob.saysOnStderr("the leader is alice (")) << bob.errors();
    event(alice);
    ASSERT_TRUE(eventually([&] { return actsIn(two).first > 0; })) << alice.errors() << bob.errors();
    const long long begun = actsIn(two).first;
    ASSERT_TRUE(eventually([&] { return actsIn(two).last > begun + 30'000'000; }));
    EXPECT_LT(actsIn(one).last, begun) << kind << " acts beside the next job";
    alice.signal(SIGCONT);
    bob.signal(SIGTERM);
    EXPECT_EQ(bob.wait(), cli::exitOk) << bob.errors();
  }

  /// Whether a command does so for the user of the copies.
  [[nodiscard]] bool succeeds(const std::vector<std::string>& command) const {
    std::vector<std::string> whole = as_;
    whole.insert(whole.end(), command.begin(), command.end());
    return runToEnd(whole).code == 0;
  }
  [[nodiscard]] bool mayMakeNamespaces() const {
    const bool isRoot = geteuid() == 0 && as_.empty();
    return succeeds(isRoot ? std::vector<std::string>{"unshare", "--pid", "--fork", "true"}
                           : std::vector<std::string>{"unshare", "--user", "--pid", "--fork", "true"});
  }

  /// A child of the supervisor by the name that the kernel shows.
  static pid_t childOf(pid_t supervisor, const std::string& name) {
    const std::string id = std::to_string(supervisor);
    std::istringstream children{contentOf("/proc/" + id + "/task/" + id + "/children")};
    for (std::string child; children >> child;) {
      if (contentOf("/proc/" + child + "/comm") == name + "\n") return std::stoi(child);
    }
    return -1;
  }
  static void killChild(const Subprocess& supervisor, const std::string& name) {
    const pid_t child = childOf(supervisor.id(), name);
    ASSERT_GT(child, 1) << name;
    kill(child, SIGKILL);
  }

  std::vector<std::string> as_{};  ///< what makes a copy another user's
  int jobs_{0};
};

void terminate(const Subprocess& supervisor) { supervisor.signal(SIGTERM); }
void killIt(const Subprocess& supervisor) { supervisor.signal(SIGKILL); }

/// Where this process may become another user.
class EscapeAsAUserTest : public EscapeTest {
 protected:
  EscapeAsAUserTest() { as_ = {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"}; }
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "this is a user";  // lint-allow(skipped-test): says so
    if (!succeeds({"test", "-x", DAEMONIZER}))
      GTEST_SKIP() << "others may not execute " << DAEMONIZER;  // lint-allow(skipped-test): says so
  }
};

struct Kind {
  const char* name;
  int part;  ///< how many of a thousand rounds the long run makes: one of so many
};

std::string nameOf(const ::testing::TestParamInfo<Kind>& info) {
  std::string out = info.param.name;
  std::erase(out, '-');
  return out;
}

const auto kinds = ::testing::Values(Kind{"double-fork", 1}, Kind{"chain", 10}, Kind{"crowd", 20}, Kind{"clear", 20},
                                     Kind{"closed", 20}, Kind{"undumpable", 20}, Kind{"thread", 20},
                                     Kind{"namespace", 20}, Kind{"clone", 20}, Kind{"stopped", 20});

/// Rounds of one kind, until one is skipped or fails.
template <class Round>
void repeat(int part, Round&& round) {
  for (int i = 0; i < roundsOf(part) && !::testing::Test::HasFailure() && !::testing::Test::IsSkipped(); ++i) round();
}

class EscapeKindTest : public EscapeTest, public ::testing::WithParamInterface<Kind> {
 protected:
  void SetUp() override {
    EscapeTest::SetUp();
    if (GetParam().name == std::string{"namespace"} && !IsSkipped() && !mayMakeNamespaces())
      GTEST_SKIP() << "no namespaces here";  // lint-allow(skipped-test): says so
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, EscapeKindTest, kinds, nameOf);

TEST_P(EscapeKindTest, ActsNoMoreOnceTheJobHasEnded) {
  repeat(GetParam().part, [this] { expectNoneAfterItsEnd(GetParam().name); });
}

TEST_P(EscapeKindTest, ActsNoMoreOnceTheSupervisorIsKilled) {
  repeat(20, [this] { expectNoneBesideTheStandby(GetParam().name, killIt); });
}

class EscapeKindAsAUserTest : public EscapeAsAUserTest, public ::testing::WithParamInterface<Kind> {
 protected:
  void SetUp() override {
    EscapeAsAUserTest::SetUp();
    if (GetParam().name == std::string{"namespace"} && !IsSkipped() && !mayMakeNamespaces())
      GTEST_SKIP() << "no namespaces here";  // lint-allow(skipped-test): says so
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, EscapeKindAsAUserTest, kinds, nameOf);

TEST_P(EscapeKindAsAUserTest, ActsNoMoreOnceTheJobHasEnded) {
  repeat(GetParam().part, [this] { expectNoneAfterItsEnd(GetParam().name); });
}

TEST_P(EscapeKindAsAUserTest, ActsNoMoreOnceTheSupervisorIsKilled) {
  repeat(20, [this] { expectNoneBesideTheStandby(GetParam().name, killIt); });
}

/// A user may execute it and not read it, so the kernel shows nobody its environment.
TEST_F(EscapeAsAUserTest, OfABinaryThatMayNotBeReadEndsWithTheJob) {
  const std::string copy = directory_.file("unreadable");
  fs::copy_file(DAEMONIZER, copy);
  fs::permissions(copy, fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
  repeat(20, [&] { expectNoneAfterItsEnd("double-fork", {copy}); });
}

/// It may not be signalled.
TEST_F(EscapeAsAUserTest, OfAnotherUserIsNamedAndTheLeaseIsHeldUntilItHasEnded) {
  const std::string copy = directory_.file("becomes_root");
  fs::copy_file(DAEMONIZER, copy);
  ASSERT_EQ(chmod(copy.c_str(), 04755), 0);
  struct statvfs system {};
  ASSERT_EQ(statvfs(copy.c_str(), &system), 0);
  if ((system.f_flag & ST_NOSUID) != 0)
    GTEST_SKIP() << "no set-uid programs in " << directory_.path();  // lint-allow(skipped-test): says so
  const std::string one = newActs();
  const Finished run = runToEnd(this->copy({"--once"}, {copy, "another-user", one, "200"}), as("alice"));
  const long long exited = monotonicNow();
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_NE(run.errors.find("runs as another user, so it cannot be ended"), std::string::npos) << run.errors;
  EXPECT_EQ(actsIn(one).processes, 2);
  EXPECT_GT(actsIn(one).last - actsIn(one).first, 1'000'000'000) << "else this proves nothing";
  EXPECT_LT(actsIn(one).last, exited);
}

TEST_F(EscapeTest, PythonsRecipeEndsWithTheJob) {
  const std::string recipe =
      "import os, signal, sys\n"
      "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
      "if os.fork(): os._exit(0)\n"
      "os.setsid()\n"
      "if os.fork(): os._exit(0)\n"
      "os.chdir('/'); os.umask(0o22)\n"
      "for i in (0, 1, 2): os.dup2(os.open('/dev/null', os.O_RDWR), i)\n"
      "os.execv(sys.argv[1], [sys.argv[1], 'stay', sys.argv[3]])\n";
  directory_.write("recipe.py", recipe);
  repeat(1, [&] { expectNoneAfterItsEnd("python", {"python3", "-S", directory_.file("recipe.py")}); });
}

TEST_F(EscapeTest, EndsWhereProcIsThatOfAnotherPidNamespace) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may do that";  // lint-allow(skipped-test): says so
  ASSERT_TRUE(mayMakeNamespaces());
  as_ = {"unshare", "--pid", "--fork", "--kill-child"};
  repeat(20, [this] { expectNoneAfterItsEnd("double-fork"); });
}

TEST_F(EscapeTest, EndsBeforeTheReleaseOfAResignedTerm) {
  repeat(20, [this] { expectNoneBesideTheStandby("double-fork", terminate); });
}

TEST_F(EscapeTest, EndsWithTheTermOfAFrozenSupervisor) {
  repeat(20, [this] {
    expectNoneBesideTheStandby("undumpable",
                               [this](const Subprocess& alice) { ASSERT_TRUE(freezeOutsideOfTransactions(alice)); });
  });
}

TEST_F(EscapeTest, EndsWhenTheGuardWasKilledAndThenTheSupervisor) {
  repeat(20, [this] {
    expectNoneBesideTheStandby("clear", [](const Subprocess& alice) {
      killChild(alice, "tenure-guard");
      alice.signal(SIGKILL);
    });
  });
}

/// There is no guard, and the supervisor cannot replace it: the reaper is left.
TEST_F(EscapeTest, EndsWhenSupervisorAndGuardAreKilledAtOnce) {
  repeat(20, [this] {
    expectNoneBesideTheStandby("closed", [this](const Subprocess& alice) {
      const pid_t guard = childOf(alice.id(), "tenure-guard");
      ASSERT_TRUE(freezeOutsideOfTransactions(alice));
      kill(guard, SIGKILL);
      alice.signal(SIGKILL);
    });
  });
}

/// Nothing is left that judges the time of the job but its reaper: a frozen supervisor replaces no guard.
TEST_F(EscapeTest, EndsWithTheTermOfAFrozenSupervisorWhoseGuardWasKilled) {
  repeat(20, [this] {
    expectNoneBesideTheStandby("double-fork", [this](const Subprocess& alice) {
      ASSERT_TRUE(freezeOutsideOfTransactions(alice));
      killChild(alice, "tenure-guard");
    });
  });
}

TEST_F(EscapeTest, EndsWithTheTermWhenSupervisorAndGuardAreFrozen) {
  repeat(20, [this] {
    expectNoneBesideTheStandby("closed", [this](const Subprocess& alice) {
      const pid_t guard = childOf(alice.id(), "tenure-guard");
      kill(guard, SIGSTOP);
      ASSERT_TRUE(freezeOutsideOfTransactions(alice));
    });
  });
}

/// What the reaper had falls to a supervisor that cannot act.
TEST_F(EscapeTest, EndsWithTheTermOfAFrozenSupervisorWhoseReaperWasKilled) {
  for (const std::string kind : {"thread", "undumpable", "clear", "chain"}) {
    repeat(20, [&] {
      expectNoneBesideTheStandby(kind, [this](const Subprocess& alice) {
        const pid_t reaper = childOf(alice.id(), "tenure-reaper");
        ASSERT_TRUE(freezeOutsideOfTransactions(alice));
        kill(reaper, SIGKILL);
      });
    });
  }
}

TEST_F(EscapeTest, FallsToTheSupervisorWhenTheReaperIsKilled) {
  for (const std::string kind : {"double-fork", "chain", "thread", "undumpable"}) {
    repeat(20, [&] {
      expectNoneBesideTheStandby(kind, [](const Subprocess& alice) { killChild(alice, "tenure-reaper"); });
    });
  }
}

TEST_F(EscapeTest, OfAJobThatKillsItsParentEndsBeforeTheRelease) {
  repeat(20, [this] { expectNoneAfterItsEnd("kill-parent", {DAEMONIZER}, cli::exitFailed); });
}

/// SIGSTOP to the reaper alone.
TEST_F(EscapeTest, EndsAlthoughTheReaperWasStopped) {
  repeat(20, [this] {
    expectNoneBesideTheStandby("double-fork", [](const Subprocess& alice) {
      kill(childOf(alice.id(), "tenure-reaper"), SIGSTOP);
      alice.signal(SIGTERM);
    });
  });
}

}  // namespace
}  // namespace tenure::test
