// The parts that need no process: what is shown in which form, and when.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include <tenure/election/listener.hpp>

#include "cli/lock/lock_view.hpp"
#include "cli/process/exec_image.hpp"
#include "cli/process/wakeups.hpp"
#include "cli/run/first_contact.hpp"
#include "cli/run/job_deadline.hpp"
#include "cli/run/startup_log.hpp"
#include "cli/run/supervisor_waits.hpp"
#include "cli/temporary_directory.hpp"
#include "cli/text/environment.hpp"
#include "cli/text/exit_codes.hpp"
#include "cli/text/lease_view.hpp"
#include "cli/text/output.hpp"
#include "lockcore/runtime/output_writer.hpp"

namespace tenure::cli {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

LeaseRecord record() {
  LeaseRecord out;
  out.holder = "alice \"x\"#0123456789abcdef0123456789abcdef";
  out.version = RecordVersion{"a-version"};
  out.leaseDuration = 10s;
  out.token = FencingToken{42};
  out.acquiredAtMillis = 1'000;
  out.renewedAtMillis = 61'000;
  return out;
}

std::string textOf(const char* path) {
  std::ifstream file{std::string{SOURCE_TREE} + "/" + path};
  return {std::istreambuf_iterator<char>{file}, {}};
}

TEST(ExitCodes, TheUnitAndItsDocumentsNameEveryPermanentCode) {
  std::string rule = "RestartPreventExitStatus=";
  for (const int code : permanentCodes) rule += (rule.ends_with('=') ? "" : " ") + std::to_string(code);
  EXPECT_NE(textOf("examples/systemd/tenure@.service").find('\n' + rule + '\n'), std::string::npos) << rule;
  for (const char* page : {"docs/systemd.md", "examples/systemd/README.md", "docs/reference/program.md"}) {
    EXPECT_NE(textOf(page).find('`' + rule + '`'), std::string::npos) << page;
  }
  for (const int code : permanentCodes) {
    EXPECT_NE(textOf("docs/reference/program.md").find("\n| " + std::to_string(code) + " | "), std::string::npos)
        << code;
  }
}

TEST(LeaseView, StateFollowsTheRecord) {
  EXPECT_EQ(viewOf("g", "s", std::nullopt, 0).state(), LeaseViewState::none);
  EXPECT_EQ(viewOf("g", "s", record(), 62'000).state(), LeaseViewState::held);
  LeaseRecord released = record();
  released.released = true;
  EXPECT_EQ(viewOf("g", "s", released, 990'000).state(), LeaseViewState::released);
}

/// A record of another client may have none.
TEST(LeaseView, NoTokenIsNullInJson) {
  LeaseRecord tokenless = record();
  tokenless.token = {};
  EXPECT_NE(toJson(viewOf("g", "s", tokenless, 0)).find(R"("fencing_token":null,)"), std::string::npos);
  EXPECT_NE(toJson(viewOf("g", "s", record(), 0)).find(R"("fencing_token":42,)"), std::string::npos);
}

TEST(LeaseView, NoWallClockAloneCallsALeaderSilent) {
  struct Case {
    std::int64_t now;  // the last renewal was at 61 s, and the lease is 10 s
    nanoseconds watched;
    LeaseViewState state;
    bool doubtful;
  };
  const auto held = LeaseViewState::held, silent = LeaseViewState::silent;
  for (const Case& at :
       {Case{62'000, 0s, held, false}, Case{71'000, 5s, held, false}, Case{71'001, 0s, held, true},
        Case{71'001, 4'999ms, held, true}, Case{71'001, 5s, silent, false}, Case{990'000, 0s, held, true},
        Case{51'000, 5s, held, false}, Case{50'999, 0s, held, true}, Case{50'999, 5s, silent, false},
        Case{62'000, 9'999ms, held, false}, Case{62'000, 10s, silent, false}}) {
    LeaseView view = viewOf("g", "s", record(), at.now);
    view.unrenewedFor = at.watched;
    EXPECT_EQ(view.state(), at.state) << at.now << ' ' << at.watched.count();
    EXPECT_EQ(view.isDoubtful(), at.doubtful) << at.now << ' ' << at.watched.count();
    view.seenRenewed = true;
    EXPECT_EQ(view.state(), at.state) << "it may have died since then";
    EXPECT_FALSE(view.isDoubtful());
  }
}

TEST(LeaseView, ALeaderThatWritesNoTimeIsSilentOnceItWasWatchedForItsLease) {
  LeaseRecord untimed = record();
  untimed.renewedAtMillis = 0;
  LeaseView view = viewOf("g", "s", untimed, 990'000);
  EXPECT_FALSE(view.isDoubtful());
  view.unrenewedFor = 9'999ms;
  EXPECT_EQ(view.state(), LeaseViewState::held);
  view.unrenewedFor = 10s;
  EXPECT_EQ(view.state(), LeaseViewState::silent);
}

Instant after(nanoseconds time) { return {time, time, time}; }

LeaseStatus failing(const std::string& message, bool permanent) {
  LeaseStatus status;
  status.lastError = StoreError{ErrorClass::misconfigured, message, permanent};
  return status;
}

/// What comes to stderr, without the times.
class QuietLogTest : public testing::Test {
 protected:
  QuietLogTest() { testing::internal::CaptureStderr(); }
  ~QuietLogTest() override { static_cast<void>(testing::internal::GetCapturedStderr()); }

  [[nodiscard]] static std::vector<std::string> written() {
    EXPECT_EQ(stderrWriter().flush(std::nullopt), 0);
    std::istringstream in{testing::internal::GetCapturedStderr()};
    testing::internal::CaptureStderr();
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(line.substr(line.find(' ') + 1));
    return lines;
  }
};
using Lines = std::vector<std::string>;

TEST_F(QuietLogTest, keepsWhatIsLessThanAWarningUntilThereIsSomethingToTell) {
  QuietLog log{LogLevel::info, LogFormat::text, true};
  const Logger logger = log.logger();
  logger.log(LogLevel::info, "one");
  logger.log(LogLevel::debug, "never");
  logger.log(LogLevel::info, "two");
  EXPECT_EQ(written(), Lines{});
  logger.log(LogLevel::warn, "three");
  EXPECT_EQ(written(), Lines{"warn  tenure: three"});
  log.open();
  EXPECT_EQ(written(), (Lines{"info  tenure: one", "info  tenure: two"}));
  logger.log(LogLevel::info, "four");
  EXPECT_EQ(written(), Lines{"info  tenure: four"});
}

TEST_F(QuietLogTest, keepsTheLatestLines) {
  QuietLog log{LogLevel::info, LogFormat::text, true};
  for (int i = 1; i <= 1'001; ++i) log.logger().log(LogLevel::info, std::to_string(i));
  log.open();
  const Lines lines = written();
  ASSERT_EQ(lines.size(), 1'000U);
  EXPECT_EQ(lines.front(), "info  tenure: 2");
}

TEST_F(QuietLogTest, isAnyOtherLogWhereItIsNotQuiet) {
  QuietLog log{LogLevel::info, LogFormat::text, false};
  log.logger().log(LogLevel::info, "one");
  EXPECT_EQ(written(), Lines{"info  tenure: one"});
}

TEST(FirstContact, TellsTheCauseAtOnceAndThenAtGrowingIntervals) {
  FirstContact contact{after(0s)};
  EXPECT_FALSE(contact.look(after(1s), LeaseStatus{})) << "no answer yet is no news";
  std::vector<int> told;
  for (int second = 2; second <= 3'000; ++second) {
    const auto advice = contact.look(after(std::chrono::seconds{second}), failing("no such directory", false));
    if (!advice) continue;
    EXPECT_EQ(advice->kind, FirstContact::Advice::Kind::tell);
    EXPECT_EQ(advice->cause, "no such directory");
    told.push_back(second);
  }
  EXPECT_EQ(told, (std::vector<int>{2, 12, 32, 72, 152, 312, 632, 1232, 1832, 2432}));
}

TEST(FirstContact, GivesUpOnWhatNoWaitingMendsAndOnlyBeforeTheFirstContact) {
  FirstContact never{after(0s)};
  const auto advice = never.look(after(1s), failing("another's table", true));
  ASSERT_TRUE(advice);
  EXPECT_EQ(advice->kind, FirstContact::Advice::Kind::giveUp);
  EXPECT_EQ(advice->cause, "another's table");

  FirstContact made{after(0s)};
  LeaseStatus seen = failing("another's table", true);
  seen.leaderSeenAgo = 1s;
  seen.schema = StoreStatus{};
  EXPECT_FALSE(made.look(after(1s), seen));
  EXPECT_TRUE(made.isMade());
  EXPECT_FALSE(made.look(after(2s), failing("another's table", true))) << "the candidacy goes on (I10)";
  EXPECT_FALSE(made.untilLook(after(2s)));
}

TEST(FirstContact, NeedsMoreThanARead) {
  LeaseStatus status;
  status.leaderSeenAgo = 1s;
  FirstContact contact{after(0s)};
  EXPECT_FALSE(contact.look(after(1s), status)) << "the schema was not looked at yet";
  EXPECT_FALSE(contact.isMade());
  status.schema = StoreStatus{StoreError{ErrorClass::misconfigured, "may only read", false}};
  status.lastError = StoreError{ErrorClass::transient, "passed since", false};
  const auto advice = contact.look(after(2s), status);
  ASSERT_TRUE(advice);
  EXPECT_EQ(advice->cause, "may only read");
  EXPECT_FALSE(contact.isMade());
  LeaseStatus denied = status;
  denied.schema = StoreStatus{StoreError{ErrorClass::credentials, "DescribeTable is denied", false}};
  FirstContact other{contact};
  EXPECT_FALSE(other.look(after(3s), denied));
  EXPECT_TRUE(other.isMade()) << "the credentials are good for reads";
  status.terms = 1;
  EXPECT_FALSE(contact.look(after(4s), status));
  EXPECT_TRUE(contact.isMade());
}

TEST(StartupLog, DropsACauseThatCountsDown) {
  std::vector<std::string> lines;
  StartupLog log{Logger{LogLevel::info, [&lines](LogLevel, std::string_view line) { lines.emplace_back(line); }}};
  const Logger library = log.logger();
  library.log(LogLevel::warn, "the store is not ready: a new one is made in 1.998 s");
  log.told("a new one is made in 1.990 s");
  library.log(LogLevel::warn, "cannot compete: a new one is made in 0.7 s");
  log.open();
  EXPECT_TRUE(lines.empty()) << lines.front();
}

TEST(StartupLog, OneCauseIsOneLineAndNothingElseIsLost) {
  std::vector<std::string> lines;
  const auto sink = [&lines](LogLevel, std::string_view line) { lines.emplace_back(line); };
  StartupLog log{Logger{LogLevel::info, sink}};
  const Logger library = log.logger();
  library.log(LogLevel::info, "competes on sqlite /x.db");
  library.log(LogLevel::warn, "no death notice: sqlite /x.db: gone");
  library.log(LogLevel::warn, "cannot compete: sqlite /x.db: gone");
  library.log(LogLevel::warn, "the store is not ready: sqlite /x.db: another cause");
  EXPECT_EQ(lines, (std::vector<std::string>{"competes on sqlite /x.db"}));
  log.told("sqlite /x.db: gone");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1], "the store is not ready: sqlite /x.db: another cause");
  library.log(LogLevel::warn, "again: sqlite /x.db: gone");
  library.log(LogLevel::warn, "held until it opens: the clocks differ");
  log.open();
  EXPECT_EQ(lines.size(), 3U);
  library.log(LogLevel::warn, "at once: sqlite /x.db: gone");
  EXPECT_EQ(lines.size(), 4U);
}

TEST(LeaseView, RecordThatWasDeletedInATermIsNobodys) {
  const LeaseView view = viewOf("g", "s", vanishedRecord(FencingToken{41}, 10s), 62'000);
  EXPECT_EQ(view.state(), LeaseViewState::vanished);
  EXPECT_FALSE(isHeld(view.record));
  EXPECT_EQ(
      toTable(view, false),
      "group          g\n"
      "state          no leader; the record of the last term was deleted, so candidates wait until its lease is over\n"
      "fencing token  41\n"
      "lease          10s\n"
      "store          s\n");
  EXPECT_NE(toJson(view).find(R"("state":"vanished","leader":null,"last_leader":null,"fencing_token":41,)"),
            std::string::npos)
      << toJson(view);
}

TEST(LeaseView, TableIsForPeople) {
  EXPECT_EQ(toTable(viewOf("g", "sqlite x.db", record(), 62'500), false),
            "group          g\n"
            "state          held\n"
            "leader         alice \"x\" (01234567)\n"
            "fencing token  42\n"
            "since          1970-01-01T00:00:01.000Z\n"
            "last renewal   1970-01-01T00:01:01.000Z, 1500ms ago\n"
            "lease          10s\n"
            "store          sqlite x.db\n"
            "(times by the wall clock of the writer, for people only)\n");
  EXPECT_NE(toTable(viewOf("g", "s", record(), 60'000), false).find("1s in the future of this machine's clock"),
            std::string::npos);
  EXPECT_NE(toTable(viewOf("g", "s", record(), 62'500), true).find("\033[32mheld\033[0m"), std::string::npos);
}

TEST(LeaseView, TheAddressIsThatOfThePresentTerm) {
  LeaseRecord states = record();
  states.data = R"({"tenure":1,"term":42,"address":"10.0.0.5:8080"})";
  const LeaseView view = viewOf("g", "s", states, 62'500);
  EXPECT_NE(toTable(view, false).find("\naddress        10.0.0.5:8080\n"), std::string::npos);
  EXPECT_NE(toJson(view).find(R"("address":"10.0.0.5:8080")"), std::string::npos);
  LeaseRecord older = states;
  older.token = FencingToken{43};
  LeaseRecord released = states;
  released.released = true;
  LeaseRecord foreign = states;
  foreign.data = "10.0.0.5:8080";
  for (const LeaseRecord& none : {older, released, foreign}) {
    EXPECT_EQ(viewOf("g", "s", none, 62'500).address, "");
  }
}

TEST(LeaseView, APauseIsNobodysLeadership) {
  LeaseRecord paused = record();
  paused.holder = "paused by carol@ops1: new disks: db1#0123456789abcdef0123456789abcdef";
  const LeaseView view = viewOf("g", "s", paused, 62'500);
  EXPECT_EQ(view.state(), LeaseViewState::paused);
  EXPECT_NE(toTable(view, false)
                .find("state          paused: no leader\n"
                      "paused by      carol@ops1\n"
                      "why            new disks: db1\n"),
            std::string::npos)
      << toTable(view, false);
  EXPECT_NE(toJson(view).find(R"("state":"paused","leader":null,"last_leader":null,"fencing_token":42,)"),
            std::string::npos);
  EXPECT_NE(toJson(view).find(R"("paused":{"by":"carol@ops1","why":"new disks: db1"},)"), std::string::npos);
  const LeaseView over = viewOf("g", "s", paused, 990'000);
  EXPECT_EQ(over.state(), LeaseViewState::paused);
  EXPECT_NE(toTable(over, false).find("the pause is over"), std::string::npos);
  paused.released = true;
  const LeaseView ended = viewOf("g", "s", paused, 62'500);
  EXPECT_EQ(ended.state(), LeaseViewState::released);
  EXPECT_NE(toTable(ended, false).find("the last pause has ended"), std::string::npos);
  EXPECT_NE(toJson(ended).find(R"("last_leader":null)"), std::string::npos);
  EXPECT_NE(toJson(ended).find(R"("paused":null)"), std::string::npos);
}

TEST(LeaseView, AReleasedLeaseTellsForWhom) {
  LeaseRecord left = record();
  left.successor = {"bob", std::chrono::seconds{3}};
  EXPECT_EQ(toTable(viewOf("g", "s", left, 62'500), false).find("released for"), std::string::npos) << "it is held";
  EXPECT_NE(toJson(viewOf("g", "s", left, 62'500)).find(R"("released_for":null)"), std::string::npos);
  left.released = true;
  EXPECT_NE(toTable(viewOf("g", "s", left, 62'500), false).find("released for   bob\n"), std::string::npos);
  EXPECT_NE(toJson(viewOf("g", "s", left, 62'500)).find(R"("released_for":"bob")"), std::string::npos);
}

TEST(LeaseView, WhatTheWriterDidNotTellIsNotMadeUp) {
  LeaseRecord java = record();
  java.acquiredAtMillis = java.renewedAtMillis = 0;
  java.token = FencingToken{};
  EXPECT_EQ(toTable(viewOf("g", "dynamodb table locks", java, 62'500), false),
            "group          g\n"
            "state          held\n"
            "leader         alice \"x\" (01234567)\n"
            "fencing token  none\n"
            "since          not stated by the writer\n"
            "last renewal   not stated by the writer\n"
            "lease          10s\n"
            "store          dynamodb table locks\n");
}

TEST(LeaseView, JsonHasStableKeys) {
  EXPECT_EQ(
      toJson(viewOf("g", "sqlite x.db", record(), 62'500)),
      R"({"group":"g","state":"held","leader":{"name":"alice \"x\"","incarnation":"0123456789abcdef0123456789abcdef",)"
      R"("id":"alice \"x\"#0123456789abcdef0123456789abcdef"},"last_leader":null,"fencing_token":42,)"
      R"("lease_duration_ms":10000,"acquired_at":"1970-01-01T00:00:01.000Z","renewed_at":"1970-01-01T00:01:01.000Z",)"
      R"("renewed_ago_ms":1500,"record_version":"a-version","address":null,"paused":null,"released_for":null,)"
      R"("store":"sqlite x.db",)"
      R"("warning":null})"
      "\n");
  EXPECT_EQ(toJson(viewOf("g", "s", std::nullopt, 5)),
            R"({"group":"g","state":"none","leader":null,"last_leader":null,"fencing_token":null,)"
            R"("lease_duration_ms":null,"acquired_at":null,"renewed_at":null,"renewed_ago_ms":null,)"
            R"("record_version":null,"address":null,"paused":null,"released_for":null,"store":"s","warning":null})"
            "\n");
}

TEST(LockView, JsonTellsWhenALockWasAcquiredAndRenewedOrNull) {
  LeaseRecord foreign = record();
  foreign.acquiredAtMillis = 0;
  const std::string times = toJson(LockWatch::Row{LeaseKey{"l"}, record(), LockState::held, 0ns}, "s");
  EXPECT_NE(times.find(R"("acquired_at":"1970-01-01T00:00:01.000Z","renewed_at":"1970-01-01T00:01:01.000Z")"),
            std::string::npos)
      << times;
  const std::string untold = toJson(LockWatch::Row{LeaseKey{"l"}, foreign, LockState::held, 0ns}, "s");
  EXPECT_NE(untold.find(R"("acquired_at":null,)"), std::string::npos) << untold;
}

TEST(Output, JsonStringsAreEscaped) {
  EXPECT_EQ(jsonString("a\"\\\n\t\r\x01 ü"), "\"a\\\"\\\\\\n\\t\\r\\u0001 ü\"");
  EXPECT_EQ(jsonString("\xE2\x82\xAC \xF0\x9F\x98\x80"), "\"\xE2\x82\xAC \xF0\x9F\x98\x80\"") << "three and four bytes";
  EXPECT_EQ(jsonString("a\xFF\xC3z"), "\"a\xEF\xBF\xBD\xEF\xBF\xBDz\"") << "bytes that are no UTF-8";
}

TEST(CommandFault, WhatCannotBeLookedAtIsCalledNeitherMissingNorNotExecutable) {
  const auto fault = faultOfCommand("./" + std::string(300, 'a'));
  ASSERT_TRUE(fault);
  EXPECT_NE(fault->message.find("a cannot be examined: File name too long"), std::string::npos) << fault->message;
  EXPECT_EQ(fault->exitCode, exitNotExecutable);
}

TEST(CommandFault, AnInterpreterIsWhatTheKernelLooksFor) {
  const test::TemporaryDirectory directory;
  directory.write("script", "#!/bin/sh\r\necho\n");
  std::filesystem::permissions(directory.file("script"), std::filesystem::perms::owner_all);
  const auto fault = faultOfCommand(directory.file("script"));
  ASSERT_TRUE(fault);
  EXPECT_NE(fault->message.find(R"(the interpreter /bin/sh\x0d, which does not exist)"), std::string::npos)
      << fault->message;
  EXPECT_EQ(fault->exitCode, exitNotFound);
}

TEST(ExecImage, AnEmptyElementOfPathIsTheWorkingDirectoryAtItsEndToo) {
  const std::string before = environmentText("PATH");
  setenv("PATH", ":/a:", 1);  // NOLINT(concurrency-mt-unsafe): one thread
  EXPECT_EQ(ExecImage::candidatesFor("x"), (std::vector<std::string>{"./x", "/a/x", "./x"}));
  setenv("PATH", before.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): one thread
}

TEST(RestartDelay, DoublesWithEachFailureInARowUpToFiveMinutes) {
  RestartDelay delay{10s};
  EXPECT_EQ(delay.afterEnd(true, 0s), 10s);
  EXPECT_EQ(delay.afterEnd(true, 0s), 20s);
  EXPECT_EQ(delay.afterEnd(true, 0s), 40s);
  for (int i = 0; i < 10; ++i) static_cast<void>(delay.afterEnd(true, 0s));
  EXPECT_EQ(delay.present(), 5min);
  EXPECT_EQ(delay.afterEnd(true, 6min), 10s) << "it ran for longer than it had waited";
  EXPECT_EQ(delay.afterEnd(true, 0s), 20s);
  EXPECT_EQ(delay.afterEnd(false, 0s), 10s) << "it had succeeded";
  RestartDelay longLease{1h};
  EXPECT_EQ(longLease.afterEnd(true, 0s), 1h);
  EXPECT_EQ(longLease.afterEnd(true, 0s), 1h) << "never shorter than a lease";
}

TEST(WaitLimit, IsOverWhenTheTimeIs) {
  const Instant start{};
  WaitLimit limit{10s, start};
  EXPECT_EQ(limit.untilLook(start + 4s), 6s);
  LeaseStatus error;
  error.lastError = StoreError{};
  limit.leaderSeen(true, start);
  EXPECT_FALSE(limit.isOver(start + 9'999ms, error));
  EXPECT_TRUE(limit.isOver(start + 10s, {}));
  limit.lift();
  EXPECT_FALSE(limit.isOver(start + 10s, {}));
  EXPECT_FALSE(limit.untilLook(start).has_value());
  EXPECT_FALSE(WaitLimit(std::nullopt, start).isOver(start + 24h, error));
}

TEST(WaitLimit, OfZeroIsOverOnceSomebodyElseLeadsOrTheStoreFails) {
  const Instant start{};
  WaitLimit limit{0ms, start};
  EXPECT_FALSE(limit.isOver(start + 1s, {}));
  limit.leaderSeen(true, start + 1s);
  EXPECT_FALSE(limit.isOver(start + 1'100ms, {})) << "it may turn out dead in a moment";
  limit.leaderSeen(false, start + 1'100ms);
  EXPECT_FALSE(limit.isOver(start + 2s, {})) << "it did";
  limit.leaderSeen(true, start + 2s);
  limit.leaderSeen(true, start + 2'100ms);
  EXPECT_TRUE(limit.isOver(start + 2'200ms, {}));
  LeaseStatus error;
  error.lastError = StoreError{};
  EXPECT_TRUE(WaitLimit(0ms, start).isOver(start + 1ms, error));
  EXPECT_TRUE(WaitLimit(0ms, start).isOver(start + 5s, {})) << "a store that never answers";
}

/// With --busy-ok: a record that nobody renews is no busy leader.
TEST(WaitLimit, WaitsForASignOfLifeOfTheLeaderIfItsLifeCounts) {
  const Instant start{};
  WaitLimit limit{0ms, start, 10s};
  LeaseStatus status;
  status.leader = LeaderInfo{"alice#1", FencingToken{1}};
  limit.leaderSeen(true, start);
  EXPECT_FALSE(limit.isOver(start + 9s, status));
  EXPECT_FALSE(WaitLimit::isProvenBusy(status));
  EXPECT_TRUE(limit.isOver(start + 10s, status)) << "it is bounded";
  EXPECT_GT(*limit.untilLook(start + 9s), 0ns);
  status.leaderRenews = true;
  EXPECT_TRUE(WaitLimit::isProvenBusy(status));
  EXPECT_TRUE(limit.isOver(start + 1s, status));
  status.leaderRenews = false;
  status.leader->holder = pauseOwner({"bob@host", "new disks"}) + "#1";
  EXPECT_TRUE(limit.isOver(start + 1s, status)) << "a pause renews nothing";
  WaitLimit longer{2s, start, 10s};
  longer.leaderSeen(true, start);
  status.leader->holder = "alice#1";
  EXPECT_FALSE(longer.isOver(start + 3s, status)) << "also if the wait is shorter than the lease";
}

TEST(WaitLimit, OfZeroOutlastsAnErrorAfterWhichTheStoreAnswered) {
  const Instant start{};
  const WaitLimit limit{0ms, start};
  LeaseStatus status;
  status.lastError = StoreError{ErrorClass::transient, "passed since"};
  status.lastErrorAgo = 1s;
  status.leaderSeenAgo = 500ms;
  EXPECT_FALSE(limit.isOver(start + 1s, status));
  status.leaderSeenAgo = 2s;
  EXPECT_TRUE(limit.isOver(start + 1s, status));
}

TEST(TermPublisher, MarginsFitTheLease) {
  const auto timing = [](std::chrono::milliseconds duration) {
    LeaseOptions options;
    options.duration = duration;
    return LeaseTiming::from(options).value();
  };
  EXPECT_EQ(killLead(timing(10s)), 25ms);
  EXPECT_EQ(killLead(timing(100ms)), nanoseconds{timing(100ms).stopMargin()} / 2);
  EXPECT_EQ(jobDrainTimeout(timing(10s)), 9'750ms);
  EXPECT_EQ(jobDrainTimeout(timing(1s)), 900ms);
}

TEST(WakeTimer, TheEarlierOfTwoWaits) {
  EXPECT_EQ(earlier(std::nullopt, std::nullopt), std::nullopt);
  EXPECT_EQ(earlier(1s, std::nullopt), 1s);
  EXPECT_EQ(earlier(std::nullopt, 2s), 2s);
  EXPECT_EQ(earlier(1s, 2s), 1s);
}

}  // namespace
}  // namespace tenure::cli
