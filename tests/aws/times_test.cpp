
#include <limits>

#include <gtest/gtest.h>

#include "lockcore/aws/signing_clock.hpp"
#include "lockcore/aws/text.hpp"

namespace tenure::aws {
namespace {

using std::chrono::seconds;
constexpr seconds noon{1'795'262'400};

TEST(Times, areWrittenAsAwsWantsThem) {
  EXPECT_EQ(amzDate(noon), "20261121T120000Z");
  EXPECT_EQ(amzDate(seconds{0}), "19700101T000000Z");
  EXPECT_EQ(amzDate(seconds{1'709'210'096}), "20240229T123456Z");
}

TEST(Times, areReadInTheFormsOfTheIssuers) {
  for (const char* text :
       {"2026-11-21T12:00:00Z", "2026-11-21T12:00:00.123456Z", "2026-11-21T12:00:00+00:00", "2026-11-21T13:30:00+0130",
        "2026-11-21 10:00:00-02:00", "2026-11-21T04:00:00-08", "2026-11-21T12:00:00+00", "2026-11-21T12:00:00UTC",
        "2026-11-21T12:00:00 UTC", "2026-11-21T12:00:00GMT", "2026-11-21T12:00:00,5Z", "2026-11-21t12:00:00z",
        "2026-11-21T12:00Z", "20261121T120000Z", " 2026-11-21T12:00:00Z ", "2026-11-21T12:0:0Z", "2026-11-21T120000Z",
        "20261121T1200+0000"}) {
    EXPECT_EQ(parseIsoTime(text), noon) << text;
  }
  EXPECT_EQ(parseIsoTime("2036-1-1T0:00:00Z"), seconds{2'082'758'400});
  for (const char* text : {"", "2026-11-21", "2026-11-21T12:00:00", "2026-11-21T12:00:00+", "2026-11-21T12:00:00+1",
                           "2026-11-21T12Z", "2026-11-21T12:00:00Z Z", "2026111T120000Z", "10000-01-01T00:00:00Z",
                           "2026-13-21T12:00:00Z", "2026-02-30T12:00:00Z", "2026-11-21T24:00:00Z",
                           "2026-11-21T12:00:00Zx", "1795262400", "2026-11-21T12:00:00*00:00"}) {
    EXPECT_EQ(parseIsoTime(text), std::nullopt) << text;
  }
  EXPECT_EQ(parseHttpDate("Sat, 21 Nov 2026 12:00:00 GMT"), noon);
  for (const char* text :
       {"", "Sat, 21 Nov 2026 12:00:00", "Sat, 21 Nob 2026 12:00:00 GMT", "soon", "Saturday, 21-Nov-26 12:00:00 GMT"}) {
    EXPECT_EQ(parseHttpDate(text), std::nullopt) << text;
  }
}

TEST(Times, theFirstAndTheLastOfTheCalendar) {
  EXPECT_EQ(amzDate(*parseIsoTime("9999-12-31T23:59:59Z")), "99991231T235959Z");
  EXPECT_EQ(amzDate(*parseIsoTime("9999-12-31T23:59:59-23:59")), "99991231T235959Z");
  EXPECT_EQ(amzDate(*parseIsoTime("0000-01-01T00:00:00+23:59")), "00000101T000000Z");
  EXPECT_EQ(amzDate(seconds::max()), "99991231T235959Z");
  EXPECT_EQ(amzDate(seconds::min()), "00000101T000000Z");
}

TEST(SigningClock, noDateAndNoWallClockIsTooFar) {
  using Correction = SigningClock::Correction;
  for (const std::int64_t wall : {std::int64_t{0}, std::numeric_limits<std::int64_t>::max(),
                                  std::numeric_limits<std::int64_t>::min(), noon.count() * 1000}) {
    SigningClock clock{[wall] { return wall; }};
    EXPECT_EQ(clock.correctBy("Fri, 31 Dec 9999 23:59:59 GMT", seconds{0}), Correction::justMade) << wall;
    EXPECT_EQ(amzDate(clock.now()), "99991231T235959Z") << wall;
    EXPECT_EQ(clock.correctBy("Sat, 01 Jan 0000 00:00:00 GMT", clock.read().offset), Correction::justMade) << wall;
    EXPECT_EQ(amzDate(clock.now()), "00000101T000000Z") << wall;
    EXPECT_EQ(clock.correctBy("Sat, 21 Nov 2026 12:00:00 GMT", clock.read().offset), Correction::justMade) << wall;
    EXPECT_EQ(clock.now(), noon) << wall;
  }
}

TEST(SigningClock, followsTheServerOnlyWhenItIsFarOff) {
  std::int64_t wall = noon.count() * 1000;
  SigningClock clock{[&] { return wall; }};
  using Correction = SigningClock::Correction;
  constexpr seconds none{0};
  EXPECT_EQ(clock.correctBy("Sat, 21 Nov 2026 12:01:30 GMT", none), Correction::none);
  EXPECT_EQ(clock.correctBy("no date", none), Correction::none);
  EXPECT_EQ(clock.now(), noon);
  EXPECT_EQ(clock.correctBy("Sat, 21 Nov 2026 12:16:00 GMT", none), Correction::justMade);
  EXPECT_EQ(clock.now(), noon + seconds{960});
  EXPECT_EQ(clock.read().offset, seconds{960});
  EXPECT_EQ(clock.correctBy("Sat, 21 Nov 2026 12:16:01 GMT", none), Correction::known);
  EXPECT_EQ(clock.correctBy("Sat, 21 Nov 2026 12:16:01 GMT", seconds{960}), Correction::none);
  wall += 960'000;  // the machine's clock is corrected: the client must withdraw its own correction
  EXPECT_EQ(clock.correctBy("Sat, 21 Nov 2026 12:16:00 GMT", seconds{960}), Correction::justMade);
  EXPECT_EQ(clock.now(), noon + seconds{960});
  EXPECT_EQ(clock.correctBy("Sat, 21 Nov 2026 11:44:00 GMT", none), Correction::justMade);
  EXPECT_EQ(clock.now(), noon - seconds{960});
}

TEST(Text, forPeopleHoldsNothingThatCouldBeASecret) {
  EXPECT_EQ(forPeople("sh: 1: helper: not found\n"), "sh: 1: helper: not found");
  EXPECT_EQ(forPeople("key wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY bad"), "key [left out] bad");
  EXPECT_EQ(forPeople("a\x1b[31mb\nc"), "a [31mb c");
  EXPECT_EQ(forPeople(std::string(500, ' ') + "x y"), "x y");
  EXPECT_LE(forPeople("words " + std::string(900, ' ') + "end", 20).size(), 20U);
}

TEST(Text, hostLabels) {
  EXPECT_TRUE(isHostLabel("eu-central-1"));
  for (const char* text : {"", "-a", "a-", "eu.central", "EU", "a/b", "a@b"}) EXPECT_FALSE(isHostLabel(text)) << text;
}

}  // namespace
}  // namespace tenure::aws
