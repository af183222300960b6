// One line of the log in each format, and the table of its events.
#include "lockcore/port/log_line.hpp"

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

namespace tenure {
namespace {

constexpr std::string_view now = "2026-11-21T05:19:53.123Z";

std::string lineOf(LogFormat format, std::string_view sentence, std::initializer_list<LogField> fields = {},
                   LogEvent event = LogEvent::elected) {
  return logLine(format, now, {LogLevel::warn, sentence, event, {fields.begin(), fields.size()}});
}

TEST(LogLine, textIsTheSentenceAlone) {
  EXPECT_EQ(lineOf(LogFormat::text, "g: elected", {{"token", 7}}),
            "2026-11-21T05:19:53.123Z warn  tenure: g: elected\n");
  EXPECT_EQ(logLine(LogFormat::text, now, {LogLevel::trace, "x"}), "2026-11-21T05:19:53.123Z trace tenure: x\n");
}

TEST(LogLine, logfmtHasTheEventItsKeysAndTheSentence) {
  EXPECT_EQ(lineOf(LogFormat::logfmt, "g: elected with fencing token 7", {{"group", "g"}, {"token", 7}}),
            "time=2026-11-21T05:19:53.123Z level=warn event=elected group=g token=7 "
            "message=\"g: elected with fencing token 7\"\n");
  EXPECT_EQ(logLine(LogFormat::logfmt, now, {LogLevel::info, "x"}),
            "time=2026-11-21T05:19:53.123Z level=info event=message message=x\n");
}

TEST(LogLine, jsonHasTheEventItsKeysAndTheSentence) {
  EXPECT_EQ(lineOf(LogFormat::json, "g: elected", {{"group", "g"}, {"token", 7}}),
            "{\"time\":\"2026-11-21T05:19:53.123Z\",\"level\":\"warn\",\"event\":\"elected\",\"group\":\"g\","
            "\"token\":7,\"message\":\"g: elected\"}\n");
}

/// What a store or another candidate wrote cannot begin a line or a key of its own.
TEST(LogLine, whatOthersWroteStaysWithinItsValue) {
  const std::string bad = "a\"b\\c\nlevel=error d\x01\xFF=\x7F";
  for (const LogFormat format : {LogFormat::logfmt, LogFormat::json}) {
    const std::string line = lineOf(format, bad, {{"detail", bad}, {"address", ""}});
    EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
    EXPECT_EQ(line.find('\x01'), std::string::npos);
    EXPECT_EQ(line.find('\xFF'), std::string::npos);
    EXPECT_NE(line.find("a\\\"b\\\\c\\nlevel=error d\\u0001\xEF\xBF\xBD="), std::string::npos) << line;
  }
  EXPECT_NE(lineOf(LogFormat::logfmt, "x", {{"address", ""}}).find("address=\"\" "), std::string::npos);
}

/// Many read a log on a terminal.
TEST(LogLine, whatOthersWroteSteersNoTerminalAndBeginsNoLine) {
  const std::string bad =
      "a\nb\r\x1b[2J\x7F\x9B"
      "2J\xC2\x9B"
      "2J\xE2\x80\xAE";
  for (const LogFormat format : {LogFormat::text, LogFormat::logfmt, LogFormat::json}) {
    const std::string line = lineOf(format, bad, {{"detail", bad}});
    EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
    for (const std::string_view steering : {"\r", "\x1b", "\x7F", "\x9B", "\xC2\x9B", "\xE2\x80\xAE"}) {
      EXPECT_EQ(line.find(steering), std::string::npos) << line;
    }
  }
  EXPECT_NE(lineOf(LogFormat::json, bad).find(R"(\u007f)"), std::string::npos);
  EXPECT_NE(lineOf(LogFormat::json, bad).find(R"(\u009b2J\u202e)"), std::string::npos);
}

TEST(LogEventTable, namesEachEventOnce) {
  std::set<std::string_view> names;
  for (const LogEventSpec& spec : logEventSpecs()) {
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
    EXPECT_EQ(toString(spec.event), spec.name);
    EXPECT_EQ(static_cast<std::size_t>(spec.event), names.size() - 1) << "in the order of the enumeration";
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(LogEvent::linesLost) + 1);
  EXPECT_EQ(toString(static_cast<LogEvent>(99)), "invalid");
}

/// TENURE_UPDATE in the environment writes it.
TEST(LogEventTable, isThatOfTheReference) {
  std::string table = "| event | keys | when |\n|---|---|---|\n";
  for (const LogEventSpec& spec : logEventSpecs()) {
    std::string keys;
    std::istringstream words{std::string{spec.keys}};
    for (std::string word; words >> word;) keys += (keys.empty() ? "`" : ", `") + word + '`';
    table.append("| `").append(spec.name).append("` | ").append(keys).append(keys.empty() ? "| " : " | ");
    table.append(spec.about).append(" |\n");
  }
  const std::string begin = "<!-- events: begin -->\n";
  const std::string end = "<!-- events: end -->\n";
  std::ostringstream read;
  read << std::ifstream{TENURE_LOGS_PAGE}.rdbuf();
  const std::string page = read.str();
  ASSERT_NE(page.find(begin), std::string::npos);
  ASSERT_NE(page.find(end), std::string::npos);
  const auto at = page.find(begin) + begin.size();
  if (std::getenv("TENURE_UPDATE") != nullptr) {  // NOLINT(concurrency-mt-unsafe)
    std::ofstream{TENURE_LOGS_PAGE} << page.substr(0, at) << table << page.substr(page.find(end));
    return;
  }
  EXPECT_EQ(page.substr(at, page.find(end) - at), table);
}

}  // namespace
}  // namespace tenure
