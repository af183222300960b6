// What `tenure jobs` shows of the ledgers.
#include "cli/jobs/jobs_view.hpp"

#include <gtest/gtest.h>

#include "cli/text/period_text.hpp"

namespace tenure::cli {
namespace {

using std::chrono::sys_days;
using std::chrono::sys_seconds;
using namespace std::chrono_literals;

sys_seconds day(int number) { return sys_days{std::chrono::year{2026} / std::chrono::November / number}; }

TEST(PeriodText, NamesAnInstantAndReadsItBack) {
  const sys_seconds time = day(21) + 3h + 4min + 5s;
  EXPECT_EQ(periodText(time), "2026-11-21T03:04:05Z");
  for (const sys_seconds each :
       {time, sys_seconds{}, day(30), sys_seconds{sys_days{std::chrono::year{9999} / 12 / 31}}})
    EXPECT_EQ(periodFrom(periodText(each)), each);
}

TEST(PeriodText, ReadsNothingElse) {
  for (const char* text : {"", "2026-11-21", "2026-11-21T03:04:05", "2026-11-21T03:04:05+01:00", "2026-11-31T00:00:00Z",
                           "2026-13-01T00:00:00Z", "2026-11-21T24:00:00Z", "2026-11-21T03:60:05Z",
                           "2026-11-21T03:04:60Z", "2026-11-21t03:04:05z", " 2026-11-21T03:04:05Z",
                           "2026-11-21T03:04:05Z ", "2026-1x-21T03:04:05Z", "02026-11-21T03:04:05Z"}) {
    EXPECT_EQ(periodFrom(text), std::nullopt) << text;
  }
}

/// Two runs of the past, and one that was begun on the 23rd under token 43.
JobsDocument ledgers(const std::string& job) {
  const PastRun first{day(21), FencingToken{41}, 1, day(21) + 2s, RunOutcome::failed, 3, 90s, "one.example"};
  const PastRun second{day(22), FencingToken{42}, 2, day(22) + 5s, RunOutcome::stopped, std::nullopt, 5ms, "two"};
  const OpenRun open{day(23), FencingToken{43}, 1, day(23) + 1s, "three", false};
  return {.jobs = {{job, JobRuns{JobHistory{{{day(21), day(23)}}, open, {first, second}}}}}};
}

LeaseRecord recordOf(FencingToken token) {
  LeaseRecord record;
  record.holder = "three#x";
  record.token = token;
  return record;
}

std::string tableOf(const JobsDocument& found, const std::vector<JobConfig>& jobs, const LeaseRecord* record,
                    bool colours = false) {
  return toTable(jobViewsOf(found, jobs, record, day(23) + 12h), "group.yaml", colours);
}

TEST(JobsView, ShowsTheRunsOfAJobWithTheLatestFirst) {
  const LeaseRecord record = recordOf(FencingToken{43});
  EXPECT_EQ(tableOf(ledgers("nightly"), {{.name = "nightly", .schedule = "0 3 * * *"}}, &record),
            "job nightly: 0 3 * * * (UTC), next 2026-11-24T03:00:00Z\n"
            "  begun: 2026-11-21T00:00:00Z to 2026-11-23T00:00:00Z\n"
            "  PERIOD                STATE    EXIT  DURATION  ATTEMPT  HOST         TOKEN\n"
            "  2026-11-23T00:00:00Z  running                  1        three        43\n"
            "  2026-11-22T00:00:00Z  stopped        5ms       2        two          42\n"
            "  2026-11-21T00:00:00Z  failed   3     1m30s     1        one.example  41\n");
}

TEST(JobsView, ARunWithoutAnEndGoesOnOnlyInThePresentTerm) {
  const auto has = [](const LeaseRecord* record, const std::string& state) {
    return tableOf(ledgers("x"), {}, record).find("2026-11-23T00:00:00Z  " + state) != std::string::npos;
  };
  LeaseRecord record = recordOf(FencingToken{43});
  EXPECT_TRUE(has(&record, "running"));
  record.released = true;
  EXPECT_TRUE(has(&record, "lost"));
  record = recordOf(FencingToken{44});
  EXPECT_TRUE(has(&record, "lost"));
  EXPECT_TRUE(has(nullptr, "lost"));
}

TEST(JobsView, ARunWithABadEndIsShownOnce) {
  JobsDocument found = ledgers("x");
  JobHistory history = found.jobs.at("x").history();
  history.open = OpenRun{day(22), FencingToken{42}, 2, day(22) + 5s, "two", true};
  history.begun = {{day(21), day(22)}};
  found.jobs.at("x") = JobRuns{history};
  const LeaseRecord record = recordOf(FencingToken{42});
  const std::string text = tableOf(found, {}, &record);
  EXPECT_EQ(text.find("\n  2026-11-22T"), text.rfind("\n  2026-11-22T")) << text;
  EXPECT_EQ(text.find("running"), std::string::npos) << text;
}

TEST(JobsView, JobsOfTheFileComeInItsOrderAndThenTheOthers) {
  const std::string text = tableOf(
      ledgers("old \n"),
      {{.name = "z", .per = 24h}, {.name = "a", .schedule = "0 3 * * *", .timeZone = "Europe/Berlin"}}, nullptr);
  EXPECT_EQ(text.substr(0, text.find("  begun")),
            "job z: every 24h, next 2026-11-24T00:00:00Z\n"
            "  no run is known\n"
            "job a: 0 3 * * * (Europe/Berlin), next 2026-11-24T02:00:00Z (2026-11-24T03:00:00 Europe/Berlin)\n"
            "  no run is known\n"
            "job \"old \\n\": not in group.yaml\n");
}

TEST(JobsView, TheLatestBegunSpanIsNamedAndTheOthersCounted) {
  const auto with = [](std::vector<PeriodSpan> spans) {
    const JobsDocument found{.jobs = {{"x", JobRuns{JobHistory{std::move(spans), {}, {}}}}}};
    const std::string head = "job x: not in group.yaml\n";
    const std::string text = tableOf(found, {}, nullptr);
    return text.substr(head.size(), text.find('\n', head.size()) - head.size());
  };
  EXPECT_EQ(with({}), "  no run is known");
  EXPECT_EQ(with({{day(3), day(3)}}), "  begun: 2026-11-03T00:00:00Z");
  EXPECT_EQ(with({{day(9), day(12)}, {day(3), day(3)}}),
            "  begun: 2026-11-09T00:00:00Z to 2026-11-12T00:00:00Z, and 1 other span");
  EXPECT_EQ(with({{day(3), day(3)}, {day(1), day(1)}, {day(9), day(9)}}),
            "  begun: 2026-11-09T00:00:00Z, and 2 other spans");
}

TEST(JobsView, JsonListsTheBegunSpansInTheOrderOfTime) {
  const JobsDocument found{.jobs = {{"x", JobRuns{JobHistory{{{day(9), day(12)}, {day(3), day(3)}}, {}, {}}}}}};
  const std::string text = toJson(jobViewsOf(found, {}, nullptr, day(13)).front(), "g", "memory");
  EXPECT_NE(text.find(R"("begun":[{"from":"2026-11-03T00:00:00Z","to":"2026-11-03T00:00:00Z"},)"
                      R"({"from":"2026-11-09T00:00:00Z","to":"2026-11-12T00:00:00Z"}],"runs":[])"),
            std::string::npos)
      << text;
}

TEST(JobsView, ColoursTellGoodFromBad) {
  const LeaseRecord record = recordOf(FencingToken{43});
  const std::string text = tableOf(ledgers("x"), {}, &record, true);
  EXPECT_NE(text.find("\033[32mrunning"), std::string::npos) << text;
  EXPECT_NE(text.find("\033[33mstopped"), std::string::npos) << text;
  EXPECT_NE(text.find("\033[31mfailed"), std::string::npos) << text;
}

TEST(JobsView, JsonHasStableKeys) {
  const LeaseRecord record = recordOf(FencingToken{43});
  const std::vector<JobConfig> jobs{{.name = "a", .schedule = "0 3 * * *", .timeZone = "Europe/Berlin"},
                                    {.name = "b", .per = 24h}};
  const auto views = jobViewsOf(ledgers("c"), jobs, &record, day(23) + 12h);
  ASSERT_EQ(views.size(), 3U);
  EXPECT_EQ(toJson(views[0], "g", "memory"),
            R"({"group":"g","job":"a","in_file":true,"schedule":"0 3 * * *","per_ms":null,"time_zone":"Europe/Berlin",)"
            R"("next_period":"2026-11-24T02:00:00Z","begun":[],"runs":[],"store":"memory"})"
            "\n");
  EXPECT_EQ(toJson(views[1], "g", "memory"),
            R"({"group":"g","job":"b","in_file":true,"schedule":null,"per_ms":86400000,"time_zone":null,)"
            R"("next_period":"2026-11-24T00:00:00Z","begun":[],"runs":[],"store":"memory"})"
            "\n");
  const std::string runs =
      R"({"period":"2026-11-23T00:00:00Z","state":"running","exit_code":null,"duration_ms":null,"attempt":1,)"
      R"("began_at":"2026-11-23T00:00:01Z","holder":"three","fencing_token":43},)"
      R"({"period":"2026-11-22T00:00:00Z","state":"stopped","exit_code":null,"duration_ms":5,"attempt":2,)"
      R"("began_at":"2026-11-22T00:00:05Z","holder":"two","fencing_token":42},)"
      R"({"period":"2026-11-21T00:00:00Z","state":"failed","exit_code":3,"duration_ms":90000,"attempt":1,)"
      R"("began_at":"2026-11-21T00:00:02Z","holder":"one.example","fencing_token":41})";
  EXPECT_EQ(toJson(views[2], "g", "memory"),
            R"({"group":"g","job":"c","in_file":false,"schedule":null,"per_ms":null,"time_zone":null,)"
            R"("next_period":null,"begun":[{"from":"2026-11-21T00:00:00Z","to":"2026-11-23T00:00:00Z"}],"runs":[)" +
                runs + R"(],"store":"memory"})" + "\n");
}

}  // namespace
}  // namespace tenure::cli
