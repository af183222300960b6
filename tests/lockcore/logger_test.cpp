#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <future>
#include <regex>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/lockcore/logger.hpp>

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
  const std::string out = testing::internal::GetCapturedStderr();
  const std::string time = R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z )";
  EXPECT_TRUE(std::regex_match(out, std::regex{time + "info  tenure: one\n" + time + "error tenure: two\n"})) << out;
}

/// Replaces stderr by a pipe for as long as this object lives.
class PipedStderr {
 public:
  PipedStderr() : kept_{fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)} {
    EXPECT_EQ(pipe2(ends_, O_CLOEXEC), 0);
    EXPECT_EQ(dup2(ends_[1], STDERR_FILENO), STDERR_FILENO);
  }
  ~PipedStderr() {
    dup2(kept_, STDERR_FILENO);
    for (const int fd : {ends_[0], ends_[1], kept_}) close(fd);
  }
  PipedStderr(const PipedStderr&) = delete;
  PipedStderr& operator=(const PipedStderr&) = delete;

  /// What has been written; there must be something.
  [[nodiscard]] std::string take() const {
    std::string room(1U << 20U, ' ');
    room.resize(static_cast<std::size_t>(std::max<ssize_t>(0, read(ends_[0], room.data(), room.size()))));
    return room;
  }

 private:
  int kept_;
  int ends_[2]{-1, -1};
};

/// The renewal thread writes to the log, and must not stand still because nobody reads the pipe.
TEST(LoggerToStderr, dropsLinesWhileNobodyReadsAndTellsHowManyThen) {
  const PipedStderr piped;
  const Logger logger = Logger::toStderr();
  auto logging = std::async(std::launch::async, [&] {
    for (int i = 0; i < 10'000; ++i) logger.log(LogLevel::info, std::string(100, 'x'));
  });
  const bool wentOn = logging.wait_for(std::chrono::seconds{20}) == std::future_status::ready;
  EXPECT_TRUE(wentOn);
  std::string all = piped.take();
  while (!wentOn && logging.wait_for(std::chrono::seconds{0}) != std::future_status::ready) all += piped.take();
  const auto written = std::count(all.begin(), all.end(), '\n');
  EXPECT_GT(written, 100);
  logger.log(LogLevel::info, "again");
  const std::string rest = piped.take();
  EXPECT_NE(rest.find("tenure: " + std::to_string(10'000 - written) + " lines were lost here: stderr was not read\n"),
            std::string::npos)
      << rest;
  EXPECT_TRUE(rest.ends_with("tenure: again\n")) << rest;
}

}  // namespace
}  // namespace tenure::test
