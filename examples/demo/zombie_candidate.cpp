// The candidate of scripts/demo --zombie: while it leads it writes to three fenced resources, and to a file without a
// fence to show the difference. On request, it stops itself at the worst moment: after its check, before its writes.
//
//   tenure-demo-zombie GROUP.yaml DIRECTORY EVENTS
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>

#include <fmt/core.h>
#include <sqlite3.h>

#include <tenure/adapters/fenced_file.hpp>
#include <tenure/adapters/redis_fence.hpp>
#include <tenure/adapters/sqlite_fence.hpp>
#include <tenure/config/load_group.hpp>
#include <tenure/election/leader_elector.hpp>

#include "events.hpp"
#include "live_page.hpp"

namespace {

using demo::Events;
using tenure::Leadership;
using Database = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;
using Connection = std::unique_ptr<redisContext, decltype(&redisFree)>;

Database openDatabase(const std::string& path) {
  sqlite3* raw = nullptr;
  int code = sqlite3_open(path.c_str(), &raw);
  Database database{raw, &sqlite3_close};
  sqlite3_busy_timeout(raw, 2000);  // for the set-up only: several processes may do it at once
  const char* setUp = "PRAGMA journal_mode=WAL; CREATE TABLE IF NOT EXISTS ledger(line TEXT)";
  if (code == SQLITE_OK) code = SQLITE_BUSY;  // a change of the journal's mode does not always wait
  for (int tries = 0; code == SQLITE_BUSY && tries < 200; ++tries) {
    if (tries > 0) std::this_thread::sleep_for(std::chrono::milliseconds{10});
    code = sqlite3_exec(raw, setUp, nullptr, nullptr, nullptr);
  }
  if (code != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(raw));
  sqlite3_busy_timeout(raw, 0);
  return database;
}

Connection connect(const std::string& socket) {
  Connection connection{redisConnectUnix(socket.c_str()), &redisFree};
  if (!connection || connection->err != 0) throw std::runtime_error("no Redis at " + socket);
  return connection;
}

/// The three resources with their fences, and the file that has none.
class Resources {
 public:
  explicit Resources(const std::string& directory)
      : database_{openDatabase(directory + "/ledger.db")},
        connection_{connect(directory + "/redis.sock")},
        table_{tenure::SqliteFence::open(database_.get()).value()},
        file_{tenure::FencedFile::open(directory + "/ledger.log").value()},
        redis_{tenure::RedisFence::open(connection_.get()).value()},
        bare_{directory + "/unfenced.log"} {}

  /// Passes stamps, not the term. Then the adapters do not read the clock before they send, like a writer that has read
  /// it already and was frozen since. False if a resource has refused.
  bool writeAll(const Leadership& term, const Events& events) {
    const tenure::TermStamp stamp = tenure::TermStamp::of(term);
    const std::string line = toString(stamp.token) + ' ' + stamp.holder;
    writeBare(line);
    tell("unfenced file", term, events, tenure::FenceResult<void>{});
    const std::string sql = "INSERT INTO ledger VALUES('" + line + "')";
    const auto insert = [&](sqlite3* d) { return sqlite3_exec(d, sql.c_str(), nullptr, nullptr, nullptr); };
    bool admitted = tell("SQLite", term, events, table_.write(stamp, insert));
    admitted &= tell("file", term, events, file_.append(stamp, line + '\n'));
    admitted &= tell("Redis", term, events, redis_.write(stamp, {{"ledger"}, {{"RPUSH", "ledger", line}}}));
    return admitted;
  }

 private:
  void writeBare(const std::string& line) const {
    const int file = open(bare_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    const std::string text = line + '\n';
    [[maybe_unused]] const ssize_t written = write(file, text.data(), text.size());
    close(file);
  }

  template <class T>
  static bool tell(const char* resource, const Leadership& term, const Events& events,
                   const tenure::FenceResult<T>& written) {
    const std::string where = fmt::format(",\"resource\":\"{}\",\"token\":{}", resource, term.fencingToken().value());
    if (written) {
      events.tell("wrote", where);
      return true;
    }
    const tenure::FenceError fault = written.error();
    if (fault.stale() == nullptr) return true;  // an error: the next round tries again
    events.tell("refused", where + fmt::format(",\"seen\":{}", fault.stale()->highestSeen.value()));
    term.reportStaleToken(fault.stale()->highestSeen);
    return false;
  }

  const Database database_;
  const Connection connection_;
  tenure::SqliteFence table_;
  tenure::FencedFile file_;
  tenure::RedisFence redis_;
  const std::string bare_;
};

/// The job: check, then write. Between the two there is always a moment, and here the process stops in it.
void writeLedgers(const std::string& directory, const Leadership& term, const Events& events) {
  const std::string token = fmt::format(",\"token\":{}", term.fencingToken().value());
  events.tell("elected", token);
  Resources resources{directory};
  while (term.leads()) {
    events.tell("led", token);
    if (unlink((directory + "/freeze").c_str()) == 0) raise(SIGSTOP);
    if (!resources.writeAll(term, events)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
  }
}

int runCandidate(char** argv) {
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  sigprocmask(SIG_BLOCK, &end, nullptr);
  std::signal(SIGPIPE, SIG_IGN);

  const Events events{argv[3]};
  tenure::LeaderElector elector{tenure::loadGroup(argv[1]).value(),
                                {.onElected = [&](const Leadership& term) { writeLedgers(argv[2], term, events); },
                                 .onRevoked =
                                     [&](const tenure::TermEnd& why) {
                                       events.tell("revoked", fmt::format(",\"token\":{},\"reason\":\"{}\"",
                                                                          why.token.value(), toString(why.reason)));
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
    fmt::print(stderr, "usage: tenure-demo-zombie GROUP.yaml DIRECTORY EVENTS\n");
    return 2;
  }
  try {
    return runCandidate(argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "tenure-demo-zombie: {}\n", error.what());
    return 1;
  }
}
