#include <gtest/gtest.h>

#include "adapters/gateway/src/fence_claims.hpp"
#include "lockcore/port/store_checks.hpp"

namespace tenure {
namespace {

TermStamp stamp(std::string lease, std::uint64_t token, std::string holder = "a#1") {
  return {std::move(lease), FencingToken{token}, std::move(holder)};
}

std::string faultOf(std::string_view value) {
  const auto claims = parseFenceHeader(value);
  return claims ? "none" : claims.error().message;
}

TEST(FenceHeader, isADictionaryOfLeasesAndTokens) {
  EXPECT_EQ(formatFenceHeader(stamp("billing", 42)), R"(billing=42;holder="a#1")");
  EXPECT_EQ(formatFenceHeader(stamp("billing", 42, "")), "billing=42");
  const auto claims = parseFenceHeader(R"(  billing=42 ; holder="a#1" ,	other-1.x_*=7  )");
  EXPECT_FALSE(claims) << "no blank stands in front of a semicolon";
  const auto good = parseFenceHeader(R"(  billing=42; holder="a#1" ,	other-1.x_*=7  )");
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(*good, (std::vector<FenceClaim>{{stamp("billing", 42)}, {stamp("other-1.x_*", 7, "")}}));
}

TEST(FenceHeader, carriesNamesThatAreNoKeysInAParameter) {
  EXPECT_EQ(formatFenceHeader(stamp("Billing/EU", 1)), R"(*=1;lease="Billing/EU";holder="a#1")");
  EXPECT_EQ(formatFenceHeader({{stamp("A", 1, "")}, {stamp("b", 2, "")}, {stamp("C", 3, "")}}),
            R"(*=1;lease="A", b=2, *1=3;lease="C")");
  EXPECT_EQ(formatFenceHeader(stamp("caf\xC3\xA9\n%", 1, R"(q"\)")), R"(*=1;lease=%"caf%c3%a9%0a%25";holder="q\"\\")");
}

TEST(FenceHeader, readsBackWhatItWrites) {
  for (const std::string& lease :
       {std::string{"billing"}, std::string{"*"}, std::string{"9"}, std::string{"it's \"odd\" \\ 😀\n"},
        std::string(64, 'k'), std::string(65, 'k'), std::string(2048, '\x01'), std::string{"ÄÖ"}}) {
    for (const std::uint64_t token : {std::uint64_t{1}, std::uint64_t{999'999'999'999'999},
                                      std::uint64_t{1'000'000'000'000'000}, maxFencingToken.value()}) {
      const FenceClaim claim{stamp(lease, token, "h\xC3\xB6lder"), "k-1", std::string(31, '\xFE') + '\0'};
      const auto back = parseFenceHeader(formatFenceHeader({claim}));
      ASSERT_TRUE(back) << back.error().message;
      EXPECT_EQ(*back, std::vector<FenceClaim>{claim});
    }
  }
}

TEST(FenceHeader, refusesTokensThatAreNone) {
  for (const char* bad : {"billing",
                          "billing=",
                          "billing=0",
                          "billing=-1",
                          "billing=1.0",
                          "billing=1e3",
                          "billing=+1",
                          "billing=0x10",
                          "billing=1000000000000000",
                          "billing=1000000000000000000000000000000",
                          "billing=\"42\"",
                          "billing=\"\"",
                          "billing=\"9007199254740992\"",
                          "billing=\"9223372036854775807\"",
                          "billing=\"1000000000000000000000000000000\"",
                          "billing=\"0000000000000000042\"",
                          "billing=?1",
                          "billing=:AAAA:",
                          "billing=(1)",
                          "billing=1 2"}) {
    EXPECT_NE(faultOf(bad), "none") << bad;
  }
  EXPECT_EQ(faultOf("billing=00042"), "none") << "the grammar allows it, and it is one number";
  EXPECT_NE(faultOf("billing=-1").find("not an integer from 1 to 9007199254740991"), std::string::npos);
}

TEST(FenceHeader, refusesWhatIsSaidTwice) {
  EXPECT_EQ(faultOf("billing=1, billing=2"), "the header names a lease twice");
  EXPECT_EQ(faultOf(R"(*=1;lease="A", *1=2;lease="A")"), "the header names a lease twice");
  EXPECT_EQ(faultOf(R"(billing=1;holder="a";holder="b")"), "the parameter holder of \"billing\" comes twice");
  EXPECT_EQ(faultOf(R"(billing=1;lease="other")"),
            "\"billing\" names its lease twice: by its key and by the parameter lease");
  EXPECT_EQ(faultOf(R"(*=1;lease="billing")"), "the lease of \"*\" can be a key itself; write it as the key");
}

TEST(FenceHeader, refusesWhatItDoesNotUnderstand) {
  for (const char* bad : {"",
                          " ",
                          ",",
                          "billing=1,",
                          ",billing=1",
                          "billing=1;",
                          "billing=1;holder",
                          "billing=1;holder=",
                          "Billing=1",
                          "billing =1",
                          "billing= 1",
                          R"(billing=1;holder="a)",
                          R"(billing=1;holder="a\b")",
                          R"(billing=1;holder=%"%ff")",
                          R"(billing=1;holder=%"%C3%A9")",
                          R"(billing=1;holder=%"%4")",
                          R"(billing=1;holder="")",
                          R"(billing=1;other=1)",
                          R"(billing=1;kid="k")",
                          R"(billing=1;sig=:AAAA:)",
                          R"(billing=1;kid="k";sig=:AAAA:)",
                          "*=1",
                          "billing=1;holder=\"a\x01\"",
                          "billing=1;holder=%\"%00\"",
                          "billing=1\r\nX: y"}) {
    EXPECT_NE(faultOf(bad), "none") << bad;
  }
}

TEST(FenceHeader, isBounded) {
  EXPECT_NE(faultOf("billing=1;holder=\"" + std::string(maxFenceHeaderBytes, 'a') + '"').find("longer than"),
            std::string::npos);
  std::string many = "a=1";
  for (std::size_t i = 1; i < maxFenceHeaderMembers; ++i) many += ", a" + std::to_string(i) + "=1";
  EXPECT_EQ(faultOf(many), "none");
  EXPECT_NE(faultOf(many + ", z=1").find("more than 16 leases"), std::string::npos);
  EXPECT_THROW((void)formatFenceHeader(stamp(std::string(2048, '\x01'), 1, std::string(2048, '\x01'))),
               std::invalid_argument);
}

TEST(FenceHeader, isNotWrittenForStampsThatAreNone) {
  EXPECT_THROW((void)formatFenceHeader(stamp("", 1)), std::invalid_argument);
  EXPECT_THROW((void)formatFenceHeader(stamp("billing", 0)), std::invalid_argument);
  EXPECT_THROW((void)formatFenceHeader(TermStamp{"billing", maxFencingToken.next(), "a"}), std::invalid_argument);
  EXPECT_THROW((void)formatFenceHeader(stamp("billing", 1, "\xFF")), std::invalid_argument);
}

}  // namespace
}  // namespace tenure
