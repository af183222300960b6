// The three owners of the supervisor's loop, without a process and by a clock of the test: the shutdown, the contact
// with the store, the work of a term.
#include <algorithm>
#include <csignal>
#include <stdexcept>

#include <gtest/gtest.h>

#include "cli/process/job_processes.hpp"
#include "cli/run/repeated_check.hpp"
#include "cli/run/shutdown.hpp"
#include "cli/run/store_contact.hpp"
#include "cli/run/term_work.hpp"
#include "election/stage.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using cli::ExitStatus;
using cli::Shutdown;
using cli::StoreContact;

TEST(Shutdown, ASecondSignalHurriesUnlessItIsTheSameRequest) {
  const Instant start{};
  Shutdown shutdown{false};
  const auto first = shutdown.take(SIGTERM, start);
  EXPECT_TRUE(first.stop);
  EXPECT_FALSE(first.hurry);
  EXPECT_TRUE(shutdown.isNear());
  EXPECT_FALSE(shutdown.isLeaving());
  const auto again = shutdown.take(SIGTERM, start + 499ms);
  EXPECT_FALSE(again.stop || again.hurry) << "timeout(1) sends its signal twice";
  const auto second = shutdown.take(SIGINT, start + 500ms);
  EXPECT_FALSE(second.stop);
  EXPECT_TRUE(second.hurry);
}

TEST(Shutdown, SigquitStopsAndHurriesAtOnce) {
  Shutdown shutdown{false};
  const auto request = shutdown.take(SIGQUIT, Instant{});
  EXPECT_TRUE(request.stop);
  EXPECT_TRUE(request.hurry);
}

TEST(Shutdown, TheCodeOfTheFirstCallCounts) {
  Shutdown shutdown{false};
  EXPECT_EQ(shutdown.code(), cli::exitOk);
  shutdown.leave(cli::exitBusy);
  shutdown.leave(cli::exitFailed);
  EXPECT_EQ(shutdown.code(), cli::exitBusy);
}

/// `run --once ... && next` must not go on.
TEST(Shutdown, AStopIsAGoodEndOfAServiceOnly) {
  EXPECT_EQ(Shutdown{false}.codeOfStop(SIGTERM, std::nullopt), cli::exitOk);
  EXPECT_EQ(Shutdown{true}.codeOfStop(SIGTERM, std::nullopt), 128 + SIGTERM);
  EXPECT_EQ(Shutdown{true}.codeOfStop(SIGTERM, 0), 0) << "its run has ended, and only the note of that is on its way";
}

TEST(Shutdown, AWaitThatIsOverEndsWhateverTheStoreDoes) {
  const Instant start{};
  Shutdown shutdown{true};
  EXPECT_EQ(shutdown.untilQuit(start), std::nullopt);
  shutdown.giveUpWaiting(start, true);
  shutdown.leave(cli::exitStore);
  EXPECT_EQ(shutdown.untilQuit(start + 100ms), 150ms);
  EXPECT_TRUE(shutdown.mayHaveAcquired());
  shutdown.electorStopped(ReleaseResult::unknown);
  EXPECT_EQ(shutdown.code(), cli::exitUnknown) << "an attempt may still arrive";
}

TEST(Shutdown, AReleaseThatIsNotKnownChangesNoOtherEnd) {
  Shutdown shutdown{true};
  shutdown.leave(7);
  shutdown.electorStopped(ReleaseResult::unknown);
  EXPECT_EQ(shutdown.code(), 7);
}

LeaseStatus ledBy(const std::string& holder) {
  LeaseStatus status;
  status.leader = LeaderInfo{holder, FencingToken{4}};
  status.leaderSeenAgo = 1ms;
  status.schema = StoreResult<void>{boost::system::in_place_value};
  return status;
}

TEST(StoreContact, NamesTheHolderAfterASecondIfThatIsWanted) {
  const Instant start{};
  StoreContact contact{{.lease = "nightly", .namesHolder = true}, start};
  contact.leaderSeen(ledBy("alice#1").leader, start);
  EXPECT_EQ(contact.takeNote(start + 999ms), std::nullopt);
  const auto note = contact.takeNote(start + 1s);
  ASSERT_TRUE(note);
  EXPECT_NE(note->find("waits for lock nightly: alice"), std::string::npos) << *note;
  EXPECT_EQ(contact.takeNote(start + 2s), std::nullopt) << "once";
  StoreContact quiet{{.lease = "nightly"}, start};
  quiet.leaderSeen(ledBy("alice#1").leader, start);
  EXPECT_EQ(quiet.takeNote(start + 1s), std::nullopt);
}

TEST(StoreContact, APermanentErrorBeforeTheFirstAnswerEndsTheProgram) {
  const Instant start{};
  StoreContact contact{{.lease = "billing"}, start};
  LeaseStatus status;
  status.lastError = StoreError{ErrorClass::misconfigured, "no such region", true};
  const auto finding = contact.look(start + 1ms, status);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->code, cli::exitStore);
  EXPECT_EQ(finding->message, "cannot compete: no such region");
  EXPECT_EQ(finding->cause, "no such region");
}

TEST(StoreContact, AStoreThatIsOutOfServiceIsWaitedForAndThatIsReady) {
  const Instant start{};
  StoreContact contact{{.lease = "billing"}, start};
  EXPECT_FALSE(contact.isReady());
  EXPECT_EQ(contact.standbyText(), "waiting for the store");
  LeaseStatus status;
  status.lastError = StoreError{ErrorClass::transient, "connection refused"};
  const auto finding = contact.look(start + 1ms, status);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->level, LogLevel::warn);
  EXPECT_FALSE(finding->code);
  EXPECT_TRUE(contact.isReady());
  EXPECT_FALSE(contact.isMade());
  EXPECT_EQ(contact.look(start + 2ms, ledBy("alice#1")), std::nullopt);
  EXPECT_TRUE(contact.isMade());
  contact.leaderSeen(ledBy("alice#1").leader, start + 2ms);
  EXPECT_EQ(contact.standbyText(), "standing by, alice leads");
}

TEST(StoreContact, SaysWhyAWaitIsOver) {
  const Instant start{};
  const StoreContact contact{{.lease = "billing", .wait = 1s}, start};
  EXPECT_EQ(contact.judgeWait(start + 999ms, ledBy("alice#1")), std::nullopt);
  EXPECT_EQ(contact.judgeWait(start + 1s, ledBy("alice#1"))->code, cli::exitBusy);
  LeaseStatus failed;
  failed.lastError = StoreError{ErrorClass::transient, "connection refused"};
  EXPECT_EQ(contact.judgeWait(start + 1s, failed)->message, "not elected: connection refused");
  EXPECT_EQ(contact.judgeWait(start + 1s, failed)->code, cli::exitStore);
  EXPECT_EQ(contact.judgeWait(start + 1s, {})->message, "not elected within 1s: the store has not answered");
  LeaseStatus free = ledBy("");
  free.leader.reset();
  EXPECT_EQ(contact.judgeWait(start + 1s, free)->message, "not elected within 1s; there is no leader of billing yet");
  EXPECT_EQ(contact.judgeWait(start + 1s, free)->code, cli::exitBusy);
}

/// With --busy-ok only a leader that lives is a good reason to do nothing.
TEST(StoreContact, ABusyLeaderIsFineOnlyIfItLives) {
  const Instant start{};
  const StoreContact contact{{.lease = "billing", .wait = 1s, .busyIsFine = true}, start};
  LeaseStatus status = ledBy("alice#1");
  EXPECT_EQ(contact.judgeWait(start + 1s, status)->code, cli::exitBusy);
  status.leaderRenews = true;
  const auto finding = contact.judgeWait(start + 1s, status);
  EXPECT_EQ(finding->code, cli::exitOk);
  EXPECT_EQ(finding->level, LogLevel::info);
}

TEST(StoreContact, DoesNotWaitOnceThisCopyLeads) {
  const Instant start{};
  StoreContact contact{{.lease = "billing", .wait = 1s}, start};
  contact.stopWaiting();
  EXPECT_EQ(contact.judgeWait(start + 1h, ledBy("alice#1")), std::nullopt);
}

/// What a played process does is set by the test.
struct Played {
  std::optional<ExitStatus> status{};
  bool over{false}, stopped{false}, lostReaper{false}, killed{false}, late{false};
  int execError{0};
  pid_t stays{0};
  std::vector<std::string> orders{};
  cli::JobSpec spec{};
};

class PlayedJob final : public cli::JobProcess {
 public:
  explicit PlayedJob(Played& played) : played_{played} {}
  [[nodiscard]] pid_t id() const noexcept override { return 12; }
  [[nodiscard]] std::string who() const override { return "the job (process 12)"; }
  [[nodiscard]] const std::string& mark() const noexcept override { return mark_; }
  void stop(const std::string& why) override { played_.orders.push_back("stop: " + why); }
  void hurry(const std::string& why) override { played_.orders.push_back("kill: " + why); }
  void forward(int /*signal*/) const noexcept override { played_.orders.emplace_back("signal"); }
  [[nodiscard]] std::vector<pollfd> descriptors() const override { return {}; }
  [[nodiscard]] std::optional<std::chrono::nanoseconds> untilWake(const Instant& /*now*/) const override { return 5s; }
  void act(const Instant& /*now*/) override {}
  [[nodiscard]] bool isOver() const noexcept override { return played_.over; }
  [[nodiscard]] const std::optional<ExitStatus>& status() const noexcept override { return played_.status; }
  [[nodiscard]] int execError() const noexcept override { return played_.execError; }
  [[nodiscard]] bool lostReaper() const noexcept override { return played_.lostReaper; }
  [[nodiscard]] bool wasStopped() const noexcept override { return played_.stopped; }
  [[nodiscard]] bool wasKilled() const noexcept override { return played_.killed; }

 private:
  Played& played_;
  std::string mark_{"a mark"};
};

class PlayedHook final : public cli::HookProcess {
 public:
  explicit PlayedHook(Played& played) : played_{played} {}
  [[nodiscard]] pollfd descriptor() const noexcept override { return {-1, 0, 0}; }
  [[nodiscard]] std::chrono::nanoseconds untilWake(const Instant& /*now*/) const override { return 10s; }
  void act(const Instant& /*now*/) override {}
  void kill() noexcept override { played_.killed = true; }
  [[nodiscard]] const std::optional<ExitStatus>& status() const noexcept override { return played_.status; }
  [[nodiscard]] bool isLate() const noexcept override { return played_.late; }
  [[nodiscard]] pid_t stays() const noexcept override { return played_.stays; }
  [[nodiscard]] std::string text() const override { return "the hook " + played_.status.value_or(ExitStatus{}).text(); }

 private:
  Played& played_;
};

class TermWorkTest : public ::testing::Test {
 protected:
  /// Of a copy that has just been elected.
  void begin() {
    cli::TermWork::Options options{.lease = "billing", .command = {"/bin/true"}, .once = once, .hooks = hooks};
    options.spec = [](const Leadership& term) {
      cli::JobSpec spec;
      spec.environment["TENURE_FENCING_TOKEN"] = toString(term.fencingToken());
      return spec;
    };
    candidate_.emplace(stage_.leader("a"));
    timing_.emplace(stage_.group("a", stage_.memory).timing());
    publisher_.emplace(channel_, *timing_);
    work_.emplace(
        options, cli::TermWork::Parts{*timing_, shutdown, channel_, *publisher_, counts_, nullptr, nullptr, Logger{}},
        cli::TermProcesses{[this](const cli::JobSpec& spec, const std::string& name) { return startJob(spec, name); },
                           [this](const std::string& name, const cli::JobSpec& spec, const Instant& /*now*/,
                                  bool /*endsWithTerm*/) { return startHook(name, spec); }},
        cli::TermWorkEvents{[this](int code) { did.push_back("leave " + std::to_string(code)); },
                            [this](bool failed, std::chrono::nanoseconds /*ran*/, const std::string& why) {
                              did.push_back((failed ? "give up, failed: " : "give up: ") + why);
                            },
                            [this](const std::string& message) { did.push_back("say: " + message); },
                            [this] { did.emplace_back("job starts"); }});
    handle_ = std::make_shared<std::promise<void>>();
    over_ = handle_;
    work_->begin(candidate_->record->term(), std::move(handle_), now());
  }

  std::unique_ptr<cli::JobProcess> startJob(const cli::JobSpec& spec, const std::string& name) {
    if (cannotStart) throw std::runtime_error{"no process"};
    started.push_back(name);
    job = {};
    job.spec = spec;
    return std::make_unique<PlayedJob>(job);
  }
  std::unique_ptr<cli::HookProcess> startHook(const std::string& name, const cli::JobSpec& spec) {
    if (cannotStart) throw std::runtime_error{"no process"};
    started.push_back(name);
    Played& played = name == "on_renewed" ? renewing : revoking;
    played = {};
    played.spec = spec;
    return std::make_unique<PlayedHook>(played);
  }

  [[nodiscard]] Instant now() const { return stage_.clock->now(); }
  [[nodiscard]] FencingToken token() const { return candidate_->record->term().fencingToken(); }
  [[nodiscard]] bool isReleased() const { return over_.expired(); }
  void endJob(int code, bool stopped = false) {
    job.status = ExitStatus{false, code};
    job.stopped = stopped;
    job.over = true;
    work_->act(now());
  }
  void endHook(Played& hook, int code) {
    hook.status = ExitStatus{false, code};
    work_->act(now());
  }
  void loseLease() {
    stage_.usurp("b");
    stage_.advance(3s);
    ASSERT_FALSE(candidate_->record->term().leads());
  }

  using Did = std::vector<std::string>;
  bool once{false}, cannotStart{false};
  HooksConfig hooks{};
  Shutdown shutdown{false};
  Played job, renewing, revoking;
  Did started, did;

  Stage stage_;
  cli::GuardChannel channel_{cli::GuardChannel::create()};
  cli::JobCounts counts_;
  std::optional<LeaseTiming> timing_;
  std::optional<cli::TermPublisher> publisher_;
  std::optional<Candidate> candidate_;
  cli::WorkHandle handle_;
  std::weak_ptr<std::promise<void>> over_;
  std::optional<cli::TermWork> work_;
};

/// I9: the lease may be released only when nothing of the job is left.
TEST_F(TermWorkTest, TheTermIsHeldUntilNothingOfTheJobIsLeft) {
  begin();
  EXPECT_EQ(started, (Did{"the job"}));
  EXPECT_EQ(job.spec.environment["TENURE_FENCING_TOKEN"], "1");
  work_->leadershipEnds(token());
  EXPECT_EQ(job.orders, (Did{"stop: leadership has ended"}));
  job.status = ExitStatus{true, SIGTERM};
  work_->act(now());
  EXPECT_FALSE(isReleased()) << "a descendant is left";
  EXPECT_FALSE(work_->isOver());
  endJob(0, true);
  EXPECT_TRUE(isReleased());
  EXPECT_TRUE(work_->isOver());
}

TEST_F(TermWorkTest, AnEndOfAnOtherTermStopsNothing) {
  begin();
  work_->leadershipEnds(FencingToken{token().value() + 1});
  EXPECT_EQ(job.orders, Did{});
}

TEST_F(TermWorkTest, AJobThatEndsByItselfGivesTheTermUp) {
  begin();
  endJob(3);
  EXPECT_EQ(did, (Did{"job starts", "give up, failed: the job ended"}));
  EXPECT_TRUE(isReleased());
}

TEST_F(TermWorkTest, OnceEndsWithTheCodeOfTheJob) {
  once = true;
  begin();
  endJob(3);
  EXPECT_EQ(did, (Did{"job starts", "leave 3"}));
}

TEST_F(TermWorkTest, OnceSaysThatLeadershipEndedWhileTheJobRan) {
  once = true;
  begin();
  loseLease();
  endJob(0, true);
  EXPECT_EQ(did.back(), "leave " + std::to_string(cli::exitLost));
}

TEST_F(TermWorkTest, AJobThatIsNotThereEndsTheProgram) {
  begin();
  job.execError = ENOENT;
  endJob(127);
  EXPECT_EQ(did.back(), "leave " + std::to_string(cli::exitNotFound));
}

TEST_F(TermWorkTest, AJobThatCannotStartGivesTheTermUp) {
  cannotStart = true;
  begin();
  EXPECT_EQ(
      did, (Did{"job starts", "say: the job cannot be started: no process", "give up, failed: the job did not start"}));
  EXPECT_TRUE(isReleased());
}

TEST_F(TermWorkTest, TheJobStartsOnlyAfterOnElectedSucceeded) {
  hooks.onElected = "prepare";
  hooks.timeout = 10s;
  begin();
  EXPECT_EQ(started, (Did{"hook on_elected"}));
  EXPECT_TRUE(work_->isElecting());
  work_->forward(SIGUSR1);
  EXPECT_EQ(job.orders, Did{}) << "signals are for the job";
  endJob(0);
  EXPECT_EQ(started, (Did{"hook on_elected", "the job"}));
  EXPECT_FALSE(isReleased());
}

TEST_F(TermWorkTest, AFailedOnElectedGivesTheTermUpWithoutTheJob) {
  hooks.onElected = "prepare";
  begin();
  endJob(1);
  EXPECT_EQ(started, (Did{"hook on_elected"}));
  EXPECT_EQ(did.back(), "give up, failed: hook on_elected failed");
  EXPECT_TRUE(isReleased());
}

TEST_F(TermWorkTest, OnElectedIsKilledWhenItsTimeIsOver) {
  hooks.onElected = "prepare";
  hooks.timeout = 1s;
  begin();
  work_->act(now() + 999ms);
  EXPECT_EQ(job.orders, Did{});
  work_->act(now() + 1s);
  EXPECT_EQ(job.orders, (Did{"kill: it takes longer than hooks.timeout"}));
  work_->act(now() + 2s);
  EXPECT_EQ(job.orders.size(), 1U);
}

TEST_F(TermWorkTest, OnRevokedRunsAfterTheJobAndBeforeTheRelease) {
  hooks.onRevoked = "undo";
  begin();
  endJob(0);
  EXPECT_EQ(started, (Did{"the job", "on_revoked"}));
  EXPECT_FALSE(isReleased());
  EXPECT_FALSE(work_->isOver());
  endHook(revoking, 0);
  EXPECT_TRUE(isReleased());
  EXPECT_TRUE(work_->isOver());
}

/// What it should have undone may still act.
TEST_F(TermWorkTest, AFailedOnRevokedKeepsTheLeaseUntilItExpires) {
  hooks.onRevoked = "undo";
  begin();
  endJob(0);
  endHook(revoking, 1);
  EXPECT_FALSE(isReleased());
  EXPECT_NE(did.back().find("the lease is not released, it expires"), std::string::npos);
  loseLease();
  work_->act(now());
  EXPECT_TRUE(isReleased());
}

TEST_F(TermWorkTest, OnRenewedOfAnEarlierTermIsNotStarted) {
  hooks.onRenewed = "note";
  begin();
  work_->renewed(FencingToken{token().value() + 1}, now());
  EXPECT_EQ(started, (Did{"the job"}));
  work_->renewed(token(), now());
  work_->renewed(token(), now());
  EXPECT_EQ(started, (Did{"the job", "on_renewed"})) << "one at a time";
  EXPECT_EQ(renewing.spec.environment[cli::jobVariable], "a mark") << "who ends the job ends it";
}

/// A job that takes its time to end still needs what the hook keeps, such as an address.
TEST_F(TermWorkTest, OnRenewedRunsUntilTheEndOfTheJobThatWasAskedToStop) {
  hooks.onRenewed = "note";
  begin();
  work_->act(now());
  (*candidate_)->requestStop();
  stage_.clock->runReady();  // the executor does not run, so the elector waits for the end of the work
  ASSERT_FALSE(candidate_->record->term().leads());
  work_->act(now());
  EXPECT_EQ(started, (Did{"the job"})) << "no renewal has come";
  EXPECT_LE(work_->untilWake(now()), 100ms) << "nobody tells of the next one";
  for (std::size_t renewals = 1; renewals <= 2; ++renewals) {
    stage_.clock->advance(1s);
    work_->act(now());
    EXPECT_EQ(started.size(), 1 + renewals);
    endHook(renewing, 1);
    EXPECT_EQ(started.size(), 1 + renewals) << "once for each renewal";
  }
  EXPECT_EQ(std::count(did.begin(), did.end(), "say: the hook " + ExitStatus{false, 1}.text()), 1)
      << "once for a row of failures";
  EXPECT_GT(std::stoll(renewing.spec.environment["TENURE_REMAINING_MS"]), 2'500) << "of the lease of 3 s";
  endJob(0, true);
  EXPECT_TRUE(isReleased());
}

/// I9: it may hang in the kernel, where SIGKILL ends it only later.
TEST_F(TermWorkTest, TheTermIsHeldUntilOnRenewedHasEndedAndOnRevokedComesAfterIt) {
  for (const std::string revoked : {"", "undo"}) {
    hooks.onRenewed = "note";
    hooks.onRevoked = revoked;
    started.clear();
    begin();
    work_->renewed(token(), now());
    endJob(0);
    EXPECT_TRUE(renewing.killed);
    EXPECT_FALSE(isReleased());
    EXPECT_FALSE(work_->isOver());
    work_->renewed(token(), now());
    EXPECT_EQ(started, (Did{"the job", "on_renewed"})) << "nothing else begins meanwhile";
    EXPECT_EQ(did.back(), "give up: the job ended") << "that the hook was killed is no failure";
    renewing.stays = 77;
    did.clear();
    for (int turns = 0; turns < 3; ++turns) work_->act(now());
    ASSERT_EQ(did.size(), 1U) << "said once";
    EXPECT_EQ(did[0].find("say: process 77 of hook on_renewed runs as another user, so it cannot be ended"), 0U);
    endHook(renewing, 0);
    if (!revoked.empty()) {
      EXPECT_FALSE(isReleased());
      EXPECT_EQ(started, (Did{"the job", "on_renewed", "on_revoked"}));
      endHook(revoking, 0);
    }
    EXPECT_TRUE(isReleased());
    EXPECT_TRUE(work_->isOver());
    EXPECT_EQ(did.size(), 1U);
    candidate_.reset();
    stage_.advance(10s);
  }
}

/// Others may lead, and what this copy has to give back must not wait for the kernel.
TEST_F(TermWorkTest, AfterALossOnRevokedRunsBesideAnOnRenewedThatSigkillDoesNotEnd) {
  for (const bool lostBefore : {true, false}) {
    hooks.onRenewed = "note";
    hooks.onRevoked = "undo";
    started.clear();
    begin();
    work_->renewed(token(), now());
    if (lostBefore) loseLease();
    endJob(0, true);
    if (!lostBefore) stage_.advance(5s);
    work_->act(now());
    EXPECT_EQ(started, (Did{"the job", "on_renewed"})) << "it may do again what on_revoked undoes, until it is dead";
    lostBefore ? stage_.advance(1s) : loseLease();
    work_->act(now());
    EXPECT_EQ(started, (Did{"the job", "on_renewed", "on_revoked"}));
    endHook(lostBefore ? renewing : revoking, 0);
    EXPECT_FALSE(isReleased());
    EXPECT_FALSE(work_->isOver());
    endHook(lostBefore ? revoking : renewing, 0);
    EXPECT_TRUE(isReleased());
    EXPECT_TRUE(work_->isOver());
    EXPECT_EQ(started.size(), 3U);
    candidate_.reset();
    stage_.advance(10s);
  }
}

/// One line for each row of failures, because renewals are many.
TEST_F(TermWorkTest, AFailingOnRenewedIsReportedOnce) {
  hooks.onRenewed = "note";
  begin();
  for (int i = 0; i < 3; ++i) {
    work_->renewed(token(), now());
    endHook(renewing, 1);
  }
  EXPECT_EQ(std::count(did.begin(), did.end(), "say: the hook " + ExitStatus{false, 1}.text()), 1);
}

/// It may hang in the kernel: then no other one runs, and nobody would know why.
TEST_F(TermWorkTest, AnOnRenewedThatOutlivesItsKillIsReportedOnceWhileItRuns) {
  hooks.onRenewed = "note";
  begin();
  work_->renewed(token(), now());
  renewing.late = true;
  renewing.stays = 77;
  did.clear();
  for (int turns = 0; turns < 3; ++turns) work_->act(now());
  ASSERT_EQ(did.size(), 2U);
  EXPECT_EQ(did[0].find("say: process 77 of hook on_renewed runs as another user, so it cannot be ended"), 0U);
  EXPECT_EQ(did[1].find("say: the hook "), 0U);
  endHook(renewing, 0);
  EXPECT_EQ(did.size(), 2U);
  for (const int code : {0, 1}) {
    work_->renewed(token(), now());
    endHook(renewing, code);
  }
  EXPECT_EQ(did.size(), 3U) << "another row of failures";
}

/// What it should have undone may still act.
TEST_F(TermWorkTest, AnOnRevokedThatOutlivesItsKillIsReportedOnceAndKeepsTheLease) {
  hooks.onRevoked = "undo";
  begin();
  endJob(0);
  revoking.stays = 88;
  did.clear();
  for (int turns = 0; turns < 3; ++turns) work_->act(now());
  ASSERT_EQ(did.size(), 1U);
  EXPECT_EQ(did[0].find("say: process 88 of hook on_revoked runs as another user, so it cannot be ended"), 0U);
  EXPECT_FALSE(work_->hurry()) << "nothing can end it";
  revoking.stays = 0;
  EXPECT_TRUE(work_->hurry());
  revoking.late = true;
  EXPECT_FALSE(work_->hurry()) << "SIGKILL has not ended it";
  for (int turns = 0; turns < 3; ++turns) work_->act(now());
  ASSERT_EQ(did.size(), 2U);
  EXPECT_NE(did[1].find("; the lease is not released, it expires"), std::string::npos) << did[1];
  endHook(revoking, 0);
  EXPECT_FALSE(isReleased()) << "that was said";
  EXPECT_EQ(did.size(), 2U);
  loseLease();
  work_->act(now());
  EXPECT_TRUE(isReleased());
}

TEST_F(TermWorkTest, HurryKillsWhatRuns) {
  hooks.onRevoked = "undo";
  begin();
  EXPECT_TRUE(work_->hurry());
  EXPECT_EQ(job.orders, (Did{"kill: asked to hurry"}));
  endJob(0);
  EXPECT_TRUE(work_->hurry());
  EXPECT_TRUE(revoking.killed);
  endHook(revoking, 0);
  EXPECT_FALSE(work_->hurry()) << "only the wait for the store is left";
}

/// What on_revoked undoes would stay.
TEST_F(TermWorkTest, HurryDoesNotSkipOnRevokedWhileOnRenewedDies) {
  hooks.onRenewed = "note";
  for (const std::string revoked : {"undo", ""}) {
    hooks.onRevoked = revoked;
    begin();
    work_->renewed(token(), now());
    endJob(0);
    renewing.killed = false;
    EXPECT_EQ(work_->hurry(), !revoked.empty());
    EXPECT_EQ(renewing.killed, !revoked.empty());
    renewing.late = true;
    EXPECT_FALSE(work_->hurry()) << "SIGKILL has not ended it, and a further signal must end this";
    endHook(renewing, 0);
    EXPECT_EQ(work_->hurry(), !revoked.empty()) << "on_revoked runs";
    endHook(revoking, 0);
    EXPECT_EQ(isReleased(), true);
    candidate_.reset();
    stage_.advance(10s);
  }
}

TEST_F(TermWorkTest, TheServiceManagerIsShownTheTerm) {
  begin();
  EXPECT_EQ(work_->text("billing"), "leading group billing, token 1");
  work_->doubted(true);
  EXPECT_EQ(work_->text("billing"), "leading group billing, token 1, in doubt");
  (void)shutdown.take(SIGTERM, now());
  EXPECT_EQ(work_->text("billing"), "draining");
  endJob(0, true);
  EXPECT_EQ(work_->text("billing"), "");
}

/// `candidate.ready`, played: runs are started and answered by the test.
class ReadinessTest : public ::testing::Test {
 protected:
  void after(std::chrono::nanoseconds d) {
    now = now + d;
    readiness.act(now);
  }
  void answer(int code) {
    run.status = ExitStatus{false, code};
    readiness.act(now);
  }

  Instant now{1h, 1h, 1h};
  Played run;
  int runs{0};
  bool cannotStart{false}, diesAtOnce{false};
  std::vector<std::string> changes;
  cli::RepeatedCheck readiness{
      {.every = 5s,
       .run =
           [this](const Instant& /*now*/) {
             if (cannotStart) throw std::system_error{EAGAIN, std::generic_category()};
             if (diesAtOnce) throw std::runtime_error{"the job's process was killed before it began"};
             ++runs;
             run = {};
             return std::make_unique<PlayedHook>(run);
           },
       .changed = [this](bool ready,
                         const std::string& why) { changes.push_back((ready ? "ready: " : "not ready: ") + why); }}};
};

TEST_F(ReadinessTest, NothingIsReadyBeforeTheFirstSuccessAndChangesAreToldOnce) {
  EXPECT_FALSE(readiness.isGood());
  after(0s);
  answer(1);
  answer(1);
  after(5s);
  answer(0);
  after(5s);
  answer(0);
  EXPECT_TRUE(readiness.isGood());
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes.front().substr(0, 9), "not ready");
  EXPECT_EQ(changes.back().substr(0, 5), "ready");
}

TEST_F(ReadinessTest, OneRunAtATimeAndTheNextAPeriodAfterItsEnd) {
  after(0s);
  after(60s);
  EXPECT_EQ(runs, 1) << "the first still runs";
  answer(0);
  after(4s);
  EXPECT_EQ(runs, 1);
  after(1s);
  EXPECT_EQ(runs, 2);
}

/// I6: nothing waits for it. The answer stays what it was until the run is killed at its limit.
TEST_F(ReadinessTest, ARunThatHangsChangesNothingUntilItIsKilled) {
  after(0s);
  answer(0);
  after(5s);
  after(9s);
  EXPECT_TRUE(readiness.isGood());
  run.status = ExitStatus{true, SIGKILL};
  readiness.act(now);
  EXPECT_FALSE(readiness.isGood());
}

TEST_F(ReadinessTest, ARunThatCannotBeStartedIsNotReadyAndIsTriedAgain) {
  cannotStart = true;
  after(0s);
  EXPECT_EQ(changes.size(), 1U);
  EXPECT_FALSE(readiness.isGood());
  cannotStart = false;
  after(5s);
  answer(0);
  EXPECT_TRUE(readiness.isGood());
}

TEST_F(ReadinessTest, ARunThatSomebodyKillsBeforeItBeginsIsNotReadyAndIsTriedAgain) {
  diesAtOnce = true;
  EXPECT_NO_THROW(after(0s));
  EXPECT_EQ(changes, std::vector<std::string>{"not ready: the job's process was killed before it began"});
  diesAtOnce = false;
  after(5s);
  answer(0);
  EXPECT_TRUE(readiness.isGood());
}

/// It hangs in the kernel, which waits for a disk.
TEST_F(ReadinessTest, ARunThatSigkillDoesNotEndIsNotReadyAndTheOnlyOne) {
  after(0s);
  answer(0);
  after(5s);
  run.late = true;
  after(10s);
  EXPECT_FALSE(readiness.isGood());
  after(1h);
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(changes.size(), 2U) << "it is told once";
  answer(0);
  after(5s);
  EXPECT_EQ(runs, 3);
}

TEST_F(ReadinessTest, NoRunBeginsWhileTheAnswerInterestsNobody) {
  readiness.act(now, false);
  EXPECT_EQ(runs, 0);
  EXPECT_FALSE(readiness.untilWake(now, false));
  after(0s);
  now = now + 60s;
  readiness.act(now, false);
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(readiness.untilWake(now, false)) << "it still runs, and is killed when its time is over";
  run.status = ExitStatus{};
  readiness.act(now, false);
  readiness.act(now + 60s, false);
  EXPECT_EQ(runs, 1);
}

/// `lease.probe` on a disk from which no write comes back once it stalls: not even SIGKILL ends the run then. Each run
/// takes nearly all of its time.
TEST(LeaseProbe, ALeaderWhoseDiskStallsIsSucceededWithinTheBound) {
  constexpr auto lease = 3s, progressTimeout = 5s, every = 1s, limit = 2s;
  constexpr auto step = 100ms;
  for (auto healthy = 20s + 0ms; healthy < 24s; healthy += step) {
    Stage stage;
    const Candidate a =
        stage.leader("a", [&](GroupOptions& options) { options.lease.progressTimeout = progressTimeout; });
    const Candidate b = stage.candidate("b");
    b->start();
    Played run;
    int runs = 0;
    cli::RepeatedCheck probe{
        {.every = every,
         .run =
             [&](const Instant& /*now*/) {
               run = {};
               ++runs;
               return std::make_unique<PlayedHook>(run);
             },
         .changed = [](bool /*good*/, const std::string& /*why*/) {},
         .succeeded = [&](const Instant& began,
                          const Instant& now) { a.record->term().reportProgress(elapsedForHolder(began, now)); }}};
    Instant began = stage.clock->now();
    const auto pass = [&](bool writes) {
      const int before = runs;
      const Instant now = stage.clock->now();
      if (writes && elapsedForHolder(began, now) >= limit - step) run.status = ExitStatus{};
      probe.act(now);
      if (runs != before) began = now;
      stage.advance(step);
    };
    for (auto at = 0s + 0ms; at < healthy; at += step) pass(true);
    ASSERT_TRUE(a->isLeader()) << "probes that succeed keep the lease";
    const int before = runs;
    auto stalled = 0s + 0ms;
    for (; !b->isLeader() && stalled < 60s; stalled += step) pass(false);
    EXPECT_LE(stalled, progressTimeout + every + limit + lease) << "healthy for " << healthy.count() << " ms";
    EXPECT_LE(runs, before + 1) << "the one that hangs is the last";
    EXPECT_EQ(a.record->why().reason, RevokeReason::expired);
  }
}

TEST_F(ReadinessTest, TheEndOfTheProgramKillsTheRunAndBeginsNoOther) {
  after(0s);
  readiness.stop();
  EXPECT_TRUE(run.killed);
  after(60s);
  EXPECT_EQ(runs, 1);
  EXPECT_FALSE(readiness.untilWake(now));
}

}  // namespace
}  // namespace tenure::test
