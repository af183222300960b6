// What `tenure watch` shows.
#include "cli/operate/watch_text.hpp"

#include <limits>
#include <sstream>

#include <gtest/gtest.h>

namespace tenure::cli {
namespace {

using std::chrono::milliseconds;

ops::ElectorSummary leading() {
  ops::ElectorSummary out;
  out.group = "billing";
  out.candidate = "alice#1";
  out.store = "sqlite /var/lib/billing.db";
  out.state = "leading";
  out.leads = true;
  out.token = out.leaderToken = FencingToken{41};
  out.remaining = milliseconds{6'000};
  out.leaseDuration = milliseconds{8'000};
  out.leader = "alice";
  out.leaderIsSelf = true;
  out.terms = 3;
  return out;
}

Watched watched(ops::ElectorSummary elector, milliseconds age) {
  return {"127.0.0.1:9200", {std::move(elector)}, {}, age};
}

TEST(WatchText, aLeaderHasABarThatRunsDown) {
  EXPECT_EQ(watchText(watched(leading(), milliseconds{1'000}), false),
            "tenure at 127.0.0.1:9200\n\nbilling  LEADS\n"
            "  [#########################...............] 5.0 s of 8.0 s\n  token 41\n"
            "  3 terms, 0 doubts, 0 refusals; alice#1\n  sqlite /var/lib/billing.db\n");
}

TEST(WatchText, nothingIsShownForLongerThanItIsValid) {
  ops::ElectorSummary elector = leading();
  elector.remaining = milliseconds{900};
  EXPECT_EQ(watchText(watched(elector, milliseconds{900}), false).find("LEADS"), std::string::npos);
  const std::string silent = watchText(watched(leading(), watchPatience + milliseconds{1}), false);
  EXPECT_NE(silent.find("billing  NO ANSWER\n  for 2.0 s; whether it leads is not known\n"), std::string::npos)
      << silent;
  EXPECT_EQ(silent.find("41"), std::string::npos) << silent;
}

TEST(WatchText, doubtsStandbysAndFailuresSayWhy) {
  ops::ElectorSummary elector = leading();
  elector.inDoubt = true;
  elector.error = "no answer";
  EXPECT_NE(watchText(watched(elector, milliseconds{0}), false).find("IN DOUBT\n  no answer\n"), std::string::npos);
  elector.leads = false;
  EXPECT_NE(watchText(watched(elector, milliseconds{0}), false).find("STORE FAILS\n  no answer\n"), std::string::npos);
  elector.error.clear();
  elector.leaderIsSelf = false;
  elector.leader = "bob";
  EXPECT_NE(watchText(watched(elector, milliseconds{0}), false).find("STANDS BY\n  bob leads, token 41\n"),
            std::string::npos);
  elector.leader.clear();
  EXPECT_NE(watchText(watched(elector, milliseconds{0}), false).find("no leader is known"), std::string::npos);
  EXPECT_EQ(watchText({.address = "x", .fault = "nothing listens"}, false), "tenure at x\nnothing listens\n");
}

TEST(WatchText, fitsIn80ColumnsWhateverOthersWrote) {
  ops::ElectorSummary elector = leading();
  elector.inDoubt = true;
  elector.group = std::string(200, 'g');
  elector.candidate = std::string(200, 'c');
  elector.store = "a\nb\x1b[31m" + std::string(200, 's');
  for (int i = 0; i < 100; ++i) elector.error += "\xC3\xA9";
  Watched all = watched(elector, milliseconds{0});
  all.address = std::string(100, 'a');
  all.history = {
      {elector.group, {20, {TermEvent::Kind::revoked, 1, FencingToken{9}, RevokeReason::lost, elector.store}}}};
  std::istringstream lines{watchText(all, false)};
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_LE(line.size(), 80U) << line;
    EXPECT_EQ(line.find('\x1b'), std::string::npos) << line;
  }
  EXPECT_EQ(count, 2 + 6 + 8);
}

/// The listener may be another program, or one that lies.
TEST(WatchText, noWordOfAnAnswerSteersTheTerminal) {
  const std::string hostile =
      "\x1b[2J\x9b"
      "2J\xC2\x9B"
      "2J\x7F\r\n\xE2\x80\xAE" +
      std::string(300, 'x');
  ops::ElectorSummary elector = leading();
  elector.leads = false;
  elector.leaderIsSelf = false;
  elector.leader.clear();
  elector.group = elector.state = elector.candidate = elector.store = hostile;
  elector.terms = elector.doubts = elector.refusals = std::numeric_limits<std::int64_t>::min();
  Watched all = watched(elector, milliseconds{0});
  all.fault = hostile;
  all.history = {{hostile,
                  {TermEvent{TermEvent::Kind::refused, std::numeric_limits<std::int64_t>::max(), FencingToken{1},
                             std::nullopt, hostile}}}};
  std::istringstream lines{watchText(all, false)};
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80U) << line;
    for (const char c : line) EXPECT_TRUE(c >= 0x20 && c < 0x7F) << line;
  }
}

TEST(WatchText, aTimeThatNoLeaseHasIsAFullBar) {
  ops::ElectorSummary elector = leading();
  elector.remaining = milliseconds::max();
  EXPECT_NE(watchText(watched(elector, milliseconds{1}), false).find('[' + std::string(40, '#') + ']'),
            std::string::npos);
  elector.leaseDuration = milliseconds::min();
  EXPECT_NE(watchText(watched(elector, milliseconds{1}), false).find("LEADS"), std::string::npos);
}

}  // namespace
}  // namespace tenure::cli
