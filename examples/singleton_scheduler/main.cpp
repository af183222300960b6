// Runs jobs from a schedule. Any number of copies may be started: one at a time runs the jobs. Each run is recorded
// through a fence in the transaction that does it, so no tick is done twice, not even by a copy that was frozen.
#include <chrono>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <syncstream>

#include <sqlite3.h>

#include <tenure/adapters/sqlite_fence.hpp>
#include <tenure/config/load_group.hpp>
#include <tenure/jobs/singleton_scheduler.hpp>

namespace {

using namespace std::chrono_literals;
using Database = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;

Database openDatabase(const std::string& file) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open(file.c_str(), &raw);
  Database database{raw, &sqlite3_close};
  sqlite3_busy_timeout(raw, 2'000);  // the jobs run side by side
  const char* const sql = "CREATE TABLE IF NOT EXISTS runs(job, due, token, holder, PRIMARY KEY(job, due))";
  if (code != SQLITE_OK || sqlite3_exec(raw, sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
    throw std::runtime_error{file + ": " + sqlite3_errmsg(raw)};
  }
  return database;
}

/// What the job itself does to the database belongs here, so that it is done and recorded in one transaction.
int doAndRecord(sqlite3* database, const std::string& job, const std::string& due, const tenure::TermStamp& stamp) {
  sqlite3_stmt* raw = nullptr;
  const char* const sql = "INSERT INTO runs(job, due, token, holder) VALUES(?, ?, ?, ?) ON CONFLICT DO NOTHING";
  if (const int code = sqlite3_prepare_v2(database, sql, -1, &raw, nullptr); code != SQLITE_OK) return code;
  const std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> insert{raw, &sqlite3_finalize};
  sqlite3_bind_text(raw, 1, job.c_str(), -1, SQLITE_STATIC);
  sqlite3_bind_text(raw, 2, due.c_str(), -1, SQLITE_STATIC);
  sqlite3_bind_int64(raw, 3, static_cast<sqlite3_int64>(stamp.token.value()));
  sqlite3_bind_text(raw, 4, stamp.holder.c_str(), -1, SQLITE_STATIC);
  return sqlite3_step(raw);
}

/// The work of one run, on a thread of the library. If it throws, the run has failed, and is tried again after a pause.
void work(const tenure::JobRun& run, const std::string& file) {
  const Database database = openDatabase(file);
  tenure::SqliteFence fence = tenure::SqliteFence::open(database.get()).value();
  const auto stamp = tenure::TermStamp::of(run.term);
  const std::string due = tenure::wallClockTextForDisplay(run.period.time_since_epoch() / 1ms);
  bool fresh = false;
  const auto written = fence.write(stamp, [&](sqlite3* connection) {
    const int code = doAndRecord(connection, run.job, due, stamp);
    fresh = sqlite3_changes(connection) == 1;
    return code;
  });
  if (!written) {
    const tenure::FenceError fault = written.error();
    if (fault.stale() != nullptr) run.term.reportStaleToken(fault.stale()->highestSeen);
    throw std::runtime_error{fault.message};
  }
  if (fresh) std::osyncstream{std::cout} << run.job << ' ' << due << " token " << stamp.token << std::endl;
}

std::vector<tenure::ScheduledJob> jobs(const std::string& file) {
  const auto doIt = [file](const tenure::JobRun& run) { work(run, file); };
  // Repeating a run does no harm here: the table has each tick once.
  const tenure::JobPolicy repeated{.guarantee = tenure::Guarantee::atLeastOnce};
  return {{.name = "report", .schedule = tenure::Schedule::every(1s).value(), .policy = repeated, .work = doIt},
          {.name = "cleanup", .schedule = tenure::Schedule::every(3s).value(), .policy = repeated, .work = doIt}};
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) throw std::invalid_argument{"usage: singleton_scheduler GROUP.yaml RUNS.db"};
  tenure::SingletonScheduler scheduler{tenure::loadGroup(argv[1]).value(), jobs(argv[2])};
  scheduler.start();
  tenure::waitForStopSignal();
  scheduler.stop();
} catch (const std::exception& error) {
  std::cerr << "singleton_scheduler: " << error.what() << '\n';
  return 1;
}
