#include "config/src/duration.hpp"

#include <chrono>
#include <random>

#include <gtest/gtest.h>

namespace tenure {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

TEST(Duration, ReadsEveryUnitAndTheirSums) {
  const std::pair<const char*, milliseconds> rows[] = {
      {"0ms", 0ms},         {"0s", 0ms},
      {"1ms", 1ms},         {"1500ms", 1500ms},
      {"10s", 10s},         {"007s", 7s},
      {"1m", 1min},         {"1m30s", 90s},
      {"24h", 24h},         {"1h1m1s1ms", 3661001ms},
      {"1h1ms", 3600001ms}, {"1.5s", 1500ms},
      {"0.001s", 1ms},      {"1.500000000000s", 1500ms},
      {"0.5h", 30min},      {"0.0000025h", 9ms},
      {"1m0.25s", 60250ms}, {"90m", 90min},
      {"10000h", 10000h},   {"9999h59m59.999s", 10000h - 1ms},
      {"2.0ms", 2ms},       {"36000000s", 10000h},
  };
  for (const auto& [text, expected] : rows) {
    const auto value = parseDuration(text);
    ASSERT_TRUE(value) << text << ": " << value.error().message;
    EXPECT_EQ(*value, expected) << text;
  }
}

TEST(Duration, RefusesWithTheReason) {
  const std::pair<const char*, const char*> rows[] = {
      {"", "is empty; write a duration such as 10s or 1500ms"},
      {"10", "\"10\" has no unit; give one, such as 10ms or 10s"},
      {"0", "\"0\" has no unit; give one, such as 0ms or 0s"},
      {"1.5", "\"1.5\" has no unit; give one, such as 1.5ms or 1.5s"},
      {"1m30", "\"1m30\" has no unit after its last number; write it such as 1m30s"},
      {"-1s", "\"-1s\" is negative; a duration is zero or more"},
      {"+1s", "\"+1s\" is not a duration; write it such as 10s, 1500ms or 1m30s"},
      {"s", "\"s\" is not a duration; write it such as 10s, 1500ms or 1m30s"},
      {".5s", "\".5s\" is not a duration; write it such as 10s, 1500ms or 1m30s"},
      {"1.s", "\"1.s\" is not a duration; write it such as 10s, 1500ms or 1m30s"},
      {"1.2.3s", "\"1.2.3s\" is not a duration; write it such as 10s, 1500ms or 1m30s"},
      {"1e3s", "\"1e3s\" has the unknown unit \"e\"; units are ms, s, m and h"},
      {"0x10s", "\"0x10s\" has the unknown unit \"x\"; units are ms, s, m and h"},
      {"ten", "\"ten\" is not a duration; write it such as 10s, 1500ms or 1m30s"},
      {"10sec", "\"10sec\" has the unknown unit \"sec\" (did you mean \"s\"?); units are ms, s, m and h"},
      {"10S", "\"10S\" has the unknown unit \"S\" (did you mean \"s\"?); units are ms, s, m and h"},
      {"5minutes", "\"5minutes\" has the unknown unit \"minutes\" (did you mean \"m\"?); units are ms, s, m and h"},
      {"1d", "\"1d\" has the unknown unit \"d\"; units are ms, s, m and h"},
      {"10 s", "\"10 s\" has a space in it; write it as 10s"},
      {" 10s", "\" 10s\" has a space in it; write it as 10s"},
      {"10s ", "\"10s \" has a space in it; write it as 10s"},
      {"1m 30s", "\"1m 30s\" has a space in it; write it as 1m30s"},
      {"ten seconds", "\"ten seconds\" is not a duration; write it such as 10s, 1500ms or 1m30s"},
      {" ", "\" \" is not a duration; write it such as 10s, 1500ms or 1m30s"},
      {"30s1m", "\"30s1m\" must name its units from large to small, each once: 1h30m, 1m30s"},
      {"1s1s", "\"1s1s\" must name its units from large to small, each once: 1h30m, 1m30s"},
      {"1us", "\"1us\" is finer than a millisecond; units are ms, s, m and h"},
      {"1000000ns", "\"1000000ns\" is finer than a millisecond; units are ms, s, m and h"},
      {"5\xC2\xB5s", "\"5\xC2\xB5s\" is finer than a millisecond; units are ms, s, m and h"},
      {"0.5ms", "\"0.5ms\" is finer than a millisecond"},
      {"1.0005s", "\"1.0005s\" is finer than a millisecond"},
      {"0.00000001h", "\"0.00000001h\" is finer than a millisecond"},
      {"10000h1ms", "\"10000h1ms\" is too long"},
      {"10001h", "\"10001h\" is too long"},
      {"9223372036854775807ms", "\"9223372036854775807ms\" is too long"},
      {"9223372036854775808ms", "\"9223372036854775808ms\" is too long"},
      {"18446744073709551617s", "\"18446744073709551617s\" is too long"},
      {"99999999999999999999999999999999h", "\"99999999999999999999999999999999h\" is too long"},
  };
  for (const auto& [text, expected] : rows) {
    const auto value = parseDuration(text);
    ASSERT_FALSE(value) << text << " was read as " << value->count() << "ms";
    EXPECT_EQ(value.error().message, expected);
  }
}

TEST(Duration, WritesTheShortestExactSpelling) {
  const std::pair<milliseconds, const char*> rows[] = {
      {0ms, "0s"}, {1ms, "1ms"}, {1500ms, "1500ms"}, {10s, "10s"},      {90s, "1m30s"},          {3333ms, "3333ms"},
      {1h, "1h"},  {24h, "24h"}, {90min, "1h30m"},   {3661s, "1h1m1s"}, {3600001ms, "3600001ms"}};
  for (const auto& [value, expected] : rows) EXPECT_EQ(durationText(value), expected);
}

TEST(Duration, WhatIsWrittenReadsBackTheSame) {
  std::mt19937_64 random{1};
  std::uniform_int_distribution<int> digits{1, 10};
  for (int i = 0; i < 20'000; ++i) {
    std::int64_t limit = 1;
    for (int d = digits(random); d > 0; --d) limit *= 10;
    const milliseconds value{std::uniform_int_distribution<std::int64_t>{0, limit}(random)};
    const auto again = parseDuration(durationText(value));
    ASSERT_TRUE(again) << durationText(value);
    ASSERT_EQ(*again, value);
  }
}

TEST(Duration, AnyTextIsReadOrRefused) {
  static constexpr std::string_view alphabet = "0123456789.hms -+u\xC2\xB5n";
  std::mt19937_64 random{2};
  std::uniform_int_distribution<std::size_t> letter{0, alphabet.size() - 1};
  std::uniform_int_distribution<int> length{0, 24};
  int read = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::string text;
    for (int n = length(random); n > 0; --n) text += alphabet[letter(random)];
    const auto value = parseDuration(text);
    if (!value) {
      ASSERT_FALSE(value.error().message.empty());
      continue;
    }
    ++read;
    ASSERT_GE(*value, 0ms) << text;
    ASSERT_LE(*value, 10000h) << text;
  }
  EXPECT_GT(read, 100);
}

TEST(Duration, ValueThrowsWithTheMessage) {
  EXPECT_EQ(parseDuration("2s").value(), 2s);
  try {
    static_cast<void>(parseDuration("2").value());
    FAIL() << "no exception";
  } catch (const std::invalid_argument& e) {
    EXPECT_STREQ(e.what(), "\"2\" has no unit; give one, such as 2ms or 2s");
  }
}

}  // namespace
}  // namespace tenure
