#include <chrono>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/lockcore/logger.hpp>

#include "lockcore/runtime/output_writer.hpp"

namespace tenure::test {
namespace {

using Lines = std::vector<std::pair<LogLevel, std::string>>;

constexpr LogLevel lineLevels[] = {LogLevel::trace, LogLevel::debug, LogLevel::info, LogLevel::warn, LogLevel::error};

TEST(LogLevels, areNamedAndFoundByName) {
  const std::pair<LogLevel, const char*> names[] = {{LogLevel::trace, "trace"}, {LogLevel::debug, "debug"},
                                                    {LogLevel::info, "info"},   {LogLevel::warn, "warn"},
                                                    {LogLevel::error, "error"}, {LogLevel::off, "off"}};
  for (const auto& [level, name] : names) {
    EXPECT_EQ(toString(level), name);
    EXPECT_EQ(logLevelFrom(name), level);
  }
  EXPECT_EQ(toString(static_cast<LogLevel>(99)), "invalid");
  for (const char* other : {"", "Info", "warning", " info", "invalid"}) EXPECT_EQ(logLevelFrom(other), std::nullopt);
}

TEST(LoggerTest, writesNothingUnlessMade) {
  const Logger logger;
  for (const LogLevel level : lineLevels) EXPECT_FALSE(logger.wants(level));
  logger.log(LogLevel::error, "to nobody");
  const Logger withoutSink{LogLevel::trace, nullptr};
  EXPECT_FALSE(withoutSink.wants(LogLevel::error));
  withoutSink.log(LogLevel::error, "to nobody");
}

TEST(LoggerTest, passesItsLevelAndAbove) {
  for (const LogLevel least : lineLevels) {
    Lines lines;
    const Logger logger{least, [&](LogLevel level, std::string_view line) { lines.emplace_back(level, line); }};
    Lines expected;
    for (const LogLevel level : lineLevels) {
      EXPECT_EQ(logger.wants(level), level >= least);
      logger.log(level, toString(level));
      if (level >= least) expected.emplace_back(level, toString(level));
    }
    EXPECT_EQ(lines, expected) << toString(least);
  }
}

TEST(LoggerTest, offIsNoLevelOfALine) {
  int lines = 0;
  const auto count = [&](LogLevel, std::string_view) { ++lines; };
  const Logger all{LogLevel::trace, count};
  const Logger none{LogLevel::off, count};
  all.log(LogLevel::off, "");
  none.log(LogLevel::error, "");
  none.log(LogLevel::off, "");
  EXPECT_EQ(lines, 0);
}

TEST(LoggerTest, stderrLinesHaveTimeLevelAndLibrary) {
  testing::internal::CaptureStderr();
  const Logger logger = Logger::toStderr(LogLevel::info);
  logger.log(LogLevel::debug, "not this");
  logger.log(LogLevel::info, "one");
  logger.log(LogLevel::error, "two");
  EXPECT_EQ(stderrWriter().flush(std::chrono::seconds{20}), 0);
  const std::string out = testing::internal::GetCapturedStderr();
  const std::string time = R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z )";
  EXPECT_TRUE(std::regex_match(out, std::regex{time + "info  tenure: one\n" + time + "error tenure: two\n"})) << out;
}

}  // namespace
}  // namespace tenure::test
