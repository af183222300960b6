// The text of the ledgers: its exact form, its size, and what is refused.
#include "election/jobs/src/jobs_document.hpp"

#include <gtest/gtest.h>

#include "job_times.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;
using std::chrono::sys_seconds;

JobHistory ordinary() {
  JobHistory history;
  history.begun = {{instant("2026-09-01T03:00Z"), instant("2026-11-20T03:00Z")},
                   {instant("2026-11-22T03:00Z"), instant("2026-11-24T03:00Z")}};
  const auto day = [](unsigned number) { return instant("2026-11-24T03:00Z") - std::chrono::days{number}; };
  for (unsigned i = 8; i > 0; --i)
    history.past.push_back(
        {day(i), FencingToken{100 + i}, 1, day(i) + 4s, RunOutcome::succeeded, 0, 3'601'234ms, "backup-host-1.prod"});
  history.open = OpenRun{day(0), FencingToken{123}, 1, day(0) + 2s, "backup-host-2.prod", false};
  return history;
}

JobHistory extreme() {
  const sys_seconds last = instant("9999-12-31T23:59Z");
  JobHistory history;
  for (int i = 0; i < 12; ++i) history.begun.push_back({last - 10s * (i + 1), last - 10s * (i + 1) + 5s});
  history.begun.back().from = instant("1970-01-01T00:00Z");
  history.begun.back().to = instant("2000-01-01T00:00Z");
  const std::string name(64, 'x');
  const std::string quotes(32, '"');
  history.open = OpenRun{last - 10s, maxFencingToken, 1'000'000, sys_seconds{}, name, true};
  for (int i = 0; i < 8; ++i)
    history.past.push_back({last, maxFencingToken, 1'000'000, sys_seconds{}, RunOutcome::stopped,
                            std::numeric_limits<int>::min(), std::chrono::days{36'600}, i % 2 == 0 ? name : quotes});
  return history;
}

JobsDocument documentOf(JobHistory history, const std::string& name = "nightly-backup") {
  JobsDocument document;
  document.jobs.emplace(name, JobRuns{std::move(history)});
  return document;
}

void expectRoundTrip(const JobsDocument& document) {
  const std::string text = textOf(document);
  const auto read = jobsDocumentFrom(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, document);
  EXPECT_EQ(textOf(*read), text);
}

std::string faultIn(const std::string& text) {
  const auto read = jobsDocumentFrom(text);
  if (read) return "none";
  EXPECT_EQ(read.error().errorClass, ErrorClass::corrupt);
  return read.error().message;
}

TEST(JobsDocument, HasThisForm) {
  EXPECT_EQ(textOf(JobsDocument{}), R"({"v":1,"jobs":{}})");
  JobRuns runs;
  const Schedule minute = Schedule::every(60s).value();
  ASSERT_TRUE(runs.begin({sys_seconds{600s}}, {FencingToken{7}, "db-1", sys_seconds{605s}}, minute));
  JobsDocument document;
  document.jobs["a"] = runs;
  EXPECT_EQ(textOf(document), R"({"v":1,"jobs":{"a":{"begun":[[600,600]],"open":[600,7,1,5,0,"db-1"],"past":[]}}})");
  ASSERT_TRUE(runs.end({FencingToken{7}, RunOutcome::failed, 2, 1500ms}));
  document.jobs["a"] = runs;
  EXPECT_EQ(textOf(document), R"({"v":1,"jobs":{"a":{"begun":[[600,600]],"open":[600,7,1,5,1,"db-1"],)"
                              R"("past":[[600,7,1,5,1,2,1500,"db-1"]]}}})");
  ASSERT_TRUE(runs.begin({sys_seconds{660s}}, {FencingToken{8}, "", sys_seconds{605s}}, minute));
  ASSERT_TRUE(runs.begin({sys_seconds{720s}}, {FencingToken{9}, "", sys_seconds{720s}}, minute));
  document.jobs["a"] = runs;
  EXPECT_NE(textOf(document).find(R"([660,8,1,-55,3,null,null,""])"), std::string::npos) << textOf(document);
}

TEST(JobsDocument, IsReadBackExactly) {
  expectRoundTrip({});
  expectRoundTrip(documentOf({}));
  expectRoundTrip(documentOf(ordinary()));
  expectRoundTrip(documentOf(extreme()));
  JobsDocument several = documentOf(ordinary(), "z\"\\ü");
  several.jobs.emplace("a", JobRuns{extreme()});
  expectRoundTrip(several);
}

TEST(JobsDocument, IsSmall) {
  EXPECT_LE(textOf(documentOf(ordinary())).size(), 700U);
  EXPECT_LE(textOf(documentOf(extreme(), std::string(64, '"'))).size(), 4096U);
  EXPECT_GE(textOf(documentOf(extreme())).size(), 1500U) << "this is to be the longest that there can be";
}

TEST(JobsDocument, RefusesForeignTextsAndNeverTakesOneForAnEmptyLedger) {
  for (const char* text : {"",
                           " ",
                           "{}",
                           "[]",
                           "null",
                           "0",
                           "\"\"",
                           "{",
                           R"({"v":1})",
                           R"({"jobs":{}})",
                           R"({"v":"1","jobs":{}})",
                           R"({"v":1.0,"jobs":{}})",
                           R"({"v":1,"jobs":[]})",
                           R"({"v":1,"jobs":null})",
                           R"({"v":1,"jobs":{},"more":0})",
                           R"({"v":0,"jobs":{}})",
                           R"({"v":1,"jobs":{}} )",
                           R"( {"v":1,"jobs":{}})",
                           R"({"jobs":{},"v":1})",
                           R"({"v":1,"v":1,"jobs":{}})",
                           "\xFF\xFE",
                           "{\"v\":1,\"jobs\":{}}\n"}) {
    const std::string message = faultIn(text);
    EXPECT_NE(message, "none") << text;
    EXPECT_NE(message.find("not understood"), std::string::npos) << message;
  }
  EXPECT_NE(faultIn(std::string(maxJobsDocumentBytes + 1, ' ')), "none");
  EXPECT_NE(faultIn(std::string(100'000, '[')), "none");
}

TEST(JobsDocument, RefusesALaterVersionAndSaysSo) {
  EXPECT_NE(faultIn(R"({"v":2,"jobs":{},"more":{}})").find("version 2"), std::string::npos);
}

TEST(JobsDocument, RefusesALedgerThatCannotBeRight) {
  const auto ofJob = [](const std::string& ledger) { return faultIn(R"({"v":1,"jobs":{"a":)" + ledger + "}}"); };
  EXPECT_EQ(ofJob(R"({"begun":[[60,120]],"past":[]})"), "none");
  for (const char* ledger : {"null",
                             "[]",
                             "{}",
                             R"({"begun":[]})",
                             R"({"past":[]})",
                             R"({"begun":{},"past":[]})",
                             R"({"begun":[],"past":[],"more":[]})",
                             R"({"begun":[[60]],"past":[]})",
                             R"({"begun":[[60,120,180]],"past":[]})",
                             R"({"begun":[[120,60]],"past":[]})",
                             R"({"begun":[[60,120],[100,200]],"past":[]})",
                             R"({"begun":[[60,1.5e2]],"past":[]})",
                             R"({"begun":[[60,"120"]],"past":[]})",
                             R"({"begun":[[60,9223372036854775807]],"past":[]})",
                             R"({"begun":[[60,18446744073709551615]],"past":[]})",
                             R"({"begun":[[60,300000000000]],"past":[]})",
                             R"({"begun":[],"open":null,"past":[]})",
                             R"({"begun":[],"open":[60,7,1,0,0,"a"],"past":[]})",
                             R"({"begun":[[60,60]],"open":[60,0,1,0,0,"a"],"past":[]})",
                             R"({"begun":[[60,60]],"open":[60,7,0,0,0,"a"],"past":[]})",
                             R"({"begun":[[60,60]],"open":[60,7,1,0,2,"a"],"past":[]})",
                             R"({"begun":[[60,60]],"open":[60,7,1,0,0,"a\n"],"past":[]})",
                             R"({"begun":[[60,60]],"open":[60,9007199254740992,1,0,0,"a"],"past":[]})",
                             R"({"begun":[],"past":[[60,7,1,0,4,0,1,"a"]]})",
                             R"({"begun":[],"past":[[60,7,1,0,3,0,null,"a"]]})",
                             R"({"begun":[],"past":[[60,7,1,0,0,0,null,"a"]]})",
                             R"({"begun":[],"past":[[60,7,1,0,0,4294967296,1,"a"]]})",
                             R"({"begun":[],"past":[[60,7,1,0,0,0,-1,"a"]]})"})
    EXPECT_NE(ofJob(ledger), "none") << ledger;
  EXPECT_EQ(faultIn(R"({"v":1,"jobs":{"":{"begun":[],"past":[]}}})").find("bad name") == std::string::npos, false);
}

TEST(JobsDocument, RefusesAChangeOfAnyByteOrReadsWhatIsWrittenThatWay) {
  const std::string text = textOf(documentOf(ordinary()));
  for (std::size_t place = 0; place < text.size(); ++place) {
    for (const char byte : {'0', '9', '"', ',', ']', '}', ' ', '\0', '\xFF'}) {
      std::string changed = text;
      changed[place] = byte;
      const auto read = jobsDocumentFrom(changed);
      if (read) {
        EXPECT_EQ(textOf(*read), changed);
      }
    }
    EXPECT_FALSE(jobsDocumentFrom(text.substr(0, place))) << place;
  }
}

TEST(JobsDocument, DoesNotWriteWhatItWouldNotRead) {
  EXPECT_THROW(static_cast<void>(textOf(documentOf({}, ""))), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(textOf(documentOf({}, std::string(65, 'x')))), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(textOf(documentOf({}, "\xFF"))), std::invalid_argument);
  JobsDocument many;
  for (int i = 0; i < 200; ++i) many.jobs.emplace("job " + std::to_string(i), JobRuns{extreme()});
  EXPECT_THROW(static_cast<void>(textOf(many)), std::invalid_argument);
}

}  // namespace
}  // namespace tenure::test
