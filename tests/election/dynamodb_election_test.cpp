// Electors on DynamoDB in real time. Each has its own store and connections, as separate processes would.
#include <algorithm>
#include <array>
#include <future>
#include <vector>

#include "election/dynamodb_table.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

class DynamoDbElection : public DynamoDbTable {
 protected:
  struct Member {
    std::string id;
    std::unique_ptr<Record> record{std::make_unique<Record>()};
    std::unique_ptr<LeaderElector> elector{};  // last: its record receives callbacks until it is destroyed
  };

  Member& add(const std::string& id, std::shared_ptr<LeaseStore> over) {
    members_.push_back({id});
    members_.back().elector = elector(id, std::move(over), *members_.back().record);
    return members_.back();
  }
  Member& add(const std::string& id) { return add(id, store()); }

  [[nodiscard]] long leaders() const {
    return std::count_if(members_.begin(), members_.end(), [](const Member& m) { return m.elector->isLeader(); });
  }
  [[nodiscard]] int terms() const {
    int all = 0;
    for (const Member& member : members_) all += member.record->count("elected");
    return all;
  }
  [[nodiscard]] Member& leader() {
    EXPECT_TRUE(eventually([&] { return leaders() == 1; }));
    return *std::find_if(members_.begin(), members_.end(), [](const Member& m) { return m.elector->isLeader(); });
  }
  /// The record is told a moment after isLeader() became true.
  [[nodiscard]] static bool led(const Member& member, int times = 1) {
    return eventually([&] { return member.record->count("elected") >= times; });
  }
  [[nodiscard]] static bool revoked(const Member& member) {
    return eventually([&] { return member.record->count("revoked") == 1; });
  }

  std::vector<Member> members_ = [] {
    std::vector<Member> none;
    none.reserve(8);  // references to members stay valid
    return none;
  }();
};

TEST_F(DynamoDbElection, OneOfThreeLeadsAndTheOthersKnowWho) {
  for (const char* id : {"a", "b", "c"}) add(id);
  const Member& first = leader();
  ASSERT_TRUE(led(first));
  for (const Member& member : members_) {
    EXPECT_TRUE(eventually([&] {
      const auto seen = member.elector->status().lease.leader;
      return seen && seen->holder == first.elector->candidate() && seen->token == FencingToken{1};
    })) << member.id;
  }
  // This continues for many heartbeats.
  ASSERT_TRUE(eventually([&] { return first.record->count("renewed 1") >= 12; }));
  EXPECT_EQ(terms(), 1);
  EXPECT_EQ(leaders(), 1);
}

TEST_F(DynamoDbElection, ACandidateThatIsCutOffIsFollowedWhenItsLeaseIsOver) {
  const auto cut = std::make_shared<FaultStore>(store(), sharedScheduler());
  Member& first = add("first", cut);
  ASSERT_TRUE(led(first));
  Member& second = add("second");
  ASSERT_TRUE(eventually([&] { return second.elector->status().lease.leader.has_value(); }));
  cut->setAll(Fault::neverLost);
  const Instant silent = readClock();
  ASSERT_TRUE(eventually([&] { return second.elector->isLeader(); }));
  const auto took = elapsedForHolder(silent, readClock());
  EXPECT_FALSE(first.elector->isLeader());
  // Its last heartbeat was up to one heartbeat before. A poll saw that, and a poll sees that it is over.
  EXPECT_GT(took, lease - heartbeat - margin());
  EXPECT_LT(took, lease + heartbeat + margin());
  EXPECT_EQ(second.elector->fencingToken(), FencingToken{2});
  ASSERT_TRUE(revoked(first));
  EXPECT_EQ(first.record->why().reason, RevokeReason::storeUnreachable);
}

TEST_F(DynamoDbElection, APoliteEndHandsOverWithinAPoll) {
  Member& first = add("first");
  ASSERT_TRUE(led(first));
  Member& second = add("second");
  ASSERT_TRUE(eventually([&] { return second.elector->status().lease.leader.has_value(); }));
  EXPECT_EQ(first.elector->stop(), ReleaseResult::released);
  const Instant free = readClock();
  ASSERT_TRUE(led(second));
  EXPECT_LT(elapsedForHolder(free, readClock()), heartbeat + margin());
  EXPECT_EQ(second.elector->fencingToken(), FencingToken{2});
}

TEST_F(DynamoDbElection, AnOperatorAsksTheLeaderToStepDownAndAnotherFollows) {
  Member& first = add("first");
  ASSERT_TRUE(led(first));
  Member& second = add("second");
  ASSERT_TRUE(eventually([&] { return second.elector->status().lease.leader.has_value(); }));
  const auto operators = store();
  std::promise<WriteOutcome> asked;
  operators->requestStepDown(LeaseKey{"elected"}, {FencingToken{1}}, {5s},
                             [&](WriteOutcome outcome) { asked.set_value(std::move(outcome)); });
  EXPECT_TRUE(std::holds_alternative<Applied>(asked.get_future().get()));
  const Instant told = readClock();
  ASSERT_TRUE(led(second));
  EXPECT_LT(elapsedForHolder(told, readClock()), 2 * heartbeat + margin()) << "its next heartbeat, and a poll";
  ASSERT_TRUE(revoked(first));
  EXPECT_EQ(first.record->why().reason, RevokeReason::steppedDown);
  EXPECT_EQ(second.elector->fencingToken(), FencingToken{2});
}

TEST_F(DynamoDbElection, ADeletedLeaseRevokesWithRecordMissingAndTheTokenRises) {
  Member& only = add("only");
  ASSERT_TRUE(led(only));
  erase("elected");
  ASSERT_TRUE(revoked(only));
  EXPECT_EQ(only.record->why().reason, RevokeReason::recordMissing);
  ASSERT_TRUE(led(only, 2));
  EXPECT_EQ(only.record->term().fencingToken(), FencingToken{2}) << "the counter is a row of its own";
}

/// It has never seen the item, and the leader does not notice the deletion before its lease is over.
TEST_F(DynamoDbElection, ACandidateThatComesAfterTheDeletionNeverLeadsBesideTheLeader) {
  const auto cut = std::make_shared<FaultStore>(store(), sharedScheduler());
  Member& first = add("first", cut);
  ASSERT_TRUE(led(first));
  cut->setAll(Fault::neverLost);
  erase("elected");
  const Instant erased = readClock();
  Member& second = add("second");
  bool both = false;
  ASSERT_TRUE(eventually([&] {
    const bool leads = second.elector->isLeader();
    both = both || (leads && first.elector->isLeader());
    return leads;
  }));
  EXPECT_FALSE(both);
  EXPECT_GE(elapsedForHolder(erased, readClock()), lease);
  EXPECT_EQ(second.elector->fencingToken(), FencingToken{2});
}

TEST_F(DynamoDbElection, TheTokenRisesThoughTheCounterIsDeletedToo) {
  for (const char* id : {"a", "b"}) add(id);
  Member& first = leader();
  ASSERT_TRUE(led(first));
  const Member& other = &first == &members_[0] ? members_[1] : members_[0];
  ASSERT_TRUE(eventually([&] { return other.elector->status().lease.leader.has_value(); }));
  erase("elected#fence");
  erase("elected");
  ASSERT_TRUE(revoked(first));
  EXPECT_EQ(first.record->why().reason, RevokeReason::recordMissing);
  ASSERT_TRUE(eventually([&] { return terms() == 2; }));
  EXPECT_GT(leader().record->term().fencingToken(), FencingToken{1}) << "whoever it is, it has seen the first term";
}

TEST_F(DynamoDbElection, FiveThatStartAtOnceMakeTheTableAndElectOne) {
  for (const char* id : {"a", "b", "c", "d", "e"}) add(id);
  ASSERT_TRUE(led(leader()));
  EXPECT_EQ(terms(), 1);
  EXPECT_NE(call("DescribeTable", "").find("ACTIVE"), std::string::npos);
  for (const Member& member : members_) {
    EXPECT_TRUE(eventually([&] { return member.elector->status().lease.leader.has_value(); })) << member.id;
  }
  EXPECT_EQ(leaders(), 1);
  EXPECT_EQ(terms(), 1);
}

TEST_F(DynamoDbElection, ATableOfAnotherShapeIsShownAndNobodyLeads) {
  make("id");
  for (const char* id : {"a", "b"}) add(id);
  const Instant began = readClock();
  const auto shown = [](const Member& member) {
    const auto error = member.elector->status().lease.lastError;
    return error && error->errorClass == ErrorClass::misconfigured;
  };
  for (const Member& member : members_) {
    ASSERT_TRUE(eventually([&] { return shown(member); })) << member.id;
    EXPECT_TRUE(eventually([&] {
      const std::string text = member.elector->status().lease.lastError->message;
      return text.find(R"(its partition key is "id" (S), configured is "key" (S))") != std::string::npos &&
             text.find(options_.table) != std::string::npos;
    })) << member.elector->status().lease.lastError->message;
  }
  ASSERT_TRUE(eventually([&] { return elapsedForHolder(began, readClock()) > 2 * lease || leaders() > 0; }));
  EXPECT_EQ(terms(), 0);
  EXPECT_EQ(call("Scan", "").find("elected"), std::string::npos) << "nothing was written into it";
  for (const Member& member : members_) {
    EXPECT_EQ(member.elector->stop(), ReleaseResult::notHeld);
  }
}

}  // namespace
}  // namespace tenure::test
