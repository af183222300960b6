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

/// Reads `record`, which is free, and acquires it; the acquisition is not answered yet.
void acquireOver(MachineHarness& m, const LeaseRecord& record) {
  m.step(event::Start{});
  const std::string did = m.answerRead(std::optional{record});
  if (did.find("acquire") == std::string::npos) {
    ASSERT_EQ(readUntilElse(m, std::optional{record}), "acquire");
  }
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
  ASSERT_EQ(readUntilElse(m, std::optional{releasedWith("", "gone-2")}), "acquire");
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
  m.answerWrite(Unknown{transientError()});
  ASSERT_EQ(m.toWakeup(), "read");
  m.answerRead(std::optional{landed});
  ASSERT_EQ(m.elections(), 1U);
  EXPECT_EQ(dataOf(m), "left");
}

TEST(LeaseMachinePayload, I8_AConflictThatShowsTheAcquisitionItselfBringsTheDataOfTheRecord) {
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
TEST(LeaseMachinePayload, I8_ALateAcquisitionOfAnAbsentRecordDoesNotBringDataThatWereRemovedMeanwhile) {
  MachineHarness m;
  m.becomeAcquiring();
  const LeaseRecord landed = m.written(6);
  m.answerWrite(Unknown{transientError()});
  ASSERT_EQ(m.toWakeup(), "read");
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
  ASSERT_NE(m.answerWrite(Applied{FencingToken{6}}).find("read"), std::string::npos);
  LeaseRecord next = releasedRecord("gone-2", 7);
  next.data = "second";
  m.answerRead(std::optional{next});
  ASSERT_EQ(readUntilElse(m, std::optional{next}), "acquire");
  m.answerWrite(Applied{FencingToken{8}});
  EXPECT_EQ(dataOf(m), "second");
}

}  // namespace
}  // namespace tenure::test
