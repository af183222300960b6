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

/// Whoever may write a record chooses the holder's text, and a terminal or a log is not to be steered by it.
TEST(ShownText, nothingInItEndsALineOrSteersATerminal) {
  EXPECT_EQ(shown("web-1 \"a\" \xC3\xA9", 60), "web-1 \"a\" \xC3\xA9");
  EXPECT_EQ(shown(std::string_view{"x\0\x1B[31mred\nline2", 16}, 60), "x\\x00\\x1b[31mred\\nline2");
  EXPECT_EQ(shown("a\xC2\x9B"
                  "b\xE2\x80\xAE"
                  "c\xE2\x81\xA6"
                  "d\xE2\x80\x8F",
                  60),
            "a\\u009bb\\u202ec\\u2066d\\u200f");
  EXPECT_EQ(shown("\xE2\x80\xA6\xE2\x82\xAC", 60), "\xE2\x80\xA6\xE2\x82\xAC") << "others of that block stay";
  EXPECT_EQ(shown("bil\xE2\x80\x8Bling \xC2\xA0\xF3\xA0\x80\x81"), "bil\\u200bling \\u00a0\\U000e0001");
  EXPECT_EQ(shown("\xE2\x80\x9C\xE2\x80\x99"), "\xE2\x80\x9C\xE2\x80\x99") << "quotes are seen";
  EXPECT_EQ(shown("a\xFF", 60), "a\\xff");
  EXPECT_EQ(shown("abc\xC3\xA9", 4), "abc...");
  EXPECT_EQ(shown("abcd", 4), "abcd");
}

}  // namespace
}  // namespace tenure::test
