// Jobs whose descendants try to outlive them (daemonizer.cpp), judged by what they wrote.
#pragma once

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "cli/group_fixture.hpp"
#include "cli/text/exit_codes.hpp"

namespace tenure::test {

namespace fs = std::filesystem;

inline int longRounds() {
  const char* const text = std::getenv("TENURE_ESCAPES");  // NOLINT(concurrency-mt-unsafe): one thread
  return text != nullptr ? std::atoi(text) : 0;
}

/// How many rounds of a kind: a part of a thousand in the long run.
inline int roundsOf(int part) { return longRounds() > 0 ? std::max(1, longRounds() / part) : 1; }

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

  /// A copy that becomes root; empty: not on this file system.
  [[nodiscard]] std::string setUidDaemonizer() const {
    std::string copy = directory_.file("becomes_root");
    fs::copy_file(DAEMONIZER, copy);
    struct statvfs system {};
    const bool made = chmod(copy.c_str(), 04755) == 0 && statvfs(copy.c_str(), &system) == 0;
    return made && (system.f_flag & ST_NOSUID) == 0 ? copy : std::string{};
  }

  /// A child of the supervisor by the name that the kernel shows. Who signalled -1 would signal everybody.
  static pid_t childOf(pid_t supervisor, const std::string& name) {
    const std::string id = std::to_string(supervisor);
    std::istringstream children{contentOf("/proc/" + id + "/task/" + id + "/children")};
    for (std::string child; children >> child;) {
      if (contentOf("/proc/" + child + "/comm") == name + "\n") return std::stoi(child);
    }
    throw std::runtime_error("no child " + name + " of process " + id);
  }
  static void killChild(const Subprocess& supervisor, const std::string& name) {
    kill(childOf(supervisor.id(), name), SIGKILL);
  }

  std::vector<std::string> as_{};  ///< what makes a copy another user's
  int jobs_{0};
};

inline void terminate(const Subprocess& supervisor) { supervisor.signal(SIGTERM); }
inline void killIt(const Subprocess& supervisor) { supervisor.signal(SIGKILL); }

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

/// Rounds of one kind, until one is skipped or fails.
template <class Round>
void repeat(int part, Round&& round) {
  for (int i = 0; i < roundsOf(part) && !::testing::Test::HasFailure() && !::testing::Test::IsSkipped(); ++i) round();
}

}  // namespace tenure::test
