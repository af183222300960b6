// The candidate of scripts/demo: while it leads, its job appends rows to a ledger through the fence. It writes what
// happens to it as JSON lines into its own file, which survives a SIGKILL.
//
//   tenure-demo-candidate GROUP.yaml LEDGER.db EVENTS
#include <chrono>
#include <cstdio>
#include <memory>
#include <signal.h>
#include <string>
#include <thread>

#include <fmt/core.h>
#include <sqlite3.h>

#include <tenure/adapters/sqlite_fence.hpp>
#include <tenure/config/load_group.hpp>
#include <tenure/election/leader_elector.hpp>

#include "events.hpp"
#include "live_page.hpp"

namespace {

using demo::Events;
using tenure::Leadership;

using Database = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;

Database openLedger(const char* path) {
  sqlite3* db = nullptr;
  if (sqlite3_open(path, &db) != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(db));
  sqlite3_busy_timeout(db, 2000);  // for the set-up only: five processes may do it at once
  const char* setUp =
      "PRAGMA journal_mode=WAL;"
      "CREATE TABLE IF NOT EXISTS ledger(id INTEGER PRIMARY KEY AUTOINCREMENT, token INTEGER, holder TEXT)";
  int code = SQLITE_BUSY;  // a change of the journal's mode does not always wait
  for (int tries = 0; code == SQLITE_BUSY && tries < 200; ++tries) {
    if (tries > 0) std::this_thread::sleep_for(std::chrono::milliseconds{10});
    code = sqlite3_exec(db, setUp, nullptr, nullptr, nullptr);
  }
  if (code != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(db));
  sqlite3_busy_timeout(db, 0);
  return {db, &sqlite3_close};
}

int insertRow(sqlite3* db, const Leadership& term) {
  const std::string sql =
      fmt::format("INSERT INTO ledger(token, holder) VALUES({}, '{}')", term.fencingToken().value(), term.holder());
  return sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr);
}

/// True while the fence lets this term write.
bool appendRow(sqlite3* db, const Leadership& term, const Events& events) {
  auto fence = tenure::SqliteFence::open(db);
  if (fence.has_error()) return true;
  const auto written = fence->write(tenure::TermStamp::of(term), [&](sqlite3* d) { return insertRow(d, term); });
  if (!written.has_error() || written.error().stale() == nullptr) return true;
  const auto seen = written.error().stale()->highestSeen;
  events.tell("refused", fmt::format(",\"token\":{},\"seen\":{}", term.fencingToken().value(), seen.value()));
  term.reportStaleToken(seen);
  return false;
}

/// The job. Like a careless job it does not read the clock before it writes, and after it was asked to stop it writes
/// once more. The fence refuses such writes.
void appendRows(sqlite3* db, const Leadership& term, const Events& events) {
  const std::string token = fmt::format(",\"token\":{}", term.fencingToken().value());
  events.tell("elected", token);
  const std::stop_token stop = term.stopToken();
  bool admitted = true;
  while (admitted && !stop.stop_requested()) {
    if (term.leads()) events.tell("led", token);
    admitted = appendRow(db, term, events);
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  if (!admitted) return;
  sqlite3_busy_timeout(db, 1000);  // the successor writes at the same time, and this write is the one to be shown
  appendRow(db, term, events);
  sqlite3_busy_timeout(db, 0);
}

int runCandidate(char** argv) {
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  sigprocmask(SIG_BLOCK, &end, nullptr);

  const Events events{argv[3]};
  const Database ledger = openLedger(argv[2]);
  tenure::LeaderElector elector{
      tenure::loadGroup(argv[1]).value(),
      {.onElected = [&](const Leadership& term) { appendRows(ledger.get(), term, events); },
       .onRevoked =
           [&](const tenure::TermEnd& why) {
             events.tell("revoked",
                         fmt::format(",\"token\":{},\"reason\":\"{}\"", why.token.value(), toString(why.reason)));
           },
       .onInDoubt =
           [&](const tenure::Doubt& doubt) {
             events.tell("doubt", fmt::format(",\"error\":\"{}\"", toString(doubt.error.errorClass)));
           }}};
  const auto page = demo::showPage(elector, events);
  elector.start();
  int which = 0;
  sigwait(&end, &which);
  elector.stop();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: tenure-demo-candidate GROUP.yaml LEDGER.db EVENTS\n");
    return 2;
  }
  try {
    return runCandidate(argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "tenure-demo-candidate: {}\n", error.what());
    return 1;
  }
}
