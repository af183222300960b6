// What a new leader is told of the data in the record that it has won.
#include <gtest/gtest.h>

#include "lockcore/machine_harness.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

LeaseRecord releasedWith(const std::string& data, const std::string& version = "gone-1") {
  LeaseRecord record = releasedRecord(version);
  record.data = data;
  return record;
}

/// Answers each read with `record`, which is free, until the acquisition is under way.
void acquireOver(MachineHarness& m, const LeaseRecord& record) {
  if (m.state() == LeaseState::idle) m.step(event::Start{});
  for (int i = 0; m.state() != LeaseState::acquiring && i < 100; ++i) {
    m.answerRead(std::optional{record});
    if (m.state() != LeaseState::acquiring) m.toWakeup();
  }
  ASSERT_EQ(m.state(), LeaseState::acquiring);
}

std::string dataOf(const MachineHarness& m) { return m.payload() ? m.payload()->data : "none"; }

TEST(LeaseMachinePayload, aLeaderIsToldTheDataThatItsPredecessorLeft) {
  MachineHarness m;
  acquireOver(m, releasedWith("left"));
  EXPECT_EQ(m.write().record.data, "");
  EXPECT_EQ(m.write().dataRule, DataRule::replaceUnlessEmpty) << "the store keeps them";
  m.answerWrite(Applied{FencingToken{6}});
  EXPECT_EQ(dataOf(m), "left");
}

TEST(LeaseMachinePayload, aRecordWithoutDataCostsNothing) {
  MachineHarness m;
  m.becomeLeading();
  EXPECT_EQ(m.elections(), 1U);
  EXPECT_EQ(m.payload(), nullptr);
}

TEST(LeaseMachinePayload, dataThatAreGoneAtTheNextLookAreForgotten) {
  MachineHarness m;
  LeaseRecord held = othersRecord();
  held.data = "left";
  m.step(event::Start{});
  m.answerRead(std::optional{held});
  acquireOver(m, releasedWith("", "gone-2"));
  m.answerWrite(Applied{FencingToken{6}});
  EXPECT_EQ(m.payload(), nullptr);
}

TEST(LeaseMachinePayload, aSightingIsAsGoodAsARead) {
  MachineHarness m;
  LeaseSighting sighting;
  sighting.record = releasedWith("left");
  sighting.since = m.now;
  std::string did = m.step(event::Start{.sighting = sighting});
  if (did.empty()) did = m.toWakeup();
  ASSERT_EQ(did, "acquire");
  m.answerWrite(Applied{FencingToken{6}});
  EXPECT_EQ(dataOf(m), "left");
}

TEST(LeaseMachinePayload, I8_AnAcquisitionThatAReadBackShowsBringsTheDataOfTheRecord) {
  MachineHarness m;
  acquireOver(m, releasedWith("left"));
  LeaseRecord landed = m.written(6);
  landed.data = "left";
  ASSERT_EQ(m.answerWrite(Unknown{transientError()}), "read");
  m.answerRead(std::optional{landed});
  ASSERT_EQ(m.elections(), 1U);
  EXPECT_EQ(dataOf(m), "left");
}

TEST(LeaseMachinePayload, I8_AConflictWithTheAcquisitionItselfBringsTheRecordsData) {
  MachineHarness m;
  acquireOver(m, releasedWith("left"));
  LeaseRecord landed = m.written(6);
  landed.data = "left";
  m.answerWrite(Conflict{std::optional{landed}});
  ASSERT_EQ(m.elections(), 1U);
  EXPECT_EQ(dataOf(m), "left");
}

/// The record was absent when the acquisition was sent. Another client made one and removed it, and the acquisition
/// arrived after that.
TEST(LeaseMachinePayload, I8_ALateFirstAcquisitionDoesNotBringRemovedDataBack) {
  MachineHarness m;
  m.becomeAcquiring();
  const LeaseRecord landed = m.written(6);
  ASSERT_EQ(m.answerWrite(Unknown{transientError()}), "read");
  LeaseRecord others = othersRecord("other-1", 5);
  others.data = "removed since";
  m.answerRead(std::optional{others});
  ASSERT_EQ(m.toWakeup(), "read");
  m.answerRead(std::optional{landed});
  ASSERT_EQ(m.elections(), 1U);
  EXPECT_EQ(m.payload(), nullptr);
}

TEST(LeaseMachinePayload, eachTermIsToldItsOwnData) {
  MachineHarness m;
  acquireOver(m, releasedWith("first"));
  m.answerWrite(Applied{FencingToken{6}});
  ASSERT_EQ(dataOf(m), "first");
  m.step(event::StepDown{});
  m.step(event::WorkEnded{});
  m.answerWrite(Applied{FencingToken{6}});
  LeaseRecord next = releasedRecord("gone-2", 7);
  next.data = "second";
  acquireOver(m, next);
  m.answerWrite(Applied{FencingToken{8}});
  EXPECT_EQ(dataOf(m), "second");
}

}  // namespace
}  // namespace tenure::test
