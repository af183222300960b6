// What an elector logs for programs: the events of docs/reference/logs.md with their keys.
#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

#include "election/stage.hpp"
#include "lockcore/port/log_line.hpp"

namespace tenure::test {
namespace {

using namespace std::chrono_literals;

/// `event=elected group=stage token=1`: without time, level and sentence.
std::vector<std::string> told(const std::vector<std::string>& lines) {
  std::vector<std::string> out;
  for (const std::string& line : lines) {
    const auto begin = line.find("event=");
    out.push_back(line.substr(begin, line.find(" message=") - begin));
  }
  return out;
}

std::vector<std::string> keysOf(const std::string& line) {
  std::vector<std::string> keys;
  bool inQuotes = false;
  std::string word;
  for (const char c : line + ' ') {
    if (c == '"') inQuotes = !inQuotes;
    if (inQuotes || c != ' ') {
      word += c;
    } else {
      keys.push_back(word.substr(0, word.find('=')));
      word.clear();
    }
  }
  return keys;
}

bool isInTable(const std::string& line) {
  const std::string event = line.substr(6, line.find(' ') - 6);
  for (const LogEventSpec& spec : logEventSpecs()) {
    if (spec.name != event) continue;
    const std::string known = ' ' + std::string{spec.keys} + " event ";
    const auto keys = keysOf(line);
    return std::all_of(keys.begin(), keys.end(),
                       [&](const std::string& key) { return known.find(' ' + key + ' ') != std::string::npos; });
  }
  return false;
}

TEST(LogEvents, aTermIsToldWithTheGroupAndTheTokenInEachEvent) {
  Stage stage;
  const Candidate a = stage.leader("a");
  a.store->set(Operation::renew, Fault::rejected);
  stage.advance(1500ms);
  a.store->set(Operation::renew, Fault::none);
  stage.advance(1s);
  stage.usurp("mallory");
  ASSERT_TRUE(stage.advanceUntil([&] { return !a->isLeader(); }));
  ASSERT_TRUE(stage.advanceUntil([&] { return a->isLeader(); }));
  stage.stop(a);
  const std::vector<std::string> events = told(stage.events());
  const std::string candidate = a->candidate();
  const auto has = [&](const std::string& wanted) {
    return std::any_of(events.begin(), events.end(), [&](const std::string& e) { return e.starts_with(wanted); });
  };
  EXPECT_TRUE(has("event=candidate_started group=stage candidate=" + candidate + " store=")) << events.front();
  for (const char* wanted :
       {"event=leader_changed group=stage", "event=elected group=stage token=1", "event=in_doubt group=stage error=",
        "event=doubt_ended group=stage token=1", "event=revoked group=stage token=1 reason=lost detail=",
        "event=leader_changed group=stage leader=mallory token=2 address=", "event=elected group=stage token=3",
        "event=revoked group=stage token=3 reason=stopped detail=",
        "event=candidate_stopped group=stage result=released"}) {
    EXPECT_TRUE(has(wanted)) << wanted << " is not in\n" << testing::PrintToString(events);
  }
  for (const std::string& event : events) EXPECT_TRUE(isInTable(event)) << event;
}

}  // namespace
}  // namespace tenure::test
