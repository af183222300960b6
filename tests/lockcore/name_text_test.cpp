#include "lockcore/port/name_text.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/lockcore/candidate_id.hpp>
#include <tenure/lockcore/lease_record.hpp>

#include "lockcore/port/stored_key.hpp"

namespace tenure::test {
namespace {

struct Odd {
  std::string character, text;
};

const std::vector<Odd>& oddOnes() {
  static const std::vector<Odd> all{
      {"\x01", "U+0001 CONTROL CHARACTER"},
      {"\t", "U+0009 CHARACTER TABULATION"},
      {"\n", "U+000A LINE FEED"},
      {"\x7F", "U+007F DELETE"},
      {"\xC2\x85", "U+0085 NEXT LINE"},
      {"\xC2\x9B", "U+009B CONTROL SEQUENCE INTRODUCER"},
      {"\xC2\xA0", "U+00A0 NO-BREAK SPACE"},
      {"\xC2\xAB", "U+00AB LEFT-POINTING DOUBLE ANGLE QUOTATION MARK"},
      {"\xC2\xAD", "U+00AD SOFT HYPHEN"},
      {"\xCD\x8F", "U+034F COMBINING GRAPHEME JOINER"},
      {"\xD8\x9C", "U+061C ARABIC LETTER MARK"},
      {"\xE1\x9A\x80", "U+1680 OGHAM SPACE MARK"},
      {"\xE2\x80\x89", "U+2009 THIN SPACE"},
      {"\xE2\x80\x8B", "U+200B ZERO WIDTH SPACE"},
      {"\xE2\x80\x8D", "U+200D ZERO WIDTH JOINER"},
      {"\xE2\x80\x8F", "U+200F RIGHT-TO-LEFT MARK"},
      {"\xE2\x80\x91", "U+2011 NON-BREAKING HYPHEN"},
      {"\xE2\x80\x93", "U+2013 EN DASH"},
      {"\xE2\x80\x99", "U+2019 RIGHT SINGLE QUOTATION MARK"},
      {"\xE2\x80\x9C", "U+201C LEFT DOUBLE QUOTATION MARK"},
      {"\xE2\x80\xA8", "U+2028 LINE SEPARATOR"},
      {"\xE2\x80\xA9", "U+2029 PARAGRAPH SEPARATOR"},
      {"\xE2\x80\xAE", "U+202E RIGHT-TO-LEFT OVERRIDE"},
      {"\xE2\x80\xAF", "U+202F NARROW NO-BREAK SPACE"},
      {"\xE2\x81\xA0", "U+2060 WORD JOINER"},
      {"\xE2\x81\xA6", "U+2066 LEFT-TO-RIGHT ISOLATE"},
      {"\xE2\x88\x92", "U+2212 MINUS SIGN"},
      {"\xE2\xA0\x80", "U+2800 BRAILLE PATTERN BLANK"},
      {"\xE3\x80\x80", "U+3000 IDEOGRAPHIC SPACE"},
      {"\xE3\x85\xA4", "U+3164 HANGUL FILLER"},
      {"\xEF\xB7\x90", "U+FDD0 NONCHARACTER"},
      {"\xEF\xB8\x8F", "U+FE0F VARIATION SELECTOR"},
      {"\xEF\xBB\xBF", "U+FEFF ZERO WIDTH NO-BREAK SPACE (a byte order mark)"},
      {"\xEF\xBC\x8D", "U+FF0D FULLWIDTH HYPHEN-MINUS"},
      {"\xEF\xBF\xBF", "U+FFFF NONCHARACTER"},
      {"\xF0\x9F\xBF\xBE", "U+1FFFE NONCHARACTER"},
      {"\xF3\xA0\x81\x81", "U+E0041 TAG CHARACTER"},
      {"\xF3\xA0\x84\x80", "U+E0100 VARIATION SELECTOR"},
  };
  return all;
}

TEST(NameText, anOddCharacterIsRefusedWithItsNameAndPlace) {
  for (const auto& [character, text] : oddOnes()) {
    const auto fault = faultOfNameText("b\xC3\xA9" + character + "c");
    ASSERT_TRUE(fault) << text;
    EXPECT_TRUE(fault->starts_with("holds " + text + " as character 3, ")) << *fault;
  }
}

TEST(NameText, anOddCharacterIsRefusedWhereverANameEnters) {
  for (const auto& [character, text] : oddOnes()) {
    EXPECT_FALSE(faultsOf(LeaseKey{"b" + character}).empty()) << text;
    EXPECT_FALSE(faultsOf(LeaseKey{"b", "s" + character}).empty()) << text;
    EXPECT_TRUE(faultOfCandidateName("c" + character)) << text;
  }
}

/// A record with such a name may be there, and an operator looks at it and removes it.
TEST(NameText, aStoreTakesTheNamesThatAreThere) {
  for (const auto& [character, text] : oddOnes())
    EXPECT_TRUE(faultsOfStored(LeaseKey{"b" + character}).empty()) << text;
  EXPECT_FALSE(faultsOfStored(LeaseKey{"b\xFF"}).empty());
}

TEST(NameText, whatAllLanguagesWriteIsAllowed) {
  for (const std::string name : {"billing", "a b", "caf\xC3\xA9", "\xE8\xAB\x8B\xE6\xB1\x82",
                                 "\xD8\xA7\xD9\x84\xD9\x81", "\xE0\xA4\xB9\xE0\xA4\xBF", "\xF0\x9F\x94\x92",
                                 "it's \"x\"", "\xE1\xBA\xB9\xCC\x81", "\xEA\xB0\x81", "a/b#1", "\xE2\x80\x94"}) {
    EXPECT_EQ(faultOfNameText(name).value_or(""), "") << name;
  }
}

TEST(NameText, aSpaceAtAnEndIsRefused) {
  for (const std::string name : {" a", "a ", "  a"}) {
    EXPECT_TRUE(faultOfNameText(name).value_or("").starts_with("begins or ends with a space")) << name;
  }
}

/// Compared with Python's unicodedata for each character and for 600,000 random texts when it was written.
TEST(NameText, whatIsNotComposedIsRefusedWithItsPlace) {
  const std::vector<std::pair<std::string, std::size_t>> texts{
      {"cafe\xCC\x81", 4},               // e, acute
      {"a\xCC\x81\xCC\xA3", 1},          // marks in the other order
      {"x\xE1\x84\x80\xE1\x85\xA1", 2},  // two parts of a syllable of Hangul
      {"\xEA\xB0\x80\xE1\x86\xA8", 1},   // a syllable and its end
      {"\xE2\x84\xAB", 1},               // the sign of Angstrom
      {"10 \xE2\x84\xA6", 4},            // the sign of Ohm
      {"\xC3\xA9\xCC\xA3", 1},           // the lower mark belongs before
      {"\xE0\xA4\xA8\xE0\xA4\xBC", 1},   // a letter of Devanagari and its dot
  };
  for (const auto& [text, number] : texts) {
    EXPECT_EQ(firstNotComposed(text), number) << text;
    EXPECT_TRUE(faultOfNameText(text).value_or("").starts_with("is not written in composed characters")) << text;
  }
  EXPECT_EQ(firstNotComposed("q\xCC\x87"), 0U) << "there is no such letter in one";
}

}  // namespace
}  // namespace tenure::test
