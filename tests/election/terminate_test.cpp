// OnLost::terminate in real processes and real time: a process that cannot fence ends itself when its lease is over.
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>

#include <tenure/election/leader_elector.hpp>
#include <tenure/lockcore/stores/memory_store.hpp>

#include "election/stage.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

/// Runs in the child process of a death test.
class Program {
 public:
  enum class Work { endsInTime, neverEnds };

  Program(Work work, LeaseOptions lease) {
    GroupOptions options{.group = key.name, .candidate = {.id = "program"}, .lease = lease};
    options.onLost = OnLost::terminate;
    Listener listener;
    listener.onElected = [this, work](const Leadership& term) {
      elected_ = true;
      while (work == Work::neverEnds || !term.stopToken().stop_requested()) {
        std::this_thread::sleep_for(1ms);  // lint-allow(sleep): the work itself; it ends by the stop token or never
      }
    };
    listener.onRevoked = [this](const TermEnd&) { revoked_ = true; };
    auto group = Group::make(std::move(options), store, Logger::toStderr(LogLevel::warn)).value();
    elector = std::make_unique<LeaderElector>(std::move(group), std::move(listener));
    elector->start();
    if (!eventually([this] { return elected_.load(); })) std::_Exit(1);
  }

  /// What a program does that has survived all this.
  void survive(std::chrono::milliseconds by) {
    if (!eventually([this] { return revoked_.load(); })) std::_Exit(2);
    std::this_thread::sleep_for(by);  // lint-allow(sleep): the time that the process must survive
    std::_Exit(0);
  }

  /// A foreign writer takes the lease.
  void usurp() {
    const auto read = [this] {
      std::promise<std::optional<LeaseRecord>> record;
      memory->read(key, {1s}, [&](const ReadOutcome& outcome) { record.set_value(outcome.value()); });
      return record.get_future().get();
    };
    const auto foreign = [&] { return read().value().holder == "mallory"; };
    while (!foreign()) {  // a heartbeat may come in between
      WriteRequest request{key, WriteRequest::Purpose::acquire, {read().value().version}, {}};
      request.record.holder = "mallory";
      request.record.version = RecordVersion{"1"};
      request.record.leaseDuration = 60s;
      memory->write(std::move(request), {1s}, [](const WriteOutcome&) {});
    }
  }

  const LeaseKey key{"terminate"};
  const std::shared_ptr<LeaseStore> memory{makeMemoryStore()};
  const std::shared_ptr<FaultStore> store{std::make_shared<FaultStore>(memory, sharedScheduler())};
  std::unique_ptr<LeaderElector> elector;

 private:
  std::atomic<bool> elected_{false};
  std::atomic<bool> revoked_{false};
};

/// Leads for 1 s without renewals, and then has another second to end.
constexpr LeaseOptions patient{.duration = 2'100ms, .heartbeat = 300ms, .clockMargin = 100ms, .stopMargin = 1'000ms};
constexpr LeaseOptions quick{.duration = 2s};  // a process has up to 50 ms of it for its last words
/// Renewed often, and valid far longer than any of these programs runs.
constexpr LeaseOptions lasting{.duration = 60s, .heartbeat = 100ms, .drainTimeout = 60s};

void loseTheStore(Program::Work work, const LeaseOptions& lease) {
  Program program{work, lease};
  program.store->setAll(Fault::neverApplied);
  program.survive(lease.duration + 1'500ms);
}

void stopAndGoOn() {
  LeaseOptions lease = quick;
  lease.drainTimeout = 100ms;
  Program program{Program::Work::neverEnds, lease};
  if (program.elector->stop() != ReleaseResult::notDrained) std::_Exit(3);
  program.survive(lease.duration + 1'500ms);
}

void loseTheRecord(bool whileDraining) {
  Program program{Program::Work::neverEnds, lasting};
  if (whileDraining) {
    program.elector->stepDown("maintenance");
    const auto drains = [&] { return program.elector->status().lease.state == LeaseState::draining; };
    if (!eventually(drains)) std::_Exit(3);
  }
  program.usurp();
  program.survive(1s);
}

/// Uses a clock that stands still, which no watchdog watches. The work of the first term has ended in time.
void loseTheRecordInTheSecondTerm() {
  Stage stage;
  const Candidate program = stage.leader("program", [](GroupOptions& options) { options.onLost = OnLost::terminate; });
  program->stepDown("maintenance");
  if (!stage.advanceUntil([&] { return program.record->count("elected") == 2; })) std::_Exit(3);
  stage.usurp("mallory");
  stage.clock->advance(2s);  // the executor does not run, so the work of the second term continues
  std::_Exit(0);
}

class TerminateDeathTest : public testing::Test {
 protected:
  TerminateDeathTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  const testing::ExitedWithCode ended_{lostExitCode};
};

TEST_F(TerminateDeathTest, endsAProcessWhoseWorkOutlastsTheLease) {
  EXPECT_EXIT(loseTheStore(Program::Work::neverEnds, quick), ended_, "on_lost: terminate");
}

TEST_F(TerminateDeathTest, leavesAProcessWhoseWorkEndsInTime) {
  EXPECT_EXIT(loseTheStore(Program::Work::endsInTime, patient), testing::ExitedWithCode(0), "");
}

TEST_F(TerminateDeathTest, endsAProcessWhoseWorkOutlastsAPoliteEndAndTheLease) {
  EXPECT_EXIT(stopAndGoOn(), ended_, "on_lost: terminate");
}

TEST_F(TerminateDeathTest, endsAProcessAtOnceIfAnotherOwnsTheRecord) {
  EXPECT_EXIT(loseTheRecord(false), ended_, "on_lost: terminate");
}

TEST_F(TerminateDeathTest, endsAProcessInItsSecondTermToo) { EXPECT_EXIT(loseTheRecordInTheSecondTerm(), ended_, ""); }

/// There is no validity left to wait for.
TEST_F(TerminateDeathTest, noticesAnotherOwnerWhileTheWorkIsWindingUp) {
  EXPECT_EXIT(loseTheRecord(true), ended_, "on_lost: terminate");
}

}  // namespace
}  // namespace tenure::test
