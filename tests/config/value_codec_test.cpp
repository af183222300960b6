#include "config/src/value_codec.hpp"

#include <gtest/gtest.h>

#include <tenure/config/load_group.hpp>

#include "lockcore/port/name_text.hpp"

namespace tenure::config {
namespace {

std::string boolMessage(std::string_view text) {
  const auto value = boolCodec().parse(text);
  return value ? std::string{*value ? "true" : "false"} : value.error().message;
}

TEST(ValueCodec, OnlyTrueAndFalseAreBooleans) {
  EXPECT_EQ(boolMessage("true"), "true");
  EXPECT_EQ(boolMessage("false"), "false");
  EXPECT_EQ(boolMessage("on"), "\"on\" is not allowed; allowed is true or false; did you mean \"true\"?");
  EXPECT_EQ(boolMessage("No"), "\"No\" is not allowed; allowed is true or false; did you mean \"false\"?");
  EXPECT_EQ(boolMessage("TRUE"), "\"TRUE\" is not allowed; allowed is true or false; did you mean \"true\"?");
  EXPECT_EQ(boolMessage("flase"), "\"flase\" is not allowed; allowed is true or false; did you mean \"false\"?");
  EXPECT_EQ(boolMessage(""), "\"\" is not allowed; allowed is true or false");
}

TEST(ValueCodec, WholeNumbersAreDecimalDigits) {
  const auto codec = wholeNumberCodec({1, 50});
  EXPECT_EQ(codec.parse("1").value(), 1U);
  EXPECT_EQ(codec.parse("050").value(), 50U);
  EXPECT_EQ(codec.parse("4294967295").value(), 4294967295U) << "the range is checked with the options";
  for (const char* text : {"-1", "4294967296", "99999999999999999999"}) {
    EXPECT_EQ(codec.parse(text).error().message, "\"" + std::string{text} + "\" is out of range; allowed is 1 to 50");
  }
  for (const char* text : {"", "-", "+1", "1.0", "1e1", "0x1", " 1", "1 ", "one", "1_0"}) {
    EXPECT_EQ(codec.parse(text).error().message,
              "\"" + std::string{text} + "\" is not a whole number; allowed is 1 to 50");
  }
}

TEST(ValueCodec, ScalarsReadBackAsTheyWereWritten) {
  const std::vector<std::string> texts{"plain",
                                       "with space",
                                       " ",
                                       "null",
                                       "~",
                                       "true",
                                       "No",
                                       "123",
                                       "1.5",
                                       "-",
                                       "--- x",
                                       "a: b",
                                       "a #b",
                                       "#",
                                       "{a}",
                                       "[a]",
                                       "'",
                                       "\"",
                                       "\\",
                                       "a\\nb",
                                       "line\nbreak",
                                       "tab\t",
                                       "$",
                                       "${HOME}",
                                       "$$",
                                       "\xC3\xA9\xE2\x82\xAC",
                                       "*a",
                                       "&a",
                                       "!a",
                                       "@a",
                                       "%a",
                                       "|",
                                       ">",
                                       "?",
                                       "-a",
                                       "a-b.c/d_e",
                                       "./x",
                                       "/x/y.db",
                                       ".",
                                       "..",
                                       ".5",
                                       ".inf",
                                       "=",
                                       "<<",
                                       "\x01\x1F\x7F",
                                       "NULL",
                                       "y",
                                       "0x1F",
                                       "a,b",
                                       "colon:",
                                       ":colon"};
  for (const std::string& text : texts) {
    const std::string yaml = "group: " + yamlScalar(text) + "\nstore: { type: memory }\n";
    const auto config = loadGroupConfigFromText(yaml, "scalar.yaml", {});
    if (text == " ") {  // a blank name is refused, but it was read unchanged
      EXPECT_FALSE(config);
      continue;
    }
    if (const auto fault = faultOfNameText(text)) {  // the same for such a name
      ASSERT_FALSE(config) << yaml;
      EXPECT_NE(toString(config.error()).find(*fault), std::string::npos) << toString(config.error());
      continue;
    }
    ASSERT_TRUE(config) << yaml << toString(config.error());
    EXPECT_EQ(config->options.group, text) << yaml;
  }
}

TEST(ValueCodec, HarmlessTextIsWrittenPlain) {
  EXPECT_EQ(yamlScalar("billing-scheduler"), "billing-scheduler");
  EXPECT_EQ(yamlScalar("./billing.db"), "./billing.db");
  EXPECT_EQ(yamlScalar("on"), "\"on\"");
  EXPECT_EQ(yamlScalar("10s"), "\"10s\"");
  EXPECT_EQ(yamlScalar("${X}"), "\"$${X}\"");
}

}  // namespace
}  // namespace tenure::config
