#include <sstream>

#include <gtest/gtest.h>

#include <tenure/lockcore/lease_record.hpp>

#include "lockcore/port/store_checks.hpp"

namespace tenure::test {
namespace {

TEST(FencingTokenTest, zeroMeansNone) {
  EXPECT_TRUE(FencingToken{}.isNone());
  EXPECT_TRUE(FencingToken{0}.isNone());
  EXPECT_FALSE(FencingToken{1}.isNone());
  EXPECT_EQ(FencingToken{}.value(), 0U);
  EXPECT_EQ(FencingToken{}.next(), FencingToken{1});
}

TEST(FencingTokenTest, isOrderedAsNumbers) {
  EXPECT_LT(FencingToken{9}, FencingToken{10});
  EXPECT_GT(FencingToken{1ULL << 62U}, FencingToken{2});
  EXPECT_EQ(FencingToken{7}, FencingToken{7});
  EXPECT_NE(FencingToken{7}, FencingToken{8});
  EXPECT_LT(FencingToken{41}, FencingToken{41}.next());
}

TEST(FencingTokenTest, readsAsItsNumber) {
  std::ostringstream out;
  out << FencingToken{42};
  EXPECT_EQ(out.str(), "42");
  EXPECT_EQ(toString(FencingToken{}), "0");
  EXPECT_EQ(toString(maxFencingToken), "9007199254740991");
}

}  // namespace
}  // namespace tenure::test
