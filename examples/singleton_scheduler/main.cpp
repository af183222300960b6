// Runs jobs from a schedule. Any number of copies may be started: one at a time runs the jobs, and no tick of a job is
// done twice, because it is recorded through a fence in the transaction that does it.
#include <chrono>
#include <condition_variable>
#include <iostream>
#include <memory>
#include <mutex>
#include <syncstream>

#include <sqlite3.h>

#include <tenure/adapters/sqlite_fence.hpp>
#include <tenure/config/load_group.hpp>
#include <tenure/election/leader_elector.hpp>

#include "shutdown_signals.hpp"

namespace {

using namespace std::chrono_literals;
using Database = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;

struct Job {
  const char* name;
  std::chrono::seconds every;
};
constexpr Job schedule[] = {{"report", 1s}, {"cleanup", 3s}};

Database openDatabase(const std::string& file) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open(file.c_str(), &raw);
  Database database{raw, &sqlite3_close};
  if (code != SQLITE_OK || sqlite3_exec(raw, "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr) != SQLITE_OK) {
    throw std::runtime_error{file + ": " + sqlite3_errmsg(raw)};
  }
  return database;
}

int makeTable(sqlite3* database) {
  const char* const sql = "CREATE TABLE IF NOT EXISTS runs(job, due, token, holder, PRIMARY KEY(job, due))";
  return sqlite3_exec(database, sql, nullptr, nullptr, nullptr);
}

/// What the job itself does to the database belongs here, so that it is done and recorded in one transaction.
int doAndRecord(sqlite3* database, const Job& job, const std::string& due, const tenure::TermStamp& stamp) {
  sqlite3_stmt* raw = nullptr;
  const char* const sql = "INSERT INTO runs(job, due, token, holder) VALUES(?, ?, ?, ?) ON CONFLICT DO NOTHING";
  if (const int code = sqlite3_prepare_v2(database, sql, -1, &raw, nullptr); code != SQLITE_OK) return code;
  const std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> insert{raw, &sqlite3_finalize};
  sqlite3_bind_text(raw, 1, job.name, -1, SQLITE_STATIC);
  sqlite3_bind_text(raw, 2, due.c_str(), -1, SQLITE_STATIC);
  sqlite3_bind_int64(raw, 3, static_cast<sqlite3_int64>(stamp.token.value()));
  sqlite3_bind_text(raw, 4, stamp.holder.c_str(), -1, SQLITE_STATIC);
  return sqlite3_step(raw);
}

/// Runs the job's latest tick unless this process or another one has done it already.
void run(const Job& job, std::chrono::milliseconds now, tenure::SqliteFence& fence, const tenure::Leadership& term) {
  const auto stamp = tenure::TermStamp::of(term);
  const std::string due = tenure::wallClockTextForDisplay((now - now % job.every).count());
  bool fresh = false;
  const auto written = fence.write(stamp, [&](sqlite3* database) {
    const int code = doAndRecord(database, job, due, stamp);
    fresh = sqlite3_changes(database) == 1;
    return code;
  });
  if (!written) {
    const tenure::FenceError fault = written.error();
    std::cerr << fault.message << '\n';  // tried again within a second, if this process still leads then
    if (fault.stale() != nullptr) term.reportStaleToken(fault.stale()->highestSeen);
  } else if (fresh) {
    std::osyncstream{std::cout} << job.name << ' ' << due << " token " << stamp.token << std::endl;
  }
}

/// The work of one term, on a thread of the library. An exception gives leadership up (reason fatal).
void runSchedule(const tenure::Leadership& term, const std::string& file) {
  const Database database = openDatabase(file);
  tenure::SqliteFence fence = tenure::SqliteFence::open(database.get()).value();
  fence.write(tenure::TermStamp::of(term), makeTable).value();
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock{mutex};
  while (term.leads()) {
    const auto now = std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
    for (const Job& job : schedule) run(job, now.time_since_epoch(), fence, term);
    wake.wait_until(lock, term.stopToken(), std::chrono::floor<std::chrono::seconds>(now) + 1s, [] { return false; });
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) throw std::invalid_argument{"usage: singleton_scheduler GROUP.yaml RUNS.db"};
  const examples::ShutdownSignals signals;
  tenure::LeaderElector elector{
      tenure::loadGroup(argv[1]).value(),
      {.onElected = [file = std::string{argv[2]}](const tenure::Leadership& term) { runSchedule(term, file); }}};
  elector.start();
  signals.wait();
  elector.stop();
} catch (const std::exception& error) {
  std::cerr << "singleton_scheduler: " << error.what() << '\n';
  return 1;
}
