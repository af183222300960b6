// Histories and statuses as JSON.
#include <gtest/gtest.h>

#include <tenure/ops/snapshot.hpp>

#include "ops/src/client.hpp"

namespace tenure::test {
namespace {

using Kind = TermEvent::Kind;

std::vector<ops::GroupEvents> sample() {
  return {{"billing",
           {{Kind::elected, 1'700'000'000'123, FencingToken{7}, {}, ""},
            {Kind::doubtBegan, 1'700'000'001'000, FencingToken{7}, {}, "no answer\nfrom \"x\""},
            {Kind::doubtEnded, 1'700'000'001'500, FencingToken{7}, {}, ""},
            {Kind::refused, 1'700'000'001'600, FencingToken{7}, {}, "a resource has seen token 8"},
            {Kind::revoked, 1'700'000'002'000, FencingToken{7}, RevokeReason::lost, "somebody else"}}},
          {"reports", {}}};
}

TEST(History, JsonHasWhatHappened) {
  EXPECT_EQ(ops::historyJson({{"g", {sample()[0].events[4]}}}),
            R"({"groups":[{"group":"g","events":[{"at":"2023-11-14T22:13:22.000Z","at_ms":1700000002000,)"
            R"("event":"revoked","fencing_token":7,"reason":"lost","detail":"somebody else"}]}]})"
            "\n");
  EXPECT_EQ(ops::historyJson({}), "{\"groups\":[]}\n");
}

TEST(History, WhatIsWrittenIsReadBack) {
  const auto read = ops::parseHistory(ops::historyJson(sample()));
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ((*read)[0].group, "billing");
  EXPECT_EQ((*read)[0].events, sample()[0].events);
  EXPECT_TRUE((*read)[1].events.empty());
}

TEST(History, WhatIsNoneIsRefused) {
  for (const char* text :
       {"", "{", "[]", "{}", R"({"groups":1})", R"({"groups":[1]})", R"({"groups":[{"events":{}}]})"}) {
    EXPECT_FALSE(ops::parseHistory(text)) << text;
  }
  const auto odd = ops::parseHistory(
      R"({"groups":[{"group":1,"events":[1,{},{"event":"later"},{"event":"elected","fencing_token":-1,"at_ms":"x"}]}]})");
  ASSERT_TRUE(odd);
  ASSERT_EQ(odd->at(0).events.size(), 1U) << "what this release does not know is skipped";
  EXPECT_TRUE(odd->at(0).events[0].token.isNone());
}

TEST(History, TextsOfOthersAreValidJson) {
  const std::string json = ops::historyJson({{"g\xFF", {{Kind::elected, 1, FencingToken{1}, {}, "\xC3"}}}});
  const auto read = ops::parseHistory(json);
  ASSERT_TRUE(read) << json;
  EXPECT_EQ(read->at(0).group, "g\xEF\xBF\xBD");
}

TEST(StatusJson, LeaderTellsTokenAndTime) {
  EXPECT_EQ(ops::leaderJson("g", "a#1", {true, FencingToken{41}, std::chrono::milliseconds{6'543}}),
            R"({"group":"g","candidate":"a#1","leads":true,"fencing_token":41,"remaining_ms":6543})"
            "\n");
  EXPECT_EQ(ops::leaderJson("g", "a#1", {}),
            R"({"group":"g","candidate":"a#1","leads":false,"fencing_token":null,"remaining_ms":0})"
            "\n");
}

}  // namespace
}  // namespace tenure::test
