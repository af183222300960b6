// Five `tenure run` with one periodic job on one SQLite file, while supervisors are killed, frozen and stopped. The
// judge is a table that the jobs write through a fence; it knows nothing of tenure's ledger. TENURE_PERIODS and
// TENURE_PERIOD_SECONDS make it longer: `scripts/test --all` runs 200 periods of two seconds.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <random>
#include <thread>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "cli/group_fixture.hpp"
#include "cli/text/exit_codes.hpp"
#include "support/seeded_random.hpp"

namespace tenure::test {
namespace {

long settingOf(const char* variable, long fallback) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtol(text, nullptr, 10) : fallback;
}

/// The supervisor's guard and its job.
std::vector<pid_t> childrenOf(pid_t process) {
  const std::string id = std::to_string(process);
  std::ifstream in{"/proc/" + id + "/task/" + id + "/children"};
  return {std::istream_iterator<pid_t>{in}, {}};
}

class PeriodsUnderFaults : public GroupFixture, public ::testing::WithParamInterface<const char*> {
 protected:
  static constexpr std::size_t copies = 5;

  PeriodsUnderFaults() {
    directory_.write("group.yaml",
                     "group: test-group\n"
                     "candidate: { id: \"${NAME}\" }\n"
                     "store: { type: sqlite, path: ./leases.db }\n"
                     "lease: { duration: 1s, heartbeat: 200ms }\n"
                     "jobs:\n  job:\n    per: " +
                         std::to_string(seconds_) + "s\n    guarantee: " + GetParam() +
                         "\n    missed: all\n    most_missed: 100\n    most_attempts: 100\n    backoff: 50ms\n");
    EXPECT_EQ(sqlite3_open(judge_.c_str(), &acts_), SQLITE_OK);
    sqlite3_busy_timeout(acts_, 20'000);
    count("PRAGMA journal_mode = WAL");
    count("CREATE TABLE acts(period INTEGER, token INTEGER, attempt INTEGER, process INTEGER, what TEXT)");
  }
  ~PeriodsUnderFaults() override { sqlite3_close(acts_); }

  void start(std::size_t copy) {
    copies_.at(copy) =
        std::make_unique<Subprocess>(run({"--job", "job"}, {FENCED_WORKER, judge_}), as("copy" + std::to_string(copy)));
  }

  /// The first column of the first row, as a number.
  long count(const std::string& sql) const {
    sqlite3_stmt* query = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(acts_, sql.c_str(), -1, &query, nullptr), SQLITE_OK) << sqlite3_errmsg(acts_);
    const long value = sqlite3_step(query) == SQLITE_ROW ? static_cast<long>(sqlite3_column_int64(query, 0)) : 0;
    sqlite3_finalize(query);
    return value;
  }

  void pause(milliseconds least, milliseconds more) {
    const milliseconds time = least + milliseconds{random_.below(static_cast<std::uint64_t>(more.count()))};
    std::this_thread::sleep_for(time);  // lint-allow(sleep): faults come at random times, and freezes last for a while
  }
  [[nodiscard]] bool leads(std::size_t copy);
  void oneFault();
  void freeze(std::size_t copy, bool withItsJob);

  const long periods_{settingOf("TENURE_PERIODS", 20)};
  const long seconds_{settingOf("TENURE_PERIOD_SECONDS", 1)};
  const std::uint64_t seed_{static_cast<std::uint64_t>(settingOf("TENURE_PERIODS_SEED", std::random_device{}()))};
  SeededRandom random_{seed_};
  const std::string judge_{directory_.file("judge.db")};
  sqlite3* acts_{nullptr};
  std::array<std::unique_ptr<Subprocess>, copies> copies_;
  int kills_{0}, freezes_{0}, stops_{0};
};

bool PeriodsUnderFaults::leads(std::size_t copy) {
  const std::string& told = copies_.at(copy)->errors();
  const std::size_t elected = told.rfind(": elected with");
  const std::size_t revoked = told.rfind(": revoked (");
  return elected != std::string::npos && (revoked == std::string::npos || revoked < elected);
}

/// Most faults hit who leads, as far as its words can tell.
void PeriodsUnderFaults::oneFault() {
  std::size_t copy = random_.below(copies);
  if (random_.chance(0.7)) {
    for (std::size_t other = 0; other < copies; ++other) {
      if (leads(other)) copy = other;
    }
  }
  const std::uint64_t kind = random_.below(10);
  if (kind < 4) {
    ++kills_;
    copies_.at(copy)->signal(SIGKILL);
    copies_.at(copy)->wait();
    start(copy);
  } else if (kind < 6) {
    ++stops_;
    EXPECT_TRUE(copies_.at(copy)->saysOnStderr(" competes on ")) << "it does not heed signals yet";
    copies_.at(copy)->signal(SIGTERM);
    EXPECT_EQ(copies_.at(copy)->wait(), cli::exitOk) << copies_.at(copy)->errors();
    start(copy);
  } else {
    ++freezes_;
    freeze(copy, kind < 8);
  }
}

void PeriodsUnderFaults::freeze(std::size_t copy, bool withItsJob) {
  Subprocess& frozen = *copies_.at(copy);
  if (!freezeOutsideOfTransactions(frozen)) return;
  std::vector<pid_t> children = withItsJob ? childrenOf(frozen.id()) : std::vector<pid_t>{};
  for (const pid_t child : children) kill(child, SIGSTOP);
  pause(milliseconds{100}, milliseconds{2'500});
  for (const pid_t child : children) kill(child, SIGCONT);  // a job may do one more thing before its guard ends it
  frozen.signal(SIGCONT);
}

TEST_P(PeriodsUnderFaults, EachIsRunAsThePolicySays) {
  const bool repeats = std::string{GetParam()} == "at_least_once";
  for (std::size_t copy = 0; copy < copies; ++copy) start(copy);
  ASSERT_TRUE(eventually([&] { return count("SELECT count(*) FROM acts") > 0; })) << copies_[0]->errors();
  const long first = count("SELECT min(period) FROM acts");
  const long last = first + (periods_ - 1) * seconds_;
  const auto reached = [&](long period) { return count("SELECT max(period) FROM acts") >= period; };
  const auto patience = std::chrono::seconds{30 + 3 * periods_ * seconds_};
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!reached(last) && !HasFailure()) {
    ASSERT_TRUE(std::chrono::steady_clock::now() < end)
        << count("SELECT count(DISTINCT period) FROM acts") << " of " << periods_ << " periods were begun within "
        << patience.count() << " s; seed " << seed_;
    pause(milliseconds{300}, milliseconds{700L * seconds_});
    oneFault();
    for (const auto& copy : copies_) static_cast<void>(copy->errors());  // keeps the pipes empty
  }
  const std::string until = " WHERE period <= " + std::to_string(last);
  const auto ended = [&] { return count("SELECT count(DISTINCT period) FROM acts" + until + " AND what = 'end'"); };
  if (repeats) static_cast<void>(eventually([&] { return ended() >= periods_; }));
  for (const auto& copy : copies_) EXPECT_TRUE(copy->saysOnStderr(" competes on "));
  for (const auto& copy : copies_) copy->signal(SIGTERM);
  for (const auto& copy : copies_) EXPECT_EQ(copy->wait(), cli::exitOk) << copy->errors();

  const long begun = count("SELECT count(DISTINCT period) FROM acts" + until);
  const long begins = count("SELECT count(*) FROM acts" + until + " AND what = 'begin'");
  const long twice = count("SELECT count(*) FROM (SELECT period FROM acts" + until +
                           " AND what = 'begin' GROUP BY period HAVING count(*) > 1)");
  std::cout << GetParam() << ": " << periods_ << " periods of " << seconds_ << " s, seed " << seed_ << ": " << begun
            << " begun, " << ended() << " ended well, " << begins << " runs, " << twice << " periods with several; "
            << kills_ << " kills, " << freezes_ << " freezes, " << stops_ << " stops, "
            << count("SELECT count(DISTINCT token) FROM acts") << " terms with a run\n";
  EXPECT_GE(kills_ + freezes_ + stops_, periods_ / 4) << "the faults are what is tested";
  if (repeats) {
    EXPECT_EQ(ended(), periods_) << "a period has no run with a good end";
  } else {
    EXPECT_EQ(twice, 0) << "a period was run twice";
    EXPECT_GE(begun, periods_ * 3 / 4) << "only what a fault hits between the note and the start may be left out";
    EXPECT_GE(ended(), periods_ / 3) << "not many are left to faults";
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, PeriodsUnderFaults, ::testing::Values("at_most_once", "at_least_once"),
                         [](const auto& policy) { return std::string{policy.param}; });

}  // namespace
}  // namespace tenure::test
