#include "lockcore/port/quoted_text.hpp"

#include <gtest/gtest.h>

namespace tenure::test {
namespace {

TEST(QuotedText, whatMayNotBePrintedAsItIsIsEscaped) {
  EXPECT_EQ(inQuotes("plain"), "\"plain\"");
  EXPECT_EQ(inQuotes("a\nb\tc\x1B[1m\"\\"), "\"a\\nb\\tc\\x1b[1m\\\"\\\\\"");
  EXPECT_EQ(inQuotes(std::string(61, 'a')), "\"" + std::string(60, 'a') + "...\"");
  EXPECT_EQ(inQuotes("\xC3\xA9"), "\"\xC3\xA9\"");
  EXPECT_EQ(inQuotes("a\xFF"), "\"a\\xff\"");
  // Shortened between characters, never inside one.
  EXPECT_EQ(inQuotes(std::string(59, 'a') + "\xC3\xA9tail"), "\"" + std::string(59, 'a') + "...\"");
}

}  // namespace
}  // namespace tenure::test
