// Random crontab lines against a walk over every minute, which shares no code with the product: the expressions are
// drawn together with their meaning, and the offsets are glibc's.
#include <cstdlib>
#include <ctime>
#include <set>

#include <gtest/gtest.h>

#include "job_times.hpp"
#include "support/seeded_random.hpp"

namespace tenure::test {
namespace {

using std::chrono::days;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_seconds;
using Numbers = std::set<unsigned>;

struct DrawnField {
  std::string text;
  Numbers meaning;
  bool star{false};
};

struct DrawnLine {
  std::array<DrawnField, 5> fields;

  [[nodiscard]] std::string text() const {
    std::string out;
    for (const DrawnField& field : fields) out += (out.empty() ? "" : " ") + field.text;
    return out;
  }
  [[nodiscard]] bool timesOfDay() const { return !fields[0].star && !fields[1].star; }
};

DrawnField drawItem(unsigned least, unsigned most, SeededRandom& random, bool plain) {
  DrawnField out;
  const auto draw = [&](unsigned from, unsigned to) {
    return from + static_cast<unsigned>(random.below(to - from + 1));
  };
  unsigned low = least;
  unsigned high = most;
  unsigned step = 1;
  const auto kind = plain ? 2 + random.below(2) : random.below(5);
  if (kind < 2) {
    out.text = "*";
    out.star = true;
  } else if (kind == 2) {
    low = high = draw(least, most);
    out.text = std::to_string(low);
  } else {
    low = draw(least, most - 1);
    high = draw(low + 1, most);
    out.text = std::to_string(low) + '-' + std::to_string(high);
  }
  if (kind == 1 || kind == 4) {
    step = draw(1, high - low);
    out.text += '/' + std::to_string(step);
  }
  for (unsigned n = low; n <= high; n += step) out.meaning.insert(n);
  return out;
}

/// `plain`: without `*` and steps.
DrawnField drawField(unsigned least, unsigned most, SeededRandom& random, bool plain = false) {
  DrawnField out = drawItem(least, most, random, plain);
  while (random.chance(0.3)) {
    const DrawnField more = drawItem(least, most, random, plain);
    out.text += ',' + more.text;
    out.meaning.insert(more.meaning.begin(), more.meaning.end());
  }
  return out;
}

DrawnLine drawLine(SeededRandom& random) {
  const bool timesOfDay = random.chance(0.5);
  DrawnLine line{{drawField(0, 59, random, timesOfDay), drawField(0, 23, random, timesOfDay), drawField(1, 31, random),
                  drawField(1, 12, random), drawField(0, 6, random)}};
  // Most of the window's months should match, or there is little to see.
  if (random.chance(0.7)) line.fields[3] = {"*", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, true};
  return line;
}

bool matches(const DrawnLine& line, sys_seconds local) {
  const auto day = std::chrono::floor<days>(local);
  const std::chrono::year_month_day date{day};
  const auto minute = static_cast<unsigned>(std::chrono::floor<minutes>(local - day).count());
  const auto has = [&](std::size_t field, unsigned value) { return line.fields[field].meaning.contains(value); };
  const bool byDate = has(2, static_cast<unsigned>(date.day()));
  const bool byWeekday = has(4, std::chrono::weekday{day}.c_encoding());
  const bool either = !line.fields[2].star && !line.fields[4].star;
  return has(0, minute % 60) && has(1, minute / 60) && has(3, static_cast<unsigned>(date.month())) &&
         (either ? byDate || byWeekday : byDate && byWeekday);
}

/// The zone of the variable TZ.
seconds offsetAt(sys_seconds time) {
  const std::time_t since = time.time_since_epoch().count();
  std::tm parts{};
  ::localtime_r(&since, &parts);
  return seconds{parts.tm_gmtoff};
}

/// The last change of the offset before it, in the hour; 1975 if there is none since then.
sys_seconds changeBefore(sys_seconds time) {
  while (time > instant("1975-01-01T00:00Z") && offsetAt(time - std::chrono::hours{1}) == offsetAt(time))
    time -= std::chrono::hours{1};
  return time;
}

/// Every occurrence of the window, found minute by minute.
std::set<sys_seconds> walk(const DrawnLine& line, sys_seconds from, sys_seconds to) {
  std::set<sys_seconds> found;
  seconds before = offsetAt(from - minutes{1});
  sys_seconds furthest{};  // the latest local time that has been
  for (sys_seconds at = from - days{2}; at < to; at += minutes{1}) {
    const seconds offset = offsetAt(at);
    bool occurs = matches(line, at + offset);
    if (line.timesOfDay()) {
      occurs = occurs && at + offset > furthest;
      for (sys_seconds leftOut = at + before; leftOut < at + offset; leftOut += minutes{1})
        occurs = occurs || matches(line, leftOut);
    }
    if (occurs && at >= from) found.insert(at);
    furthest = std::max(furthest, at + offset);
    before = offset;
  }
  return found;
}

void expectAsWalked(const Schedule& schedule, const std::set<sys_seconds>& walked, sys_seconds from, sys_seconds to,
                    sys_seconds at) {
  const auto next = walked.upper_bound(at);
  if (next != walked.end()) {
    EXPECT_EQ(textOf(schedule.after(at)), textOf(*next)) << "after " << textOf(at);
  } else {
    EXPECT_GE(schedule.after(at), to) << "after " << textOf(at);
  }
  if (next != walked.begin()) {
    EXPECT_EQ(textOf(schedule.latestAt(at)), textOf(*std::prev(next))) << "at " << textOf(at);
  } else {
    EXPECT_LT(schedule.latestAt(at), from) << "at " << textOf(at);
  }
}

class ScheduleWalk : public testing::TestWithParam<const char*> {};

TEST_P(ScheduleWalk, AfterAndLatestAtFindWhatAWalkOverEveryMinuteFinds) {
  ::setenv("TZ", GetParam(), 1);  // NOLINT(concurrency-mt-unsafe)
  ::tzset();
  SeededRandom random{20};
  std::size_t seen = 0;
  for (int round = 0; round < 40; ++round) {
    const DrawnLine line = drawLine(random);
    const auto schedule = Schedule::cron(line.text(), GetParam());
    if (!schedule) {
      EXPECT_NE(schedule.error().front().message.find("never matches"), std::string::npos) << line.text();
      continue;
    }
    SCOPED_TRACE(line.text() + " (" + GetParam() + ')');
    // Around a change of the clocks, in half of the rounds.
    sys_seconds from = instant("2026-01-01T00:00Z") + days{random.below(360)};
    if (random.chance(0.5)) from = changeBefore(from) - days{3};
    const sys_seconds to = from + days{12};
    const std::set<sys_seconds> walked = walk(line, from, to);
    seen += walked.size();
    for (int look = 0; look < 100; ++look)
      expectAsWalked(*schedule, walked, from, to, from + seconds{random.below(12 * 86'400)});
    // At the occurrences themselves, and a second before.
    for (const sys_seconds at : walked) {
      if (!random.chance(0.1)) continue;
      expectAsWalked(*schedule, walked, from, to, at);
      if (at > from) expectAsWalked(*schedule, walked, from, to, at - seconds{1});
    }
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(seen, 1000U) << "the lines match too seldom to tell anything";
}

INSTANTIATE_TEST_SUITE_P(Zones, ScheduleWalk,
                         testing::Values("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe",
                                         "Asia/Kolkata", "America/Havana", "Africa/Casablanca"),
                         [](const auto& each) {
                           std::string name{each.param};
                           std::erase_if(name, [](char c) { return c == '/' || c == '_'; });
                           return name;
                         });

}  // namespace
}  // namespace tenure::test
