// What a candidate knows of the leader by the data in its record.
#include <gtest/gtest.h>

#include "lockcore/machine_harness.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

int parsed = 0;

LeaderStatement stated(const std::string& data, FencingToken term) {
  ++parsed;
  return {data + "@" + toString(term), 7};
}

class LeaseMachineStatement : public testing::Test {
 protected:
  LeaseMachineStatement() {
    parsed = 0;
    for (const LeaseAction& action : machine_.step(now_, event::Start{})) keep(action);
  }
  /// The next look shows this record.
  void sees(const LeaseRecord& record) {
    for (int i = 0; !reading_ && i < 10; ++i) {
      now_ = now_ + machine_.untilWakeup(now_).value_or(0ns);
      for (const LeaseAction& action : machine_.step(now_, event::Wakeup{})) keep(action);
    }
    ASSERT_TRUE(reading_);
    const Attempt attempt = *std::exchange(reading_, std::nullopt);
    for (const LeaseAction& action : machine_.step(now_, event::ReadReply{attempt, std::optional{record}}))
      keep(action);
  }
  void keep(const LeaseAction& action) {
    if (const auto* read = std::get_if<action::SendRead>(&action)) reading_ = read->attempt;
    if (std::holds_alternative<action::LeaderChanged>(action)) ++changes_;
  }
  [[nodiscard]] static LeaseRecord held(int version, std::uint64_t token, const std::string& data) {
    LeaseRecord record;
    record.holder = "b#1";
    record.version = RecordVersion{"v" + std::to_string(version)};
    record.leaseDuration = 10s;
    record.token = FencingToken{token};
    record.data = data;
    return record;
  }
  [[nodiscard]] static MachineOptions options() {
    MachineOptions out{LeaseKey{"k"}, "a#1", LeaseTiming::from(tenSecondLease()).value()};
    out.statementIn = &stated;
    return out;
  }

  SeededRandom random_{7};
  Instant now_{1h, 1h, 1h};
  LeaseMachine machine_{options(), random_};
  std::optional<Attempt> reading_{};
  int changes_{0};
};

TEST_F(LeaseMachineStatement, isReadOnceForEachTermAndEachChangeOfTheData) {
  for (int look = 0; look < 20; ++look) sees(held(look, 4, "x"));
  EXPECT_EQ(parsed, 1);
  EXPECT_EQ(changes_, 1);
  EXPECT_EQ(machine_.leader()->address, "x@4");
  EXPECT_EQ(machine_.leader()->priority, 7U);
  sees(held(20, 4, "y"));
  EXPECT_EQ(machine_.leader()->address, "y@4");
  sees(held(21, 5, "y"));
  EXPECT_EQ(machine_.leader()->address, "y@5");
  EXPECT_EQ(parsed, 3);
  EXPECT_EQ(changes_, 3);
}

TEST_F(LeaseMachineStatement, noDataStateNothing) {
  sees(held(1, 4, "x"));
  sees(held(2, 4, ""));
  EXPECT_EQ(*machine_.leader(), (LeaderInfo{"b#1", FencingToken{4}}));
  sees(held(3, 4, "x"));
  EXPECT_EQ(machine_.leader()->address, "x@4");
  EXPECT_EQ(parsed, 2);
}

}  // namespace
}  // namespace tenure::test
