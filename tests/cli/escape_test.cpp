// Descendants of a job that try to outlive it: whatever they do, none acts when the next term's job does. The judge is
// what they wrote. TENURE_ESCAPES=1000 makes a thousand rounds of the commonest kinds and fifty to a hundred of others.
#include <string>

#include "cli/escape_fixture.hpp"
#include "support/slowness.hpp"

namespace tenure::test {
namespace {

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

template <class Fixture>
class OfKind : public Fixture, public ::testing::WithParamInterface<Kind> {
 protected:
  void SetUp() override {
    Fixture::SetUp();
    if (GetParam().name == std::string{"namespace"} && !this->IsSkipped() && !this->mayMakeNamespaces())
      GTEST_SKIP() << "no namespaces here";  // lint-allow(skipped-test): says so
  }
};

class EscapeKindTest : public OfKind<EscapeTest> {};
INSTANTIATE_TEST_SUITE_P(Kinds, EscapeKindTest, kinds, nameOf);

TEST_P(EscapeKindTest, ActsNoMoreOnceTheJobHasEnded) {
  repeat(GetParam().part, [this] { expectNoneAfterItsEnd(GetParam().name); });
}

TEST_P(EscapeKindTest, ActsNoMoreOnceTheSupervisorIsKilled) {
  repeat(20, [this] { expectNoneBesideTheStandby(GetParam().name, killIt); });
}

class EscapeKindAsAUserTest : public OfKind<EscapeAsAUserTest> {};
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
  const std::string copy = setUidDaemonizer();
  if (copy.empty())
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

/// The kernel's part of a wait for such a job spins until its last thread has gone on, which a reaper in the real-time
/// class may have displaced. Two of the ends may be late on a busy machine; without the right to that class, none is.
TEST_F(EscapeTest, TheEndOfAJobOfManyThreadsIsSeenAtOnce) {
  int late = 0;
  for (int i = 0; i < 12; ++i) {
    const std::string one = newActs();
    Subprocess alice{copy({}, {DAEMONIZER, "threads", one, "30000"}), as("alice")};
    ASSERT_TRUE(eventually([&] { return actsIn(one).processes == 1; })) << alice.errors();
    const long long begun = monotonicNow();
    alice.signal(SIGTERM);
    EXPECT_EQ(alice.wait(), cli::exitOk) << alice.errors();
    if (monotonicNow() - begun > slowness * 700'000'000LL) ++late;
  }
  EXPECT_LE(late, 2) << "of 12";
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
