// The tokens of a history lie above all that an earlier one can have given out.
#include "lockcore/stores/postgresql/src/token_rule.hpp"

#include <cstdint>

#include <gtest/gtest.h>

namespace tenure::postgresql_store {
namespace {

constexpr std::int64_t block = std::int64_t{1} << 40;

FencingToken token(std::int64_t value) { return FencingToken{static_cast<std::uint64_t>(value)}; }

KnownTokens known(std::int64_t counter, std::int64_t copy, const char* history) { return {counter, copy, history}; }

TEST(TokenRule, countsOnWithinAHistory) {
  EXPECT_EQ(planToken(known(7, 7, "1/1"), token(0), "1/1").token, token(8));
  EXPECT_EQ(planToken(known(7, 9, "1/1"), token(0), "1/1").token, token(10)) << "the record knows more";
  EXPECT_EQ(planToken(known(7, 0, "1/1"), token(30), "1/1").token, token(31)) << "a resource knows more";
  EXPECT_EQ(planToken(known(-5, 0, "1/1"), token(0), "1/1").token, token(1)) << "somebody has set it back";
}

TEST(TokenRule, aRowThatIsMadeBeginsInTheBlockOfTheTimeline) {
  EXPECT_EQ(planToken(std::nullopt, token(0), "1/1").token, token(1));
  EXPECT_EQ(planToken(std::nullopt, token(41), "1/1").token, token(42));
  EXPECT_EQ(planToken(std::nullopt, token(41), "1/3").token, token(2 * block + 1));
  EXPECT_EQ(planToken(std::nullopt, token(0), std::nullopt).token, token(1)) << "without histories";
}

TEST(TokenRule, anotherHistoryBeginsTheNextBlock) {
  EXPECT_EQ(planToken(known(7, 7, "1/1"), token(0), "1/2").token, token(block));
  EXPECT_EQ(planToken(known(block + 7, 0, "1/2"), token(0), "1/3").token, token(2 * block));
  EXPECT_EQ(planToken(known(7, 7, "1/1"), token(0), "1/5").token, token(4 * block))
      << "others may have used those between";
  EXPECT_EQ(planToken(known(3 * block, 0, "1/4"), token(0), "2/1").token, token(4 * block))
      << "a copy on another server";
  EXPECT_EQ(planToken(known(7, 7, "1/1"), token(2 * block + 5), "1/2").token, token(2 * block + 6))
      << "above the floor";
}

/// The first acquisition of each history may be lost with its block, also where an operator or another server has moved
/// the counter above the blocks of the timelines.
TEST(TokenRule, whatSeveralHistoriesHaveLostIsNotGivenAgain) {
  const FencingToken lost = planToken(known(3 * block + 7, 0, "1/1"), token(0), "1/2").token;
  EXPECT_EQ(lost, token(4 * block));
  EXPECT_EQ(planToken(known(3 * block + 7, 0, "1/1"), token(0), "1/3").token, token(5 * block));
  EXPECT_EQ(planToken(known(3 * block + 7, 0, "1/4"), token(0), "2/1").token, token(4 * block));
  EXPECT_EQ(planToken(known(3 * block + 7, 0, "1/4"), token(0), "2/2").token, token(5 * block));
}

TEST(TokenRule, aChangeBetweenHistoriesAndNoneIsAnother) {
  EXPECT_EQ(planToken(known(7, 7, "1/1"), token(0), std::nullopt).token, token(block));
  EXPECT_EQ(planToken(KnownTokens{7, 7, std::nullopt}, token(0), "1/1").token, token(block));
  EXPECT_EQ(planToken(KnownTokens{7, 7, std::nullopt}, token(0), std::nullopt).token, token(8));
}

TEST(TokenRule, tellsWhereItEnds) {
  const auto greatest = static_cast<std::int64_t>(maxFencingToken.value());
  EXPECT_GT(planToken(known(greatest, 0, "1/1"), token(0), "1/1").token, maxFencingToken);
  EXPECT_EQ(planToken(known(greatest - 1, 0, "1/1"), token(0), "1/1").token, maxFencingToken);
  EXPECT_GT(planToken(known(greatest - 1, 0, "1/1"), token(0), "1/2").token, maxFencingToken);
  EXPECT_EQ(planToken(std::nullopt, token(0), "1/8192").token, token(8191 * block + 1)) << "the last block";
  EXPECT_GT(planToken(std::nullopt, token(0), "1/8193").token, maxFencingToken);
  EXPECT_GT(planToken(std::nullopt, token(0), "1/2147483647").token, maxFencingToken);
  EXPECT_GT(planToken(known(INT64_MAX, INT64_MAX, "1/1"), token(0), "1/1").token, maxFencingToken);
}

TEST(TokenRule, theLeastTokenKnowsNothingOfTheFloor) {
  EXPECT_EQ(planToken(known(7, 7, "1/1"), token(1'000), "1/1").least, token(8));
  EXPECT_EQ(planToken(known(7, 7, "1/1"), token(1'000), "1/3").least, token(2 * block));
  EXPECT_EQ(planToken(std::nullopt, token(1'000), "1/1").least, token(1));
}

TEST(TokenRule, readsTheTimelineFromTheName) {
  EXPECT_EQ(timelineOf(std::nullopt), 1);
  EXPECT_EQ(timelineOf("7711724628853704316/12"), 12);
  EXPECT_EQ(timelineOf("nonsense"), 1);
  EXPECT_EQ(timelineOf("1/-4"), 1);
}

}  // namespace
}  // namespace tenure::postgresql_store
