// Every state of the machine x every event: the next state and the actions. Situations with a request under way have
// their own rows, because only there a reply has a meaning.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lockcore/machine_harness.hpp"

namespace tenure::test {
namespace {

using Enter = void (*)(MachineHarness&);
using Make = LeaseEvent (*)(const MachineHarness&);

struct Situation {
  std::string name;  // the state, and the request under way if there is one
  Enter enter;
};

struct Event {
  std::string name;
  Make make;
};

const std::vector<Situation>& situations() {
  static const std::vector<Situation> all{
      {"idle", [](MachineHarness&) {}},
      {"candidate", [](MachineHarness& m) { m.becomeCandidate(); }},
      {"candidate/reading", [](MachineHarness& m) { m.becomeReading(); }},
      {"acquiring", [](MachineHarness& m) { m.becomeAcquiring(); }},
      {"leading", [](MachineHarness& m) { m.becomeLeading(); }},
      {"leading/renewing", [](MachineHarness& m) { m.becomeRenewing(); }},
      {"draining", [](MachineHarness& m) { m.becomeDraining(); }},
      {"draining/renewing", [](MachineHarness& m) { m.becomeDrainingWhileRenewing(); }},
      {"releasing", [](MachineHarness& m) { m.becomeReleasing(); }},
      {"releasing/renewing", [](MachineHarness& m) { m.becomeReleasingBehindRenewal(); }},
      {"stopped", [](MachineHarness& m) { m.becomeStopped(); }},
  };
  return all;
}

// Replies answer the request that was sent last; if none is under way, that request was answered before.
const std::vector<Event>& events() {
  using H = const MachineHarness&;
  static const std::vector<Event> all{
      {"Start", [](H) -> LeaseEvent { return event::Start{}; }},
      {"StepDown", [](H) -> LeaseEvent { return event::StepDown{}; }},
      {"SetReady",
       [](H) -> LeaseEvent {
         return event::SetReady{false, true, "for a test"};
       }},
      {"Stop", [](H) -> LeaseEvent { return event::Stop{}; }},
      {"Release", [](H) -> LeaseEvent { return event::Release{}; }},
      {"Renew", [](H) -> LeaseEvent { return event::Renew{1}; }},
      {"WorkEnded", [](H) -> LeaseEvent { return event::WorkEnded{}; }},
      {"WorkFailed", [](H) -> LeaseEvent { return event::WorkFailed{"it threw"}; }},
      {"WorkProgressed", [](H) -> LeaseEvent { return event::WorkProgressed{}; }},
      {"Wakeup", [](H) -> LeaseEvent { return event::Wakeup{}; }},
      {"ReadReply",
       [](H m) -> LeaseEvent {
         return event::ReadReply{m.attempt(), std::optional{othersRecord("other-2")}};
       }},
      {"WriteReply",
       [](H m) -> LeaseEvent {
         return event::WriteReply{m.attempt(), Applied{FencingToken{1}}};
       }},
      {"StoreHint", [](H) -> LeaseEvent { return event::StoreHint{}; }},
      {"HolderProvenDead", [](H) -> LeaseEvent { return event::HolderProvenDead{"0123"}; }},
      {"TokenSeen", [](H) -> LeaseEvent { return event::TokenSeen{FencingToken{9}}; }},
  };
  return all;
}

struct Expected {
  std::string state;
  std::string actions;
};

/// The pairs in which something happens. In every other pair the state stays and nothing is done.
const std::map<std::pair<std::string, std::string>, Expected>& table() {
  static const std::map<std::pair<std::string, std::string>, Expected> expected{
      {{"idle", "Start"}, {"candidate", "read"}},
      {{"idle", "Stop"}, {"stopped", "unfollow stopped(notHeld)"}},

      {{"idle", "Release"}, {"stopped", "unfollow stopped(notHeld)"}},
      {{"idle", "Renew"}, {"idle", "unrecorded(1)"}},

      {{"candidate", "Stop"}, {"stopped", "unfollow stopped(notHeld)"}},
      {{"candidate", "Release"}, {"stopped", "unfollow stopped(notHeld)"}},
      {{"candidate/reading", "Release"}, {"stopped", "unfollow stopped(notHeld)"}},
      {{"candidate", "Renew"}, {"candidate", "unrecorded(1)"}},
      {{"candidate/reading", "Renew"}, {"candidate", "unrecorded(1)"}},
      {{"candidate", "StoreHint"}, {"candidate", "read"}},
      {{"candidate/reading", "Stop"}, {"stopped", "unfollow stopped(notHeld)"}},
      {{"candidate/reading", "ReadReply"}, {"candidate", "leader(b#2)"}},

      {{"acquiring", "Renew"}, {"acquiring", "unrecorded(1)"}},
      {{"acquiring", "WriteReply"}, {"leading", "publish(leads) leader(self) elected(1)"}},

      {{"leading", "StepDown"}, {"draining", "publish(ends) revoked(steppedDown)"}},
      {{"leading", "SetReady"}, {"draining", "publish(ends) revoked(steppedDown)"}},
      {{"leading", "Stop"}, {"draining", "publish(ends) revoked(stopped)"}},
      {{"leading", "Release"}, {"releasing", "publish(ends) revoked(stopped) publish(none) release"}},
      {{"leading", "Renew"}, {"leading", "renew"}},
      {{"leading", "WorkFailed"}, {"draining", "publish(ends) revoked(fatal)"}},
      {{"leading", "TokenSeen"}, {"candidate", "publish(lost) revoked(lost) publish(none) read"}},
      {{"leading/renewing", "StepDown"}, {"draining", "publish(ends) revoked(steppedDown)"}},
      {{"leading/renewing", "SetReady"}, {"draining", "publish(ends) revoked(steppedDown)"}},
      {{"leading/renewing", "Stop"}, {"draining", "publish(ends) revoked(stopped)"}},
      {{"leading/renewing", "Release"}, {"releasing", "publish(ends) revoked(stopped) publish(none)"}},
      {{"leading/renewing", "WorkFailed"}, {"draining", "publish(ends) revoked(fatal)"}},
      {{"leading/renewing", "WriteReply"}, {"leading", "publish(leads) renewed"}},
      {{"leading/renewing", "TokenSeen"}, {"candidate", "publish(lost) revoked(lost) publish(none) read"}},

      // Renew{1} has no data, and the work ends: nothing of it is taken.
      {{"draining", "Renew"}, {"draining", "unrecorded(1)"}},
      {{"draining/renewing", "Renew"}, {"draining", "unrecorded(1)"}},
      {{"draining", "Release"}, {"releasing", "publish(none) release"}},
      {{"draining/renewing", "Release"}, {"releasing", "publish(none)"}},
      {{"draining", "WorkEnded"}, {"releasing", "publish(none) release"}},
      {{"draining/renewing", "WorkEnded"}, {"releasing", "publish(none)"}},  // it waits for the renewal first
      {{"draining/renewing", "WriteReply"}, {"draining", "publish(ends)"}},

      {{"releasing", "Renew"}, {"releasing", "unrecorded(1)"}},
      {{"releasing/renewing", "Renew"}, {"releasing", "unrecorded(1)"}},
      {{"releasing", "WriteReply"}, {"candidate", "leader(none) read"}},
      {{"releasing/renewing", "WriteReply"}, {"releasing", "release"}},

      {{"stopped", "Renew"}, {"stopped", "unrecorded(1)"}},
  };
  return expected;
}

Expected expectedFor(const std::string& situation, const std::string& event) {
  const auto found = table().find({situation, event});
  if (found != table().end()) return found->second;
  return {situation.substr(0, situation.find('/')), ""};
}

TEST(LeaseMachineTable, everyStateTimesEveryEvent) {
  std::size_t pairsThatDo = 0;
  for (const auto& [situation, enter] : situations()) {
    for (const auto& [name, make] : events()) {
      SCOPED_TRACE(situation + " x " + name);
      MachineHarness m;
      enter(m);
      ASSERT_EQ(toString(m.state()), situation.substr(0, situation.find('/')));
      const Expected expected = expectedFor(situation, name);
      EXPECT_EQ(m.step(make(m)), expected.actions);
      EXPECT_EQ(toString(m.state()), expected.state);
      pairsThatDo += table().count({situation, name});
    }
  }
  EXPECT_EQ(situations().size() * events().size(), 165U);
  EXPECT_EQ(pairsThatDo, table().size()) << "a row of the table names no situation or event";
}

/// If a machine was woken when it asked for it, and no time has passed, it must not ask again at once: that would spin.
TEST(LeaseMachineTable, noStateAsksTwiceToBeWokenAtOnce) {
  for (const auto& [situation, enter] : situations()) {
    for (const auto& [name, make] : events()) {
      SCOPED_TRACE(situation + " x " + name);
      MachineHarness m;
      enter(m);
      m.step(make(m));
      int wakeups = 0;
      for (; wakeups < 3 && m.machine.untilWakeup(m.now) == std::chrono::nanoseconds{0}; ++wakeups) m.wake();
      EXPECT_LE(wakeups, 1);
    }
  }
}

/// A reply to any request other than the one under way changes nothing, whatever it says and whenever it comes.
TEST(LeaseMachineTable, noStateTakesAReplyToAnotherAttempt) {
  const std::vector<WriteOutcome> outcomes{Applied{FencingToken{99}, true},
                                           Conflict{std::optional<LeaseRecord>{}},
                                           Conflict{std::optional{othersRecord()}},
                                           Conflict{},
                                           Rejected{transientError()},
                                           Unknown{transientError()}};
  for (const auto& [situation, enter] : situations()) {
    SCOPED_TRACE(situation);
    for (const Attempt wrong : {Attempt{0}, Attempt{1000}}) {
      MachineHarness m;
      enter(m);
      const LeaseState before = m.state();
      for (const WriteOutcome& outcome : outcomes) EXPECT_EQ(m.step(event::WriteReply{wrong, outcome}), "");
      EXPECT_EQ(m.step(event::ReadReply{wrong, std::optional<LeaseRecord>{}}), "");
      EXPECT_EQ(m.step(event::ReadReply{wrong, transientError()}), "");
      EXPECT_EQ(m.state(), before);
    }
  }
}

/// An answer of another kind than the request (from a broken store) is no answer.
TEST(LeaseMachineTable, noStateTakesAnAnswerOfTheOtherKind) {
  MachineHarness reading;
  reading.becomeReading();
  EXPECT_EQ(reading.answerWrite(Applied{FencingToken{1}}), "");
  EXPECT_EQ(reading.state(), LeaseState::candidate);
  MachineHarness acquiring;
  acquiring.becomeAcquiring();
  EXPECT_EQ(acquiring.answerRead(std::optional<LeaseRecord>{}), "");
  EXPECT_EQ(acquiring.state(), LeaseState::acquiring);
}

}  // namespace
}  // namespace tenure::test
