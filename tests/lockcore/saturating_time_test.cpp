#include "lockcore/port/saturating_time.hpp"

#include <gtest/gtest.h>

namespace tenure {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

/// 292 years: more seconds do not fit into nanoseconds.
constexpr seconds longest{std::numeric_limits<std::int64_t>::max() / 1'000'000'000};

TEST(SaturatingTime, aFinerUnitEndsAtItsLongestTime) {
  EXPECT_EQ(saturating::in<nanoseconds>(longest), longest);
  EXPECT_EQ(saturating::in<nanoseconds>(longest + 1s), nanoseconds::max());
  EXPECT_EQ(saturating::in<nanoseconds>(seconds::max()), nanoseconds::max());
  EXPECT_EQ(saturating::in<nanoseconds>(-longest), -longest);
  EXPECT_EQ(saturating::in<nanoseconds>(-longest - 1s), nanoseconds::min());
  EXPECT_EQ(saturating::in<nanoseconds>(seconds::min()), nanoseconds::min());
  EXPECT_EQ(saturating::in<nanoseconds>(-7s), -7s);
  EXPECT_EQ(saturating::in<nanoseconds>(nanoseconds::max()), nanoseconds::max());
}

TEST(SaturatingTime, sumsAndDifferencesDoNotWrap) {
  EXPECT_EQ(saturating::sum(1ns, 2ns), 3ns);
  EXPECT_EQ(saturating::sum(nanoseconds::max() - 1ns, 1ns), nanoseconds::max());
  EXPECT_EQ(saturating::sum(nanoseconds::max(), 1ns), nanoseconds::max());
  EXPECT_EQ(saturating::sum(nanoseconds::min(), -1ns), nanoseconds::min());
  EXPECT_EQ(saturating::difference(milliseconds::min(), milliseconds{1}), milliseconds::min());
  EXPECT_EQ(saturating::difference(milliseconds{0}, milliseconds::min()), milliseconds::max());
  EXPECT_EQ(saturating::difference(milliseconds{5}, milliseconds{7}), milliseconds{-2});
}

TEST(SaturatingTime, aLeaseThatNoRecordMaySayIsTheNearestThatMay) {
  EXPECT_EQ(saturating::leaseOf(std::int64_t{10'000}), 10s);
  EXPECT_EQ(saturating::leaseOf(std::int64_t{-1}), 0s);
  EXPECT_EQ(saturating::leaseOf(maxRecordLease.count() + 1), maxRecordLease);
  EXPECT_EQ(saturating::leaseOf(std::numeric_limits<std::int64_t>::max()), maxRecordLease);
  EXPECT_EQ(saturating::leaseOf(std::numeric_limits<std::int64_t>::min()), 0s);
  EXPECT_EQ(saturating::leaseOf("10000"), 10s);
  EXPECT_EQ(saturating::leaseOf("9223372036854775807"), maxRecordLease);
  EXPECT_EQ(saturating::leaseOf("9223372036854775808"), maxRecordLease);
  EXPECT_EQ(saturating::leaseOf(std::string(38, '9')), maxRecordLease) << "DynamoDB's numbers have up to 38 digits";
  EXPECT_EQ(saturating::leaseOf("-99999999999999999999"), 0s);
  for (const char* text : {"", "x", "10000 ", "1e4", "+1"}) EXPECT_EQ(saturating::leaseOf(text), 0s) << text;
}

}  // namespace
}  // namespace tenure
