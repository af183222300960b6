// A supervisor is killed, and its guard says so in the store: the next job begins as soon as nothing of the last one is
// left, and where that is not proven, when the lease has ended. The judge is what every descendant wrote. The store is
// the server beside which this runs, or SQLite without liveness files. TENURE_CRASHES=200 makes 200 crashes in a row.
#include <iostream>
#include <memory>

#include "cli/escape_fixture.hpp"

#ifdef CRASH_POSTGRESQL
#include <libpq-fe.h>
#endif

namespace tenure::test {
namespace {

std::string variable(const char* name) {
  const char* const text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  return text != nullptr ? text : "";
}

#ifdef CRASH_POSTGRESQL
void sqlAsOwner(const std::string& text) {
  const std::unique_ptr<PGconn, decltype(&PQfinish)> connection{PQconnectdb(variable("TENURE_TEST_POSTGRESQL").c_str()),
                                                                &PQfinish};
  const std::unique_ptr<PGresult, decltype(&PQclear)> result{PQexec(connection.get(), text.c_str()), &PQclear};
  ASSERT_EQ(PQresultStatus(result.get()), PGRES_COMMAND_OK) << PQerrorMessage(connection.get());
}
#endif

class CrashTest : public EscapeTest {
 protected:
  CrashTest() {
    name_ = "crash_" + std::to_string(getpid());
#ifdef CRASH_POSTGRESQL
    sqlAsOwner("CREATE SCHEMA IF NOT EXISTS " + name_);
#endif
    configureStore("10s");
  }
#ifdef CRASH_POSTGRESQL
  ~CrashTest() override { sqlAsOwner("DROP SCHEMA " + name_ + " CASCADE"); }
#endif

  void configureStore(const std::string& lease, const std::string& others = {}, const std::string& store = {}) const {
    std::string section = "type: sqlite, path: ./leases.db";
#ifdef CRASH_POSTGRESQL
    section = "type: postgresql, connection: \"" + variable("TENURE_TEST_POSTGRESQL") + "\", schema: " + name_;
#elif defined(CRASH_ETCD)
    section = "type: etcd, endpoints: [\"" + variable("TENURE_TEST_ETCD") + "\"], prefix: /" + name_;
#endif
    directory_.write("group.yaml", "group: crash-test\ncandidate: { id: \"${NAME}\" }\nstore: { " + section + store +
                                       " }\nlease: { duration: " + lease +
                                       ", heartbeat: 300ms, drain_timeout: 400ms }\n" + others);
  }

  struct Candidate {
    std::string acts;
    std::unique_ptr<Subprocess> process;
  };
  Candidate start(const std::string& kind) {
    Candidate out{newActs(), nullptr};
    const std::string name = "c" + std::to_string(++started_);
    out.process = std::make_unique<Subprocess>(copy({}, {DAEMONIZER, kind, out.acts, "30000"}), as(name));
    return out;
  }
  Candidate startLeader(const std::string& kind) {
    Candidate out = start(kind);
    EXPECT_TRUE(leads(out, kind == "act" ? 1 : 2)) << out.process->errors();
    removeLivenessFiles();
    return out;
  }
  Candidate startStandby(const std::string& kind) {
    Candidate out = start(kind);
    EXPECT_TRUE(out.process->saysOnStderr("the leader is ")) << out.process->errors();
    return out;
  }
  static bool leads(const Candidate& candidate, int processes) {
    return eventually([&] { return actsIn(candidate.acts).processes >= processes; });
  }
  /// Then nobody has the kernel's proof, as over any store with a server.
  void removeLivenessFiles() const {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator{directory_.file(".leases.db.tenure"), none}) {
      if (entry.path().filename().native().starts_with("beacon-")) fs::remove(entry.path());
    }
  }

  /// Milliseconds from the last act of the one to the first of the other, which has none while the one acts.
  static double gap(const Candidate& last, const Candidate& next) {
    EXPECT_TRUE(eventually([&] { return actsIn(next.acts).first > 0; }))
        << last.process->errors() << next.process->errors();
    const long long begun = actsIn(next.acts).first;
    EXPECT_TRUE(eventually([&] { return actsIn(next.acts).last > begun + 30'000'000; }));
    const double millis = static_cast<double>(begun - actsIn(last.acts).last) / 1e6;
    EXPECT_GT(millis, 0) << "acts beside the next job\n" << last.process->errors();
    return millis;
  }

  /// With a lease of two seconds: something happens to a leader, and only the end of its lease helps.
  template <class Event>
  void expectTheLeaseDecides(Event&& event) {
    Candidate leader = startLeader("double-fork");
    const Candidate standby = startStandby("act");
    event(*leader.process);
    const long long happened = monotonicNow();
    static_cast<void>(gap(leader, standby));
    const double later = static_cast<double>(actsIn(standby.acts).first - happened) / 1e6;
    std::cout << "succeeded " << later << " ms later\n";
    EXPECT_GT(later, 1200) << leader.process->errors();
    EXPECT_EQ(leader.process->errors().find("released the lease"), std::string::npos) << leader.process->errors();
    leader.process->signal(SIGCONT);
  }

  std::string name_;
  int started_{0};
};

TEST_F(CrashTest, NextJobStartsOnceNothingOfTheCrashedOneIsLeft) {
  const std::vector<std::string> kinds{"double-fork", "closed", "act",        "clear",
                                       "chain",       "crowd",  "undumpable", "thread"};
  const std::string wanted = variable("TENURE_CRASHES");
  const int crashes = wanted.empty() ? 20 : std::stoi(wanted);
  std::vector<double> gaps;
  Candidate leader = startLeader(kinds[0]);
  for (int i = 1; i <= crashes && !HasFailure(); ++i) {
    const std::string& kind = kinds[static_cast<std::size_t>(i) % kinds.size()];
    Candidate standby = startStandby(kind);
    killIt(*leader.process);
    gaps.push_back(gap(leader, standby));
    EXPECT_NE(leader.process->errors().find("released the lease of term "), std::string::npos)
        << leader.process->errors();
    ASSERT_TRUE(leads(standby, kind == "act" ? 1 : 2));
    removeLivenessFiles();
    leader = std::move(standby);
  }
  ASSERT_FALSE(gaps.empty());
  std::sort(gaps.begin(), gaps.end());
  const double half = gaps[gaps.size() / 2], most = gaps[gaps.size() * 99 / 100];
  std::cout << gaps.size() << " crashes, next job after the last process: p50 " << half << " ms, p99 " << most
            << " ms\n";
  const bool measures = !wanted.empty();  // on a machine that does nothing else
  EXPECT_LE(half, measures ? 30 : 1'000);
  EXPECT_LE(most, measures ? 150 : 4'000);
}

/// The job ends at once, and what a hook has started some time after it.
TEST_F(CrashTest, HooksBesideTheJobAreAwaitedToo) {
  const std::string hooks = newActs();
  configureStore("10s", "hooks: { on_renewed: \"" DAEMONIZER " double-fork " + hooks + " 9000\" }\n");
  const Candidate leader = startLeader("act");
  ASSERT_TRUE(eventually([&] { return actsIn(hooks).processes >= 2; }));
  configureStore("10s");
  const Candidate standby = startStandby("act");
  killIt(*leader.process);
  EXPECT_LT(gap(leader, standby), 4'000) << leader.process->errors();
  EXPECT_GT(actsIn(hooks).last, actsIn(leader.acts).last) << "else this proves nothing";
  EXPECT_LT(actsIn(hooks).last, actsIn(standby.acts).first) << "acts beside the next job";
}

TEST_F(CrashTest, TheLeaseDecidesIfSupervisorAndGuardAreKilledTogether) {
  configureStore("2s");
  expectTheLeaseDecides([](const Subprocess& leader) {
    const pid_t guard = childOf(leader.id(), "tenure-guard");
    leader.signal(SIGSTOP);
    kill(guard, SIGKILL);
    killIt(leader);
  });
}

TEST_F(CrashTest, TheLeaseDecidesIfTheReaperIsKilledToo) {
  configureStore("2s");
  expectTheLeaseDecides([](const Subprocess& leader) {
    const pid_t reaper = childOf(leader.id(), "tenure-reaper");
    leader.signal(SIGSTOP);
    kill(reaper, SIGKILL);
    killIt(leader);
  });
}

TEST_F(CrashTest, TheLeaseDecidesForAFrozenSupervisor) {
  configureStore("2s");
  expectTheLeaseDecides([](const Subprocess& leader) { leader.signal(SIGSTOP); });
}

TEST_F(CrashTest, TheLeaseDecidesIfTheGuardWasReplacedInTheTerm) {
  configureStore("2s");
  expectTheLeaseDecides([](Subprocess& leader) {
    killChild(leader, "tenure-guard");
    EXPECT_TRUE(leader.saysOnStderr("the guard process ended and was replaced"));
    killIt(leader);
  });
}

TEST_F(CrashTest, TheLeaseDecidesIfTheFileSaysSo) {
  configureStore("2s", {}, ", crash_notice: false");
  expectTheLeaseDecides(killIt);
}

TEST_F(CrashTest, TheLeaseDecidesIfAHookUndoesWhatATermDid) {
  configureStore("2s", "hooks: { on_revoked: \"true\" }\n");
  expectTheLeaseDecides(killIt);
}

/// The process that a container's first one has started is killed; the first one stays until the guard has done its
/// work.
TEST_F(CrashTest, TheFirstProcessOfAContainerWaitsForTheNotice) {
  if (!mayMakeNamespaces()) GTEST_SKIP() << "no namespaces here";  // lint-allow(skipped-test): says so
  as_ = {"unshare", "--pid", "--fork", "--kill-child"};
  Candidate leader = startLeader("double-fork");
  as_.clear();
  const Candidate standby = startStandby("act");
  const pid_t supervisor = childOf(childOf(leader.process->id(), "tenure"), "tenure");
  ASSERT_GT(supervisor, 1);
  kill(supervisor, SIGKILL);
  EXPECT_LT(gap(leader, standby), 4'000) << leader.process->errors();
  EXPECT_EQ(leader.process->wait(), 128 + SIGKILL);
  EXPECT_NE(leader.process->errors().find("released the lease"), std::string::npos) << leader.process->errors();
}

/// Nobody would wake it there, so it does not outlive its bound.
TEST_F(CrashTest, TheFirstProcessOfAContainerWaitsForNoStoppedGuard) {
  if (!mayMakeNamespaces()) GTEST_SKIP() << "no namespaces here";  // lint-allow(skipped-test): says so
  configureStore("2s");
  as_ = {"unshare", "--pid", "--fork", "--kill-child"};
  Candidate leader = startLeader("act");
  const pid_t supervisor = childOf(childOf(leader.process->id(), "tenure"), "tenure");
  kill(childOf(supervisor, "tenure-guard"), SIGSTOP);
  const long long killed = monotonicNow();
  kill(supervisor, SIGKILL);
  EXPECT_EQ(leader.process->wait(), 128 + SIGKILL);
  EXPECT_LT(static_cast<double>(monotonicNow() - killed) / 1e6, 2'000 + 3'000);
}

#if !defined(CRASH_POSTGRESQL) && !defined(CRASH_ETCD)
/// The guard is where the supervisor was started, so a path means the same there.
TEST_F(CrashTest, ALockByARelativePathIsReleasedToo) {
  const auto hold = [&](const std::string& acts) {
    return tenure(
        {"lock", "hold", "nightly", "--path", "leases.db", "--lease", "10s", "--", DAEMONIZER, "act", acts, "30000"});
  };
  SubprocessOptions here = as("a");
  here.workingDirectory = directory_.path();
  Candidate first{newActs(), nullptr}, second{newActs(), nullptr};
  first.process = std::make_unique<Subprocess>(hold(first.acts), here);
  ASSERT_TRUE(leads(first, 1)) << first.process->errors();
  removeLivenessFiles();
  second.process = std::make_unique<Subprocess>(hold(second.acts), here);
  ASSERT_TRUE(second.process->saysOnStderr("waits for lock")) << second.process->errors();
  killIt(*first.process);
  EXPECT_LT(gap(first, second), 5'000) << first.process->errors();
}

/// It is part of no term, so no deadline of a lease ends it.
TEST_F(CrashTest, ACheckThatIgnoresSigtermEndsAfterTheCrash) {
  const std::string file = directory_.file("check");
  directory_.write("group.yaml",
                   "group: crash-test\nstore: { type: sqlite, path: ./leases.db }\nlease: { duration: 10s }\n"
                   "candidate: { id: a, ready: \"trap '' TERM; echo $$$$ > " +
                       file + "; while :; do sleep 0.1; done\", ready_every: 5s }\n");
  const Candidate candidate = start("act");
  ASSERT_TRUE(eventually([&] { return contentOf(file).ends_with('\n'); })) << candidate.process->errors();
  const pid_t check = std::stoi(contentOf(file));
  killIt(*candidate.process);
  EXPECT_TRUE(eventually([&] { return kill(check, 0) != 0; })) << "it lives on";
}
#endif

}  // namespace
}  // namespace tenure::test
