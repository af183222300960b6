// fork(): the child neither believes that it leads nor renews, and its copy of an elector does nothing.
#include <csignal>
#include <cstdlib>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <tenure/election/leader_elector.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>

#include "election/stage.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

/// The exit status of `child`, which must end within a bound; -1 if it was killed because it did not.
int statusOf(pid_t child) {
  int status = 0;
  const bool ended = eventually([&] { return waitpid(child, &status, WNOHANG) == child; });
  if (!ended) {
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class Fork : public testing::Test {
 protected:
  void SetUp() override {
    auto group =
        Group::make({.group = "fork", .candidate = {.id = "parent"}, .lease = {.duration = 3s}}, store_).value();
    elector_ = new LeaderElector{std::move(group), record_.terms()};
    elector_->start();
    ASSERT_TRUE(eventually([&] { return record_.count("elected") == 1; }));
    ASSERT_TRUE(elector_->isLeader());
  }
  void TearDown() override { delete elector_; }

  void expectParentUnaffected() {
    EXPECT_TRUE(elector_->isLeader());
    const auto renewals = store_->calls(Operation::renew);
    EXPECT_TRUE(eventually([&] { return store_->calls(Operation::renew) > renewals; })) << "renewed no more";
    EXPECT_EQ(record_.lines(), std::vector<std::string>{"elected 1"});
    EXPECT_EQ(elector_->stop(), ReleaseResult::released);
  }

  const std::shared_ptr<FaultStore> store_{std::make_shared<FaultStore>(makeMemoryStore(), sharedScheduler())};
  Record record_;
  LeaderElector* elector_{nullptr};
};

TEST_F(Fork, aChildNeitherLeadsNorStopsItsParent) {
  const Leadership term = record_.term();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int wrong = 0;
    wrong |= elector_->isLeader() ? 1 : 0;
    wrong |= elector_->fencingToken() ? 2 : 0;
    wrong |= elector_->remaining() > 0ns ? 4 : 0;
    wrong |= term.leads() || term.isValid() ? 8 : 0;
    const ElectorStatus status = elector_->status();
    wrong |= status.fencingToken || status.group != "fork" ? 16 : 0;
    elector_->stepDown();
    elector_->requestStop();
    elector_->start();
    wrong |= elector_->stop() != ReleaseResult::notHeld ? 32 : 0;
    LeaderElector moved{std::move(*elector_)};
    wrong |= moved.isLeader() ? 64 : 0;
    delete elector_;
    _exit(wrong);
  }
  EXPECT_EQ(statusOf(child), 0);
  expectParentUnaffected();
}

TEST_F(Fork, aChildOfARawCloneDoesNotLeadEither) {
  const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  ASSERT_GE(child, 0);
  if (child == 0) _exit(elector_->isLeader() ? 1 : 0);
  EXPECT_EQ(statusOf(child), 0);
  expectParentUnaffected();
}

}  // namespace
}  // namespace tenure::test
