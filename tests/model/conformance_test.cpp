// The real LeaseMachine does only what the model of the protocol (lease.pml) allows its candidates. So what SPIN has
// shown for the model is true for the machine, within the limits of the model (tests/model/README.md states them).
#include "model/conformance.hpp"

#include <gtest/gtest.h>

#include "lockcore/machine_harness.hpp"
#include "model/small_world.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

constexpr int moves = 1500;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t seeds = 80;
#else
constexpr std::uint64_t seeds = 400;
#endif

/// A right has one end and not two, as in the model.
LeaseOptions modelLease() {
  LeaseOptions options;
  options.duration = 10s;
  options.heartbeat = 3s;
  options.clockMargin = 1s;
  options.stopMargin = 0ms;
  options.drainTimeout = 4s;
  return options;
}

TEST(Conformance, everyStepOfTheMachineIsOneOfTheModel) {
  std::map<std::string, int> used;
  int steps = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SmallWorld world{{seed, modelLease(), modelLease()}};
    world.run(moves);
    ASSERT_EQ(world.disagreement(), "") << "seed " << seed << " after " << world.steps() << " steps";
    steps += world.steps();
    for (const auto& [name, count] : world.used()) used[name] += count;
  }
  RecordProperty("steps", steps);
  // If no run has used a rule, anything that the machine does there would count as right. The rarest rule is used by
  // one seed in thirty, so this check does nothing with the few seeds of a sanitized run.
  for (const NamedRule& rule : modelRules()) {
    EXPECT_GE(used[rule.name], static_cast<int>(seeds / 100)) << rule.name << " was hardly tried";
    RecordProperty(rule.name, used[rule.name]);
  }
}

/// In how many seeds a machine is caught that has other options than the model assumes.
int foundOut(const LeaseOptions& machine, const LeaseOptions& model) {
  int count = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SmallWorld world{{seed, machine, model}};
    world.run(moves);
    count += world.disagreement().empty() ? 0 : 1;
  }
  return count;
}

TEST(Conformance, seesARightThatLastsTooLong) {
  LeaseOptions guardless = modelLease();
  guardless.clockMargin = 0ms;
  EXPECT_GT(foundOut(guardless, modelLease()), 20);
}

TEST(Conformance, seesLeadershipThatLastsTooLittle) {
  LeaseOptions cautious = modelLease();
  cautious.clockMargin = 2s;
  EXPECT_GT(foundOut(cautious, modelLease()), 20);
}

/// Brings a machine into some state, with the model beside it. Then the test invents a step that the machine would
/// never make.
class MadeUp : public testing::Test {
 protected:
  MadeUp() { EXPECT_EQ(real(event::Start{}), ""); }

  /// The real step of the machine.
  std::string real(const LeaseEvent& event) {
    actions_ = harness_.machine.step(harness_.now, event);
    for (const LeaseAction& a : actions_) {
      if (const auto* read = std::get_if<action::SendRead>(&a)) attempt_ = read->attempt;
      if (const auto* write = std::get_if<action::SendWrite>(&a)) {
        attempt_ = write->attempt;
        write_ = write->request;
      }
    }
    return model_.disagreement(harness_.now, event, actions_, Seen::of(harness_.machine));
  }
  /// An invented step instead.
  std::string madeUp(const LeaseEvent& event, const LeaseActions& actions, const Seen& seen) {
    return Conformance{model_}.disagreement(harness_.now, event, actions, seen);
  }

  std::string read(const std::optional<LeaseRecord>& record) { return real(event::ReadReply{attempt_, record}); }
  std::string wrote(const WriteOutcome& outcome) { return real(event::WriteReply{attempt_, outcome}); }
  void pass(std::chrono::nanoseconds d) { harness_.now = harness_.now + d; }
  [[nodiscard]] Seen seen() const { return Seen::of(harness_.machine); }
  [[nodiscard]] action::SendWrite request(WriteRequest::Purpose purpose, std::vector<RecordVersion> expected) const {
    WriteRequest made{LeaseKey{"lease"}, purpose, std::move(expected), {}, {}};
    made.record.holder = selfName;
    made.record.version = RecordVersion{"made-up"};
    return {attempt_ + 1, made, 1s};
  }
  [[nodiscard]] TermState right(Instant anchor, std::uint64_t token) const {
    const LeaseTiming timing = LeaseTiming::from(modelLease()).value();
    return {anchor, timing.leadsFor(), timing.validFor(), FencingToken{token}};
  }

  /// Leads with token 1 from now on, with no request under way.
  void lead() {
    ASSERT_EQ(read(std::optional<LeaseRecord>{}), "");
    for (int i = 0; i < 5 && seen().state == LeaseState::candidate; ++i) {
      pass(10ms);
      ASSERT_EQ(real(event::Wakeup{}), "");
    }
    sentAt_ = harness_.now;
    ASSERT_EQ(wrote(Applied{FencingToken{1}}), "");
    ASSERT_EQ(seen().state, LeaseState::leading);
    version_ = write_.record.version;
  }

  MachineHarness harness_{modelLease()};
  Conformance model_{selfName, LeaseTiming::from(modelLease()).value()};
  LeaseActions actions_;
  Attempt attempt_{0};
  WriteRequest write_;
  Instant sentAt_{};
  RecordVersion version_;
};

TEST_F(MadeUp, aTakeoverBeforeTheLeaseIsOverIsRefused) {
  ASSERT_EQ(read(othersRecord("v", 5)), "");
  const Seen acquiring{LeaseState::acquiring, {}, false};
  const LeaseActions takeover{request(WriteRequest::Purpose::acquire, {RecordVersion{"v"}})};
  pass(10s - 1ns);
  EXPECT_NE(madeUp(event::Wakeup{}, takeover, acquiring), "");
  pass(1ns);
  EXPECT_EQ(madeUp(event::Wakeup{}, takeover, acquiring), "");
  const LeaseActions blind{request(WriteRequest::Purpose::acquire, {RecordVersion{"another"}})};
  EXPECT_NE(madeUp(event::Wakeup{}, blind, acquiring), "") << "of a version that it has not seen";
}

TEST_F(MadeUp, aVersionThatChangesStartsTheWaitAnew) {
  ASSERT_EQ(read(othersRecord("v1", 5)), "");
  pass(6s);
  ASSERT_EQ(real(event::Wakeup{}), "");
  ASSERT_EQ(read(othersRecord("v2", 5)), "");
  pass(6s);
  const Seen acquiring{LeaseState::acquiring, {}, false};
  EXPECT_NE(madeUp(event::Wakeup{}, {request(WriteRequest::Purpose::acquire, {RecordVersion{"v2"}})}, acquiring), "");
}

TEST_F(MadeUp, aTermThatCountsFromTheAnswerIsRefused) {
  ASSERT_EQ(read(std::optional<LeaseRecord>{}), "");
  for (int i = 0; i < 5 && seen().state == LeaseState::candidate; ++i) {
    pass(10ms);
    ASSERT_EQ(real(event::Wakeup{}), "");
  }
  ASSERT_EQ(seen().state, LeaseState::acquiring);
  const Instant sent = harness_.now;
  pass(1s);
  const event::WriteReply answer{attempt_, Applied{FencingToken{1}}};
  const LeaseActions elected{action::Elected{FencingToken{1}}};
  EXPECT_EQ(madeUp(answer, elected, {LeaseState::leading, right(sent, 1), true}), "");
  EXPECT_NE(madeUp(answer, elected, {LeaseState::leading, right(harness_.now, 1), true}), "");
  pass(8s);
  EXPECT_NE(madeUp(answer, elected, {LeaseState::leading, right(sent, 1), true}), "") << "after the end of the right";
  EXPECT_EQ(madeUp(answer, {}, {LeaseState::candidate, {}, false}), "");
}

TEST_F(MadeUp, aSuccessAfterTheDeadlineRevivesNothing) {
  lead();
  pass(3s);
  ASSERT_EQ(real(event::Wakeup{}), "");
  const Instant sent = harness_.now;
  pass(6s);
  const event::WriteReply answer{attempt_, Applied{FencingToken{1}}};
  EXPECT_NE(madeUp(answer, {}, {LeaseState::leading, right(sent, 1), true}), "");
  EXPECT_EQ(real(answer), "");
  EXPECT_EQ(seen().state, LeaseState::candidate);
}

TEST_F(MadeUp, aRenewalThatDoesNotNameTheUnansweredOneIsRefused) {
  lead();
  pass(3s);
  ASSERT_EQ(real(event::Wakeup{}), "");
  const RecordVersion unanswered = write_.record.version;
  ASSERT_EQ(wrote(Unknown{transientError()}), "");
  pass(1ms);
  const auto renew = [&](std::vector<RecordVersion> expected) {
    return madeUp(event::Wakeup{}, {request(WriteRequest::Purpose::renew, std::move(expected))}, seen());
  };
  EXPECT_EQ(renew({version_, unanswered}), "");
  EXPECT_NE(renew({version_}), "");
  EXPECT_NE(renew({unanswered}), "");
  EXPECT_NE(renew({version_, unanswered, RecordVersion{"of somebody else"}}), "");
  EXPECT_NE(renew({}), "");
}

TEST_F(MadeUp, anUnansweredRenewalExtendsNothing) {
  lead();
  pass(3s);
  ASSERT_EQ(real(event::Wakeup{}), "");
  const event::WriteReply answer{attempt_, Unknown{transientError()}};
  EXPECT_EQ(madeUp(answer, {}, {LeaseState::leading, right(sentAt_, 1), true}), "");
  EXPECT_NE(madeUp(answer, {}, {LeaseState::leading, right(harness_.now, 1), true}), "");
  EXPECT_NE(
      madeUp(answer, {action::Revoked{RevokeReason::lost, "", FencingToken{1}}}, {LeaseState::candidate, {}, true}), "")
      << "nor does it end anything";
}

TEST_F(MadeUp, aReleaseBesideTheWorkIsRefused) {
  lead();
  const action::Revoked revoked{RevokeReason::steppedDown, "", FencingToken{1}};
  const action::SendWrite release = request(WriteRequest::Purpose::release, {version_});
  EXPECT_NE(madeUp(event::StepDown{}, {revoked, release}, {LeaseState::releasing, {}, true}), "");
  ASSERT_EQ(real(event::StepDown{}), "");
  EXPECT_EQ(madeUp(event::WorkEnded{}, {release}, {LeaseState::releasing, {}, false}), "");
  EXPECT_NE(madeUp(event::WorkEnded{}, {release}, {LeaseState::releasing, right(sentAt_, 1), false}), "")
      << "while the right is still believed in";
}

TEST_F(MadeUp, leadershipWithoutAWordOrAWordWithoutLeadershipIsRefused) {
  lead();
  EXPECT_NE(madeUp(event::Wakeup{}, {}, {LeaseState::candidate, {}, true}), "");
  EXPECT_NE(madeUp(event::Wakeup{}, {action::Elected{FencingToken{2}}}, seen()), "");
  EXPECT_NE(madeUp(event::StepDown{}, {}, {LeaseState::draining, right(sentAt_, 1), true}), "");
  EXPECT_EQ(madeUp(event::Wakeup{}, {}, seen()), "");
}

}  // namespace
}  // namespace tenure::test
