// A process that a job leaves outside its process group, in its own session and with another parent, ends with the
// term, before anybody else leads.
#include <csignal>

#include <gtest/gtest.h>

#include "cli/group_fixture.hpp"
#include "cli/text/exit_codes.hpp"

namespace tenure::test {
namespace {

class StrayTest : public GroupFixture {
 protected:
  [[nodiscard]] std::string actsOfStray() const { return directory_.file("acts.stray"); }
  [[nodiscard]] Witness stray() const {
    EXPECT_TRUE(eventually([&] { return !contentOf(actsOfStray()).empty(); })) << "it has not begun";
    return Witness{std::stoi(contentOf(actsOfStray() + ".pid"))};
  }
  /// The script of the first job: it starts a daemon as daemon(3) does (two forks and its own session), and the daemon
  /// acts.
  [[nodiscard]] std::string startsDaemon(const std::string& options = {}) const {
    return "(setsid sh -c 'echo $$ > " + actsOfStray() + ".pid; exec " + TICKER + " " + actsOfStray() + " " + options +
           "' < /dev/null > /dev/null 2>&1 &); ";
  }
  [[nodiscard]] static std::vector<std::string> job(const std::string& script) { return {"sh", "-c", script}; }

  /// The daemon is gone before the successor acts. To be called when the first leader has to give up.
  void expectGoneBeforeSuccessor(const Witness& stray, Subprocess& successor) {
    ASSERT_TRUE(begins(2)) << successor.errors();
    EXPECT_TRUE(stray.ended(milliseconds{0})) << "it acts beside the successor's job";
  }
};

constexpr const char* waits = "while :; do sleep 0.02; done";

TEST_F(StrayTest, IsToldToStopAndGoneBeforeTheRelease) {
  configure();
  Subprocess alice{run({}, job(startsDaemon() + waits)), as("alice")};
  const Witness stray = this->stray();
  Subprocess bob{run({}, actingJob()), as("bob")};
  ASSERT_TRUE(bob.saysOnStderr("the leader is alice ("));
  alice.signal(SIGTERM);
  expectGoneBeforeSuccessor(stray, bob);
  EXPECT_EQ(alice.wait(), cli::exitOk) << alice.errors();
  EXPECT_EQ(alice.errors().find("is killed"), std::string::npos) << "SIGTERM is enough: " << alice.errors();
}

TEST_F(StrayTest, IsKilledWhenTheDrainTimeoutEnds) {
  configure("  drain_timeout: 3s\n");  // a tenth of it remains for the kill
  Subprocess alice{run({}, job(startsDaemon("ignore-term") + waits)), as("alice")};
  const Witness stray = this->stray();
  Subprocess bob{run({}, actingJob()), as("bob")};
  ASSERT_TRUE(bob.saysOnStderr("the leader is alice ("));
  alice.signal(SIGTERM);
  expectGoneBeforeSuccessor(stray, bob);
  EXPECT_EQ(alice.wait(), cli::exitOk) << alice.errors();
  EXPECT_NE(alice.errors().find("is killed"), std::string::npos) << alice.errors();
}

TEST_F(StrayTest, OfAJobThatEndedByItselfEndsBeforeTheRelease) {
  configure();
  const std::string go = directory_.file("go");
  const std::string untilGo = "while [ ! -e " + go + " ]; do sleep 0.02; done";
  Subprocess alice{run({"--once"}, job(startsDaemon() + untilGo)), as("alice")};
  const Witness stray = this->stray();
  Subprocess bob{run({}, actingJob()), as("bob")};
  ASSERT_TRUE(bob.saysOnStderr("the leader is alice ("));
  directory_.write("go", "");
  expectGoneBeforeSuccessor(stray, bob);
  EXPECT_EQ(alice.wait(), 0) << alice.errors();
}

TEST_F(StrayTest, OfAKilledSupervisorEndsBeforeTheNextTerm) {
  configure();
  Subprocess alice{run({}, job(startsDaemon("ignore-term close-all") + waits)), as("alice")};
  const Witness stray = this->stray();
  Subprocess bob{run({}, actingJob()), as("bob")};
  ASSERT_TRUE(bob.saysOnStderr("the leader is alice ("));
  alice.signal(SIGKILL);
  expectGoneBeforeSuccessor(stray, bob);
}

TEST_F(StrayTest, OfAFrozenSupervisorEndsBeforeTheNextTerm) {
  configure();
  Subprocess alice{run({}, job(startsDaemon("ignore-term") + waits)), as("alice")};
  const Witness stray = this->stray();
  Subprocess bob{run({}, actingJob()), as("bob")};
  ASSERT_TRUE(bob.saysOnStderr("the leader is alice ("));
  ASSERT_TRUE(freezeOutsideOfTransactions(alice));
  expectGoneBeforeSuccessor(stray, bob);
}

}  // namespace
}  // namespace tenure::test
