
#include <gtest/gtest.h>

#include "lockcore/port/json_text.hpp"

namespace tenure {
namespace {

using Attributes = std::map<std::string, std::string>;

TEST(AttributesJson, aRoundTripKeepsEverything) {
  const Attributes all{{"", ""},
                       {"region", "eu-1"},
                       {"quote\"backslash\\", "tab\tnewline\nreturn\r"},
                       {"controls", std::string("\x01\x1f\x7f", 3)},
                       {"zero", std::string("a\0b", 3)},
                       {"snow☃", "\xF0\x9F\x90\x98"}};
  const auto text = attributesToJson(all);
  ASSERT_TRUE(text);
  EXPECT_EQ(attributesFromJson(*text), all) << *text;
}

TEST(AttributesJson, isReadable) {
  EXPECT_EQ(attributesToJson({}), "{}");
  EXPECT_EQ(attributesToJson({{"b", "2"}, {"a", "1"}}), R"({"a":"1","b":"2"})");
  EXPECT_EQ(attributesToJson({{"a", "\"\n"}}), R"({"a":"\"\u000a"})");
}

TEST(AttributesJson, isNotMadeOfBytesThatAreNoText) {
  EXPECT_EQ(attributesToJson({{"a", "\xFF"}}), std::nullopt);
  EXPECT_EQ(attributesToJson({{"\xC3", "a"}}), std::nullopt);
}

TEST(AttributesJson, readsWhatOthersWrite) {
  EXPECT_EQ(attributesFromJson(" { \"a\" : \"1\" ,\n\t\"b\" : \"2\" } "), (Attributes{{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(attributesFromJson("{}"), Attributes{});
  EXPECT_EQ(attributesFromJson(R"({"a":"\/\b\f\n\r\t\"\\"})"), (Attributes{{"a", "/\b\f\n\r\t\"\\"}}));
  EXPECT_EQ(attributesFromJson(R"({"a":"\u0041\u00e9\u20AC\ud83d\udc18"})"),
            (Attributes{{"a", "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x90\x98"}}));
  EXPECT_EQ(attributesFromJson(R"({"a":"1","a":"2"})"), (Attributes{{"a", "2"}})) << "the last one counts";
}

TEST(AttributesJson, everythingElseIsRefused) {
  for (const char* text : {"",
                           " ",
                           "null",
                           "[]",
                           "\"a\"",
                           "{",
                           "}",
                           "{}x",
                           "{,}",
                           R"({"a"})",
                           R"({"a":})",
                           R"({"a":1})",
                           R"({"a":null})",
                           R"({"a":{}})",
                           R"({"a":"1",})",
                           R"({"a":"1" "b":"2"})",
                           R"({a:"1"})",
                           R"({"a":"1)",
                           R"({"a":"\)",
                           R"({"a":"\x"})",
                           R"({"a":"\u12"})",
                           R"({"a":"\u12g4"})",
                           R"({"a":"\ud800"})",
                           R"({"a":"\ud800x"})",
                           R"({"a":"\ud800\n"})",
                           R"({"a":"\ud800\u0041"})",
                           R"({"a":"\udc00"})",
                           "{\"a\":\"\n\"}",
                           "{\"a\":\"\xFF\"}"}) {
    EXPECT_EQ(attributesFromJson(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace tenure
