#include "config/src/words.hpp"

#include <gtest/gtest.h>

namespace tenure::config {
namespace {

const std::vector<std::string> leaseKeys{"duration",    "heartbeat",     "clock_margin",
                                         "stop_margin", "drain_timeout", "progress_timeout"};

TEST(Words, EditDistanceCountsEachKindOfMistakeOnce) {
  EXPECT_EQ(editDistance("guard", "guard"), 0U);
  EXPECT_EQ(editDistance("", "abc"), 3U);
  EXPECT_EQ(editDistance("abc", ""), 3U);
  EXPECT_EQ(editDistance("gard", "guard"), 1U);
  EXPECT_EQ(editDistance("guaard", "guard"), 1U);
  EXPECT_EQ(editDistance("gusrd", "guard"), 1U);
  EXPECT_EQ(editDistance("gaurd", "guard"), 1U);  // neighbours swapped
  EXPECT_EQ(editDistance("ab", "ba"), 1U);
  EXPECT_EQ(editDistance("kitten", "sitting"), 3U);
}

TEST(Words, SuggestsWhatIsClose) {
  EXPECT_EQ(closest("durration", leaseKeys), "duration");
  EXPECT_EQ(closest("duraiton", leaseKeys), "duration");
  EXPECT_EQ(closest("hearbeat", leaseKeys), "heartbeat");
  EXPECT_EQ(closest("heart-beat", leaseKeys), "heartbeat");
  EXPECT_EQ(closest("stopMargin", leaseKeys), "stop_margin");
  EXPECT_EQ(closest("DRAIN_TIMEOUT", leaseKeys), "drain_timeout");
}

TEST(Words, SuggestsNothingThatIsFarOff) {
  EXPECT_EQ(closest("colour", leaseKeys), std::nullopt);
  EXPECT_EQ(closest("", leaseKeys), std::nullopt);
  EXPECT_EQ(closest("x", {"a", "b"}), std::nullopt);
  EXPECT_EQ(closest("ttl", leaseKeys), std::nullopt);
  EXPECT_EQ(closest(std::string(100'000, 'd'), leaseKeys), std::nullopt);
}

TEST(Words, DidYouMean) {
  EXPECT_EQ(didYouMean("guard"), "; did you mean \"guard\"?");
  EXPECT_EQ(didYouMean(std::nullopt), "");
}

TEST(Words, Lists) {
  EXPECT_EQ(listed({}), "");
  EXPECT_EQ(listed({"a"}), "a");
  EXPECT_EQ(listed({"a", "b"}), "a and b");
  EXPECT_EQ(listed({"a", "b", "c"}, "or"), "a, b or c");
}

}  // namespace
}  // namespace tenure::config
