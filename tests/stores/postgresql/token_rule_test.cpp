// The tokens of a history lie above all that an earlier one can have given out.
#include "lockcore/stores/postgresql/src/token_rule.hpp"

#include <cstdint>
#include <variant>

#include <gtest/gtest.h>

#include "lockcore/stored/decisions.hpp"
#include "stores/postgresql/row_support.hpp"

namespace tenure::postgresql_store {
namespace {

constexpr std::int64_t block = std::int64_t{1} << 40;

FencingToken token(std::int64_t value) { return FencingToken{static_cast<std::uint64_t>(value)}; }

KnownTokens known(std::int64_t counter, std::int64_t copy, const char* history) { return {counter, copy, history}; }

/// The token that the rule of all stores gives over a row; none: it refuses.
FencingToken planned(const std::optional<KnownTokens>& tokens, FencingToken floor, const Value& present) {
  Row row(leaseColumnCount);
  if (tokens) {
    row = tokens->copy == 0 ? removedRow() : goodRow();
    row[counterColumn] = std::to_string(tokens->counter);
    if (tokens->copy != 0) row[tokenColumn] = std::to_string(tokens->copy);
    row[counterHistoryColumn] = tokens->history;
  }
  if (tokens) row[historyColumn] = present;  // nothing is inherited
  row[presentHistoryColumn] = present;
  const auto state = stateOf(std::move(row));
  WriteRequest request;
  request.key = LeaseKey{"billing", "eu"};
  request.purpose = WriteRequest::Purpose::acquire;
  request.tokenFloor = floor;
  if (const ReadOutcome told = state->answer(); told && *told) request.expected.push_back((*told)->version);
  const stored::Decision decision = stored::decideWrite("postgresql", request, *state);
  const auto* change = std::get_if<stored::Change>(&decision);
  return change == nullptr ? FencingToken{} : change->applied.token;
}

TEST(TokenRule, countsOnWithinAHistory) {
  EXPECT_EQ(planned(known(7, 7, "1/1"), token(0), "1/1"), token(8));
  EXPECT_EQ(planned(known(7, 9, "1/1"), token(0), "1/1"), token(10)) << "the record knows more";
  EXPECT_EQ(planned(known(7, 0, "1/1"), token(30), "1/1"), token(31)) << "a resource knows more";
  EXPECT_EQ(planned(known(-5, 0, "1/1"), token(0), "1/1"), token(1)) << "somebody has set it back";
}

TEST(TokenRule, aRowThatIsMadeBeginsInTheBlockOfTheTimeline) {
  EXPECT_EQ(planned(std::nullopt, token(0), "1/1"), token(1));
  EXPECT_EQ(planned(std::nullopt, token(41), "1/1"), token(42));
  EXPECT_EQ(planned(std::nullopt, token(41), "1/3"), token(2 * block + 1));
  EXPECT_EQ(planned(std::nullopt, token(0), std::nullopt), token(1)) << "without histories";
}

TEST(TokenRule, anotherHistoryBeginsTheNextBlock) {
  EXPECT_EQ(planned(known(7, 7, "1/1"), token(0), "1/2"), token(block));
  EXPECT_EQ(planned(known(block + 7, 0, "1/2"), token(0), "1/3"), token(2 * block));
  EXPECT_EQ(planned(known(7, 7, "1/1"), token(0), "1/5"), token(4 * block)) << "others may have used those between";
  EXPECT_EQ(planned(known(3 * block, 0, "1/4"), token(0), "2/1"), token(4 * block)) << "a copy on another server";
  EXPECT_EQ(planned(known(7, 7, "1/1"), token(block + 5), "1/2"), token(block + 6)) << "above the floor";
}

/// The first acquisition of each history may be lost with its block, also where an operator or another server has moved
/// the counter above the blocks of the timelines.
TEST(TokenRule, whatSeveralHistoriesHaveLostIsNotGivenAgain) {
  const FencingToken lost = planned(known(3 * block + 7, 0, "1/1"), token(0), "1/2");
  EXPECT_EQ(lost, token(4 * block));
  EXPECT_EQ(planned(known(3 * block + 7, 0, "1/1"), token(0), "1/3"), token(5 * block));
  EXPECT_EQ(planned(known(3 * block + 7, 0, "1/4"), token(0), "2/1"), token(4 * block));
  EXPECT_EQ(planned(known(3 * block + 7, 0, "1/4"), token(0), "2/2"), token(5 * block));
}

TEST(TokenRule, aChangeBetweenHistoriesAndNoneIsAnother) {
  EXPECT_EQ(planned(known(7, 7, "1/1"), token(0), std::nullopt), token(block));
  EXPECT_EQ(planned(KnownTokens{7, 7, std::nullopt}, token(0), "1/1"), token(block));
  EXPECT_EQ(planned(KnownTokens{7, 7, std::nullopt}, token(0), std::nullopt), token(8));
}

TEST(TokenRule, tellsWhereItEnds) {
  const auto greatest = static_cast<std::int64_t>(maxFencingToken.value());
  EXPECT_TRUE(planned(known(greatest, 0, "1/1"), token(0), "1/1").isNone());
  EXPECT_EQ(planned(known(greatest - 1, 0, "1/1"), token(0), "1/1"), maxFencingToken);
  EXPECT_TRUE(planned(known(greatest - 1, 0, "1/1"), token(0), "1/2").isNone());
  EXPECT_EQ(planned(std::nullopt, token(0), "1/8192"), token(8191 * block + 1)) << "the last block";
  EXPECT_TRUE(planned(std::nullopt, token(0), "1/8193").isNone());
  EXPECT_TRUE(planned(std::nullopt, token(0), "1/2147483647").isNone());
  EXPECT_TRUE(planned(known(INT64_MAX, INT64_MAX, "1/1"), token(0), "1/1").isNone());
}

TEST(TokenRule, aFloorFarAboveTheBlockIsRefused) {
  constexpr auto step = static_cast<std::int64_t>(maxReportedStep);
  EXPECT_EQ(planned(known(7, 7, "1/1"), token(7 + step), "1/1"), token(8 + step));
  EXPECT_TRUE(planned(known(7, 7, "1/1"), token(8 + step), "1/1").isNone());
  EXPECT_EQ(planned(known(7, 7, "1/1"), token(2 * block - 1 + step), "1/3"), token(2 * block + step));
  EXPECT_TRUE(planned(known(7, 7, "1/1"), token(2 * block + step), "1/3").isNone());
  EXPECT_EQ(planned(std::nullopt, token(step), "1/1"), token(1 + step));
  EXPECT_TRUE(planned(std::nullopt, token(1 + step), "1/1").isNone());
}

TEST(TokenRule, readsTheTimelineFromTheName) {
  EXPECT_EQ(timelineOf(std::nullopt), 1);
  EXPECT_EQ(timelineOf("7711724628853704316/12"), 12);
  EXPECT_EQ(timelineOf("nonsense"), 1);
  EXPECT_EQ(timelineOf("1/-4"), 1);
}

}  // namespace
}  // namespace tenure::postgresql_store
