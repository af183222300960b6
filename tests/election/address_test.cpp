// The address that a leader states: in the document of its record, and before those who follow it.
#include <algorithm>

#include <boost/json/object.hpp>
#include <gtest/gtest.h>

#include <tenure/election/leader_follower.hpp>

#include "election/src/leader_document.hpp"
#include "election/src/term_handle.hpp"
#include "election/stage.hpp"
#include "support/data_refusing_store.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

const std::string stated = R"({"tenure":1,"term":1,"address":"10.0.0.5:8080"})";

Adjust at(const std::string& address) {
  return [address](GroupOptions& options) { options.candidate.address = address; };
}

TEST(LeaderDocument, theAddressCountsForItsTermOnly) {
  EXPECT_EQ(statementIn(stated, FencingToken{1}), (LeaderStatement{"10.0.0.5:8080"}));
  EXPECT_EQ(statementIn(stated, FencingToken{2}), LeaderStatement{});
  EXPECT_EQ(statementIn("", FencingToken{1}), LeaderStatement{});
}

TEST(LeaderDocument, isMadeOfNothingAndKeepsWhatOthersPutThere) {
  EXPECT_EQ(withStatement("", FencingToken{1}, {"10.0.0.5:8080"}), stated);
  const std::string more = R"({"tenure":1,"jobs":{"a":[1,2]},"term":1,"address":"x"})";
  EXPECT_EQ(withStatement(more, FencingToken{7}, {"y"}), R"({"tenure":1,"jobs":{"a":[1,2]},"term":7,"address":"y"})");
}

TEST(LeaderDocument, dataOfOthersAreLeftAlone) {
  for (const std::string& data : {std::string{"text"}, std::string{"[]"}, std::string{"{}"}, std::string{"{\"tenure\""},
                                  std::string{R"({"tenure":2,"term":1,"address":"x"})"},
                                  std::string{R"({"tenure":"1","term":1,"address":"x"})"}, std::string(9'000, '[')}) {
    EXPECT_EQ(statementIn(data, FencingToken{1}), LeaderStatement{}) << data.substr(0, 40);
    EXPECT_EQ(withStatement(data, FencingToken{1}, {"x"}), std::nullopt) << data.substr(0, 40);
  }
}

/// Whoever wrote them did not mean what was read: of a name that comes twice only the last one would count.
TEST(LeaderDocument, dataInAnotherSpellingAreSomebodyElses) {
  for (const char* data :
       {R"({"tenure":1,"term":1,"address":"x","address":"y"})", R"({"tenure":1,"term":1,"jobs":{"v":1},"jobs":{}})",
        R"({"tenure":1,"jobs":{"v":1,"v":1},"term":1,"address":"x"})", R"({"tenure": 1,"term":1,"address":"x"})",
        R"({"tenure":1,"term":1,"address":"x"} )", R"({"tenure":1,"term":1,"address":"\u0078"})",
        R"({"tenure":1,"term":1e0,"address":"x"})"}) {
    EXPECT_EQ(statementIn(data, FencingToken{1}), LeaderStatement{}) << data;
    EXPECT_EQ(withStatement(data, FencingToken{1}, {"x"}), std::nullopt) << data;
    EXPECT_FALSE(membersOfDocument(data).has_value()) << data;
  }
}

TEST(LeaderDocument, anAddressThatNoLeaderCouldStateIsNone) {
  for (const std::string& member :
       {std::string{"7"}, std::string{"\"\""}, std::string{"\"a b\""}, std::string{"\"\\u001b[2J\""},
        '"' + std::string(257, 'x') + '"', std::string{"\"x\",\"term\":\"1\""}}) {
    EXPECT_EQ(statementIn(R"({"tenure":1,"term":1,"address":)" + member + "}", FencingToken{1}), LeaderStatement{})
        << member;
  }
}

TEST(LeaderDocument, aPriorityCountsForItsTermOnlyAndIsNotInherited) {
  const std::string text = withStatement("", FencingToken{1}, {"x", 10}).value();
  EXPECT_EQ(text, R"({"tenure":1,"term":1,"address":"x","priority":10})");
  EXPECT_EQ(statementIn(text, FencingToken{1}), (LeaderStatement{"x", 10}));
  EXPECT_EQ(statementIn(text, FencingToken{2}), LeaderStatement{});
  EXPECT_EQ(withStatement(text, FencingToken{2}, {"", 3}), R"({"tenure":1,"term":2,"priority":3})");
  EXPECT_EQ(withStatement(text, FencingToken{2}, {"y"}), R"({"tenure":1,"term":2,"address":"y"})");
}

TEST(LeaderDocument, aPriorityThatNoLeaderCouldStateIsNone) {
  for (const char* member : {"51", "-1", "1.5", "\"7\"", "18446744073709551615", "null"}) {
    const std::string text = R"({"tenure":1,"term":1,"priority":)" + std::string{member} + "}";
    EXPECT_EQ(statementIn(text, FencingToken{1}).priority, 0U) << member;
  }
}

TEST(LeaderDocument, longerThanAnyOfOursIsSomebodyElses) {
  const auto padded = [](std::size_t bytes) {
    std::string text = R"({"tenure":1,"term":1,"address":"x","jobs":")";
    text += std::string(bytes - text.size() - 2, 'j') + "\"}";
    return text;
  };
  EXPECT_EQ(statementIn(padded(maxLeaderDocumentBytes), FencingToken{1}).address, "x");
  EXPECT_EQ(statementIn(padded(maxLeaderDocumentBytes + 1), FencingToken{1}).address, "");
  EXPECT_EQ(withStatement(padded(maxLeaderDocumentBytes + 1), FencingToken{1}, {"y"}), std::nullopt);
  EXPECT_EQ(withStatement(padded(maxLeaderDocumentBytes), FencingToken{1}, {"longer"}), std::nullopt);
}

class Addresses : public testing::Test {
 protected:
  [[nodiscard]] static std::string addressOf(const std::optional<LeaderInfo>& leader) {
    return leader ? leader->address : "nobody leads";
  }
  /// An elector that only watches, and the addresses that it was told.
  [[nodiscard]] Candidate watcher() {
    Listener listener;
    listener.onLeaderChanged = [this](const std::optional<LeaderInfo>& leader) { told_.push_back(addressOf(leader)); };
    Candidate made = stage_.candidateWith(
        "w", std::move(listener), [](GroupOptions& options) { options.candidate.mode = CandidateMode::observe; });
    made->start();
    stage_.settle();
    return made;
  }

  Stage stage_;
  std::vector<std::string> told_;
};

TEST_F(Addresses, aLeaderStatesItsAddressWithOneRenewalAtOnce) {
  const Candidate a = stage_.leader("a", at("10.0.0.5:8080"));
  EXPECT_EQ(a.store->calls(Operation::renew), 1U);
  EXPECT_EQ(stage_.stored()->data, stated);
  EXPECT_EQ(handleOf(a.record->term()).document(), stated);
  EXPECT_EQ(a->status().lease.leader->address, "10.0.0.5:8080");
  stage_.advance(10s);
  EXPECT_EQ(stage_.stored()->data, stated);
}

TEST_F(Addresses, aLeaderWithoutOneWritesNothingMore) {
  const Candidate a = stage_.leader("a");
  EXPECT_EQ(a.store->calls(Operation::renew), 0U);
  EXPECT_EQ(stage_.stored()->data, "");
}

TEST_F(Addresses, areToldToThoseWhoFollow) {
  const Candidate w = watcher();
  const Candidate a = stage_.leader("a", at("10.0.0.5:8080"));
  stage_.advance(2s);
  ASSERT_FALSE(told_.empty());
  EXPECT_EQ(told_.back(), "10.0.0.5:8080");
  EXPECT_LE(std::count(told_.begin(), told_.end(), "10.0.0.5:8080"), 1) << "renewals are no changes";
  EXPECT_EQ(addressOf(w->status().lease.leader), "10.0.0.5:8080");
  EXPECT_TRUE(stage_.logged(", at 10.0.0.5:8080"));
}

TEST_F(Addresses, aSuccessorDoesNotInheritIt) {
  const Candidate w = watcher();
  const Candidate a = stage_.leader("a", at("10.0.0.5:8080"));
  stage_.stop(a);
  const Candidate b = stage_.leader("b");
  stage_.advance(2s);
  EXPECT_EQ(stage_.stored()->data, stated) << "nobody clears it";
  EXPECT_EQ(addressOf(w->status().lease.leader), "");
  stage_.stop(b);
  const Candidate c = stage_.leader("c", at("[::1]:80"));
  stage_.advance(2s);
  EXPECT_EQ(addressOf(w->status().lease.leader), "[::1]:80");
  EXPECT_EQ(stage_.stored()->data, R"({"tenure":1,"term":3,"address":"[::1]:80"})");
}

TEST_F(Addresses, dataOfOthersStayAndTheLeaderLeads) {
  WriteRequest foreign{stage_.key, WriteRequest::Purpose::acquire, {}, {}};
  foreign.record.holder = "java";
  foreign.record.version = RecordVersion{"v"};
  foreign.record.leaseDuration = 3s;
  foreign.record.data = "theirs";
  stage_.memory->write(foreign, {}, [](const WriteOutcome&) {});
  const Candidate a = stage_.leader("a", at("10.0.0.5:8080"));
  EXPECT_EQ(stage_.stored()->data, "theirs");
  EXPECT_TRUE(stage_.logged("address and priority are not in the record"));
  EXPECT_TRUE(a->isLeader());
}

TEST_F(Addresses, whatAStoreRefusesForGoodCostsNoTerm) {
  Record record;
  LeaderElector a{
      stage_.group("a", std::make_shared<DataRefusingStore>(stage_.memory, stage_.clock), at("10.0.0.5:8080")),
      record.terms(), stage_.runtime()};
  a.start();
  stage_.advance(30s);
  EXPECT_EQ(record.lines(), std::vector<std::string>{"elected 1"});
  EXPECT_TRUE(stage_.logged("address and priority are not in the record: the item is full"));
  EXPECT_EQ(stage_.stored()->data, "");
  stage_.drive<ReleaseResult>([&] { return a.stop(); });
}

TEST_F(Addresses, I8_anUnansweredRenewalWithTheAddressIsRepeatedInTheTerm) {
  Candidate a = stage_.candidate("a", at("10.0.0.5:8080"));
  a.store->set(Operation::renew, Fault::unknownLost);
  a->start();
  ASSERT_TRUE(stage_.advanceUntil([&] { return a->isLeader(); }));
  stage_.advance(500ms);
  EXPECT_EQ(stage_.stored()->data, "");
  a.store->set(Operation::renew, Fault::none);
  stage_.advance(2s);
  EXPECT_EQ(stage_.stored()->data, stated);
  EXPECT_TRUE(a->isLeader());
}

TEST_F(Addresses, thatAreNoneAreRefused) {
  for (const std::string& address :
       {std::string{"a b"}, std::string{"a\n"}, std::string{"\xC3\xBC"}, std::string(257, 'x')}) {
    const auto group = Group::make({.group = "g", .candidate = {.address = address}}, stage_.memory);
    ASSERT_FALSE(group) << address;
    EXPECT_EQ(group.error().front().field, "candidate.address");
  }
  EXPECT_TRUE(Group::make({.group = "g", .candidate = {.address = std::string(256, 'x')}}, stage_.memory));
}

}  // namespace
}  // namespace tenure::test
