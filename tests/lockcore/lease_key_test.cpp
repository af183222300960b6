#include <string>
#include <string_view>
#include <unordered_set>

#include <gtest/gtest.h>

#include <tenure/lockcore/lease_record.hpp>

namespace tenure::test {
namespace {

using namespace std::string_view_literals;
using Faults = std::vector<std::string>;

TEST(LeaseKeyTest, partsDoNotRunTogether) {
  const LeaseKey one{"ab", "c"};
  const LeaseKey other{"a", "bc"};
  EXPECT_NE(one, other);
  EXPECT_NE(std::hash<LeaseKey>{}(one), std::hash<LeaseKey>{}(other));
  EXPECT_NE(std::hash<LeaseKey>{}({"a", "b"}), std::hash<LeaseKey>{}({"b", "a"}));
  EXPECT_NE(std::hash<LeaseKey>{}({"a", "a"}), std::hash<LeaseKey>{}({"b", "b"})) << "xor alone would cancel out";
  EXPECT_EQ(std::hash<LeaseKey>{}(one), std::hash<LeaseKey>{}(LeaseKey{"ab", "c"}));
  const std::unordered_set<LeaseKey> set{one, other, {"ab", "c"}};
  EXPECT_EQ(set.size(), 2U);
}

TEST(LeaseKeyTest, isOrderedByNameThenBySortKey) {
  EXPECT_LT((LeaseKey{"a", "z"}), (LeaseKey{"b", "a"}));
  EXPECT_LT((LeaseKey{"a"}), (LeaseKey{"a", "a"}));
}

TEST(LeaseKeyTest, goodNames) {
  const LeaseKey good[] = {{"billing"},
                           {"a"},
                           {"Rechnungen für Köln"},
                           {"two words"},
                           {"x#fence.y"},
                           {"fence"},
                           {std::string(maxLeaseNameBytes, 'x'), std::string(maxSortKeyBytes, 'y')}};
  for (const LeaseKey& key : good) EXPECT_EQ(faultsOf(key), Faults{}) << toString(key);
}

TEST(LeaseKeyTest, eachFaultHasItsSentence) {
  const std::string blank = "the lease name is empty or blank; give it a name such as billing-scheduler";
  const std::string nul = "the lease name or sort key holds a NUL character";
  const std::string notUtf8 = "the lease name or sort key is not UTF-8 text";
  const std::string fence = "the lease name ends in \"#fence\", which names the record of the fencing counter";
  EXPECT_EQ(faultsOf({""}), Faults{blank});
  EXPECT_EQ(faultsOf({" \t\r\n\v\f"}), Faults{blank});
  EXPECT_EQ(faultsOf({std::string(maxLeaseNameBytes + 1, 'x')}),
            Faults{"the lease name has 2049 bytes; at most 2048 are allowed"});
  EXPECT_EQ(faultsOf({"a", std::string(maxSortKeyBytes + 1, 'x')}),
            Faults{"the sort key has 1025 bytes; at most 1024 are allowed"});
  EXPECT_EQ(faultsOf({std::string{"a\0b"sv}}), Faults{nul});
  EXPECT_EQ(faultsOf({"a", std::string{"\0"sv}}), Faults{nul});
  EXPECT_EQ(faultsOf({"\xff"}), Faults{notUtf8});
  EXPECT_EQ(faultsOf({"a", "\xc3"}), Faults{notUtf8});
  EXPECT_EQ(faultsOf({"billing#fence"}), Faults{fence});
  EXPECT_EQ(faultsOf({"#fence"}), Faults{fence});
  EXPECT_EQ(faultsOf({"two\nlines"}),
            Faults{"the lease name holds U+000A LINE FEED as character 4, which cannot be seen; remove it"});
  EXPECT_EQ(faultsOf({"a", "eu "}),
            Faults{"the sort key begins or ends with a space, which cannot be seen; remove it"});
}

TEST(LeaseKeyTest, allFaultsAreToldTogether) {
  const LeaseKey key{std::string(2100, 'x') + std::string{"\0\xff#fence"sv}, std::string(2000, 'y')};
  EXPECT_EQ(faultsOf(key).size(), 5U);
}

TEST(LeaseKeyTest, textIsEscaped) {
  EXPECT_EQ(toString(LeaseKey{"billing"}), "billing");
  EXPECT_EQ(toString(LeaseKey{"billing", "eu"}), "billing/eu");
  EXPECT_EQ(toString(LeaseKey{"a\"b\\c"}), "a\\\"b\\\\c");
  EXPECT_EQ(toString(LeaseKey{"a\nb\x7f", "\t"}), "a\\nb\\x7f/\\t");
  EXPECT_EQ(toString(LeaseKey{std::string{"\0\x1f "sv}}), "\\x00\\x1f ");
  EXPECT_EQ(toString(LeaseKey{"Köln"}), "Köln");
}

TEST(Utf8, wellFormedTexts) {
  for (const std::string_view text :
       {""sv, "a"sv, "\0"sv, "\x7f"sv, "\xc2\x80"sv, "\xdf\xbf"sv, "\xe0\xa0\x80"sv, "\xe1\x80\x80"sv, "\xed\x9f\xbf"sv,
        "\xee\x80\x80"sv, "\xef\xbf\xbf"sv, "\xf0\x90\x80\x80"sv, "\xf1\x80\x80\x80"sv, "\xf4\x8f\xbf\xbf"sv,
        "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z"sv}) {
    EXPECT_TRUE(isUtf8(text)) << testing::PrintToString(text);
  }
}

TEST(Utf8, malformedTexts) {
  for (const std::string_view text : {"\x80"sv,
                                      "\xbf"sv,
                                      "\xff"sv,
                                      "\xfe"sv,  // no lead byte
                                      "\xc0\x80"sv,
                                      "\xc1\xbf"sv,
                                      "\xe0\x9f\xbf"sv,
                                      "\xf0\x8f\xbf\xbf"sv,  // overlong
                                      "\xed\xa0\x80"sv,
                                      "\xed\xbf\xbf"sv,  // surrogates
                                      "\xf4\x90\x80\x80"sv,
                                      "\xf5\x80\x80\x80"sv,  // above U+10FFFF
                                      "\xc3"sv,
                                      "\xe2\x82"sv,
                                      "\xf0\x9f\x98"sv,  // cut short
                                      "\xc3z"sv,
                                      "\xe2\x82z"sv,
                                      "\xe2z\x82"sv,
                                      "\xf0\x9f\x98z"sv,
                                      "\xf0\x9fz\x80"sv,  // no continuation
                                      "\xc3\xc3"sv,
                                      "\xe1\xc0\x80"sv,
                                      "\xf1\xc0\x80\x80"sv,
                                      "good, then \xff"sv}) {
    EXPECT_FALSE(isUtf8(text)) << testing::PrintToString(text);
  }
}

}  // namespace
}  // namespace tenure::test
