// Files of time zones: rules at their ends, damaged ones, and new data under a schedule that is in use.
#include "election/jobs/src/zone.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "job_times.hpp"
#include "jobs_stage.hpp"
#include "support/temp_dir.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;
using std::chrono::sys_seconds;
using Times = std::vector<std::string>;

std::string bigEndian(std::int64_t number, int bytes) {
  std::string out;
  while (bytes-- > 0) out += static_cast<char>(number >> (8 * bytes));
  return out;
}

/// A header and its block, with UTC until `change`, and one hour more after it.
std::string blockOf(char version, std::optional<std::int64_t> change, int timeBytes, std::uint32_t leapSeconds = 0) {
  std::string out = std::string{"TZif"} + version + std::string(15, '\0');
  for (const std::int64_t count : {0, 0, static_cast<int>(leapSeconds), change ? 1 : 0, 2, 4})
    out += bigEndian(count, 4);
  if (change) out += bigEndian(*change, timeBytes) + '\1';
  out += bigEndian(0, 4) + std::string(2, '\0') + bigEndian(3600, 4) + std::string(2, '\0') + "ABC"s + '\0';
  return out + std::string(leapSeconds * static_cast<std::size_t>(timeBytes + 4), '\1');
}

/// A slim file.
std::string fileWith(const std::string& rule, std::optional<std::int64_t> change = {}) {
  return blockOf('2', {}, 4) + blockOf('2', change, 8) + '\n' + rule + '\n';
}

ZoneData zoneIn(const std::string& file) {
  auto zone = ZoneData::in(file);
  if (!zone) throw std::runtime_error(zone.error().why);
  return *std::move(zone);
}

Times changesOf(const std::string& rule, const std::string& from, const std::string& to) {
  const ZoneData zone = zoneIn(fileWith(rule));
  Times out;
  for (ZoneStretch at = zone.at(instant(from)); at.end < instant(to); at = zone.at(at.end))
    out.push_back(textOf(at.end) + ' ' + std::to_string(zone.at(at.end).offset.count()));
  return out;
}

// The expected times are those of Python's zoneinfo over the same files.
TEST(ZoneRules, changeEachYear) {
  EXPECT_EQ(changesOf("CET-1CEST,M3.5.0,M10.5.0/3", "2040-01-01T00:00Z", "2041-01-01T00:00Z"),
            (Times{"2040-03-25T01:00Z 7200", "2040-10-28T01:00Z 3600"}));
  EXPECT_EQ(changesOf("AEST-10AEDT,M10.1.0,M4.1.0/3", "2040-01-01T00:00Z", "2041-01-01T00:00Z"),
            (Times{"2040-03-31T16:00Z 36000", "2040-10-06T16:00Z 39600"}))
      << "summer over the new year";
  EXPECT_EQ(changesOf("IST-1GMT0,M10.5.0,M3.5.0/1", "2040-01-01T00:00Z", "2041-01-01T00:00Z"),
            (Times{"2040-03-25T01:00Z 3600", "2040-10-28T01:00Z 0"}))
      << "an hour less in winter";
  EXPECT_EQ(changesOf("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2040-01-01T00:00Z", "2041-01-01T00:00Z"),
            (Times{"2040-03-25T01:00Z -3600", "2040-10-28T01:00Z -7200"}))
      << "on the evening before";
  EXPECT_EQ(changesOf("EET-2EEST,M3.4.4/50,M10.4.4/50", "2040-01-01T00:00Z", "2041-01-01T00:00Z"),
            (Times{"2040-03-24T00:00Z 10800", "2040-10-26T23:00Z 7200"}))
      << "two days later";
  EXPECT_EQ(zoneIn(fileWith("X-2")).at(instant("2040-01-01T00:00Z")).offset, 2h) << "a name of one letter";
  EXPECT_EQ(changesOf("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "2040-01-01T00:00Z", "2041-01-01T00:00Z"),
            (Times{"2040-03-31T15:00Z 37800", "2040-10-06T15:30Z 39600"}))
      << "half an hour";
}

TEST(ZoneRules, changeOnDaysOfTheYear) {
  EXPECT_EQ(changesOf("AAA0BBB,J60/0,J300/0", "2040-01-01T00:00Z", "2042-01-01T00:00Z"),
            (Times{"2040-03-01T00:00Z 3600", "2040-10-26T23:00Z 0", "2041-03-01T00:00Z 3600", "2041-10-26T23:00Z 0"}));
  EXPECT_EQ(changesOf("AAA0BBB,59/0,299/0", "2040-01-01T00:00Z", "2042-01-01T00:00Z"),
            (Times{"2040-02-29T00:00Z 3600", "2040-10-25T23:00Z 0", "2041-03-01T00:00Z 3600", "2041-10-26T23:00Z 0"}));
}

TEST(ZoneRules, mayHaveSummerForAllOfTheYear) {
  const ZoneData zone = zoneIn(fileWith("XXX3EDT4,0/0,J365/23"));
  for (const char* time : {"2040-01-01T02:59Z", "2040-01-01T03:00Z", "2040-07-01T00:00Z", "2040-12-31T23:59Z"})
    EXPECT_EQ(zone.at(instant(time)).offset, -4h) << time;
}

TEST(ZoneRules, areRefusedWhereGlibcWouldGuess) {
  for (const char* rule :
       {"CET", "<>-1", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,M3.5.0,", "CET-1CEST,M13.5.0,M10.5.0",
        "CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0", "CET-1CEST,J0,J300", "CET-1CEST,M3.5.0/168,M10.5.0",
        "CET-25", "CET-1:60", "<CET-1", "CET-1CEST,M3.5.0,M10.5.0 ", "CET--1", "-1"})
    EXPECT_EQ(ZoneData::in(fileWith(rule)).error().why, "ends with a rule that is not understood") << rule;
}

TEST(ZoneFiles, ofTheFirstVersionHaveNoRule) {
  const ZoneData zone = zoneIn(blockOf('\0', 1'000'000'000, 4));
  EXPECT_EQ(zone.at(sys_seconds{999'999'999s}).offset, 0s);
  EXPECT_EQ(zone.at(sys_seconds{1'000'000'000s}).offset, 1h);
  EXPECT_EQ(zone.at(instant("2100-07-01T00:00Z")).offset, 1h);
}

TEST(ZoneFiles, haveTheirRuleAfterTheLastChangeAlone) {
  const ZoneData zone = zoneIn(fileWith("AAA-5", 1'000'000'000));
  EXPECT_EQ(zone.at(sys_seconds{1'000'000'000s}).offset, 1h) << "the change itself is listed";
  EXPECT_EQ(zone.at(sys_seconds{1'000'000'001s}).offset, 5h);
  const ZoneData without = zoneIn(fileWith("", 1'000'000'000));
  EXPECT_EQ(without.at(instant("2100-07-01T00:00Z")).offset, 1h);
}

TEST(ZoneFiles, areRefusedWholeIfTheyAreDamaged) {
  const std::string whole = fileWith("AAA-5", 1'000'000'000);
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(ZoneData::in(whole.substr(0, size))) << size;
  EXPECT_TRUE(ZoneData::in(whole));
  EXPECT_EQ(ZoneData::in(blockOf('\0', {}, 4, 1)).error().why, "counts leap seconds, which is not supported");
  std::string unknownType = blockOf('\0', 7, 4);
  unknownType[44 + 4] = '\2';
  EXPECT_EQ(ZoneData::in(unknownType).error().why, "has changes that contradict each other");
  std::string wide = blockOf('\0', {}, 4);
  wide[44] = '\1';
  EXPECT_EQ(ZoneData::in(wide).error().why, "has an offset of more than 26 hours");
}

/// A folder of zones, as TZDIR names it.
class ZonesOfAFolder : public testing::Test {
 protected:
  ZonesOfAFolder() { ::setenv("TZDIR", folder_.path().c_str(), 1); }  // NOLINT(concurrency-mt-unsafe)
  ~ZonesOfAFolder() override { ::unsetenv("TZDIR"); }                 // NOLINT(concurrency-mt-unsafe)

  /// As packages and zic do.
  void replace(const std::string& content) const {
    std::ofstream{folder_.file("new"), std::ios::binary} << content;
    std::filesystem::rename(folder_.file("new"), folder_.file("Town"));
  }
  [[nodiscard]] std::string faultOf(const std::string& name) const {
    const auto zone = Zone::named(name);
    if (zone) return "none";
    const OptionFaults faults = zone.error();
    const std::string text = faults.front().message.substr(0, faults.front().message.find("; "));
    const std::size_t path = text.find(folder_.path().string());
    return path == std::string::npos ? text : text.substr(0, path) + text.substr(path + folder_.path().string().size());
  }

  TempDir folder_;
};

TEST_F(ZonesOfAFolder, areNamedByThePathsOfTheirFiles) {
  replace(fileWith("AAA-5"));
  EXPECT_EQ(faultOf("Town"), "none");
  EXPECT_EQ(faultOf("Village"), R"("Village" cannot be used: /Village cannot be read: No such file or directory)");
  for (const std::string& name : {""s, "./Town"s, "/Town"s, "Town/"s, "a/../Town"s, ".."s, "Town\0x"s})
    EXPECT_NE(faultOf(name).find("is not the name of a zone"), std::string::npos) << name;
  std::filesystem::create_directory(folder_.file("Land"));
  EXPECT_EQ(faultOf("Land"), R"("Land" cannot be used: /Land is not a regular file)");
  replace("");
  EXPECT_EQ(faultOf("Town"), R"("Town" cannot be used: /Town is not a time-zone file (TZif))");
  replace(fileWith("AAA-5").substr(0, 100));
  EXPECT_EQ(faultOf("Town"), R"("Town" cannot be used: /Town is cut short)");
}

TEST_F(ZonesOfAFolder, newDataOfAZoneTakeEffectInASchedule) {
  replace(fileWith("AAA-1"));
  const Schedule nightly = Schedule::cron("0 3 * * *", "Town").value();
  const std::vector copies{nightly, nightly};
  EXPECT_EQ(textOf(nightly.after(instant("2026-07-01T00:00Z"))), "2026-07-01T02:00Z");
  replace(fileWith("AAA-2"));
  EXPECT_EQ(textOf(nightly.after(instant("2026-07-01T00:00Z"))), "2026-07-01T01:00Z");
  EXPECT_EQ(textOf(copies.back().latestAt(instant("2026-07-01T12:00Z"))), "2026-07-01T01:00Z");
}

TEST_F(ZonesOfAFolder, aZoneWhoseFileIsGoneOrDamagedKeepsItsData) {
  replace(fileWith("AAA-1"));
  const Schedule nightly = Schedule::cron("0 3 * * *", "Town").value();
  const auto next = [&] { return textOf(nightly.after(instant("2026-07-01T00:00Z"))); };
  replace("half of it");
  EXPECT_EQ(next(), "2026-07-01T02:00Z");
  std::filesystem::remove(folder_.file("Town"));
  EXPECT_EQ(next(), "2026-07-01T02:00Z");
  replace(fileWith("AAA-2"));
  EXPECT_EQ(next(), "2026-07-01T01:00Z");
}

TEST_F(ZonesOfAFolder, newDataOfAZoneTakeEffectUnderARunningScheduler) {
  replace(fileWith("UTC0"));
  JobsStage stage;  // it is 12:00 in UTC
  std::atomic<int> runs{0};
  const ScheduledJob job{"job",
                         Schedule::cron("30 13 * * *", "Town").value(),
                         {.missed = Missed::skip},
                         Overlap::wait,
                         [&](const JobRun&) { ++runs; }};
  const auto copy = stage.copy("a", {job});
  stage.advance(29min);
  EXPECT_EQ(runs, 0);
  replace(fileWith("AAA-1"));
  EXPECT_TRUE(stage.until([&] { return runs == 1; }));
  EXPECT_EQ(textOf(stage.recorded().begun.back().from), "2026-03-01T12:30Z");
}

}  // namespace
}  // namespace tenure::test
