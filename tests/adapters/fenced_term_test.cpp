#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/adapters/fenced_writer.hpp>
#include <tenure/election/leadership.hpp>

#include "adapters/fence/src/fence_text.hpp"
#include "lockcore/port/store_checks.hpp"

namespace tenure {
namespace {

static_assert(TermOfALease<Leadership>, "what users have is what adapters take");
static_assert(std::constructible_from<FencedTerm, FencedTerm&> && std::copyable<FencedTerm>);
static_assert(!TermOfALease<TermStamp> && !TermOfALease<int>);

const TermStamp mine{"billing", FencingToken{5}, "a#1"};

class FencedTermTest : public testing::Test {
 protected:
  /// A write whose resource gives this answer.
  FenceResult<void> writeUnder(const FencedTerm& term, const FenceResult<void>& answer) {
    return underTerm(term, [&](const TermStamp& stamp) {
      sent_.push_back(stamp);
      return answer;
    });
  }
  FencedTerm term() {
    return {mine, [this] { return valid_; }, [this](FencingToken seen) { reported_.push_back(seen); }};
  }

  bool valid_{true};
  std::vector<TermStamp> sent_;
  std::vector<FencingToken> reported_;
};

TEST_F(FencedTermTest, sendsTheStampWhileTheTermIsValid) {
  EXPECT_TRUE(writeUnder(term(), {}).has_value());
  EXPECT_EQ(sent_, std::vector<TermStamp>{mine});
  EXPECT_TRUE(reported_.empty());
}

TEST_F(FencedTermTest, sendsNothingOnceItIsOver) {
  valid_ = false;
  const FenceError error = writeUnder(term(), {}).error();
  ASSERT_NE(error.over(), nullptr);
  EXPECT_EQ(*error.over(), TermOver{FencingToken{5}});
  EXPECT_EQ(error.stale(), nullptr);
  EXPECT_EQ(
      error.message,
      "lease \"billing\": a write of a (1) with fencing token 5 was not sent, because its term is no longer valid; "
      "its work must stop");
  EXPECT_TRUE(sent_.empty());
}

TEST_F(FencedTermTest, reportsAStaleTokenAndNothingElse) {
  (void)writeUnder(term(), *termError(mine, TermStamp{"billing", FencingToken{5}, "b#2"}));
  (void)writeUnder(term(), fenceError({ErrorClass::transient, "busy"}));
  EXPECT_TRUE(reported_.empty());
  (void)writeUnder(term(), *termError(mine, TermStamp{"billing", FencingToken{9}, "b#2"}));
  EXPECT_EQ(reported_, std::vector<FencingToken>{FencingToken{9}});
}

TEST_F(FencedTermTest, needsNeitherAClockNorAnybodyToTell) {
  const FencedTerm bare{mine, {}, {}};
  EXPECT_EQ(bare.error(), std::nullopt);
  EXPECT_TRUE(writeUnder(bare, *termError(mine, TermStamp{"billing", FencingToken{9}, "b#2"})).has_error());
}

TEST(FenceText, readsWhatAdaptersWriteAndNothingElse) {
  EXPECT_EQ(parseFencingToken("1"), FencingToken{1});
  EXPECT_EQ(parseFencingToken(toString(maxFencingToken)), maxFencingToken);
  for (const std::string bad : {"", "0", "00", "01", "-1", "+1", " 1", "1 ", "1\n", "1.0", "1e3", "0x1", "one", "١",
                                "9223372036854775808", "18446744073709551616", "1000000000000000000000000000000"}) {
    EXPECT_EQ(parseFencingToken(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(parseFencingToken(std::string(1 << 20, '9')), std::nullopt);
  EXPECT_EQ(parseFencingToken(std::string_view{"5\0", 2}), std::nullopt);
}

}  // namespace
}  // namespace tenure
