// A periodic job for tests. It writes what it does into a table through the fence, so that what a former leader's job
// writes after its time does not count:
//   fenced_worker DATABASE
// `begin` at its start, and `end` as its last act; in between it works for a while. Every seventh first attempt fails
// before that. Exit codes: 0 done, 1 failed as planned, 9 refused by the fence, 2 any other error.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>

#include <sqlite3.h>

#include <tenure/adapters/sqlite_fence.hpp>

namespace {

using std::chrono::milliseconds;

std::int64_t numberOf(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoll(text, nullptr, 10) : -1;
}

class Worker {
 public:
  explicit Worker(sqlite3* database) : database_{database} {}

  void note(const std::string& what) {
    const std::string row = "INSERT INTO acts(period, token, attempt, process, what) VALUES(" + std::to_string(period) +
                            ',' + std::to_string(token_) + ',' + std::to_string(attempt) + ',' +
                            std::to_string(getpid()) + ",'" + what + "')";
    const auto written = fence_.write(
        stamp_, [&](sqlite3* database) { return sqlite3_exec(database, row.c_str(), nullptr, nullptr, nullptr); });
    if (written.has_value()) return;
    std::_Exit(written.error().stale() != nullptr ? 9 : 2);
  }

  const std::int64_t period{numberOf("TENURE_PERIOD_EPOCH")};
  const std::int64_t attempt{numberOf("TENURE_ATTEMPT")};

 private:
  sqlite3* database_;
  const std::int64_t token_{numberOf("TENURE_FENCING_TOKEN")};
  const tenure::TermStamp stamp_{std::getenv("TENURE_LEASE"), tenure::FencingToken{static_cast<std::uint64_t>(token_)},
                                 std::getenv("TENURE_CANDIDATE")};
  tenure::SqliteFence fence_{tenure::SqliteFence::open(database_, {milliseconds{10'000}}).value()};
};

}  // namespace

int main(int, char** argv) {
  sqlite3* database = nullptr;
  if (sqlite3_open(argv[1], &database) != SQLITE_OK) return 2;
  // Closed at the end. Otherwise LeakSanitizer ends each run with 1, so none is done.
  const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> owned{database, sqlite3_close};
  Worker worker{database};
  worker.note("begin");
  std::this_thread::sleep_for(milliseconds{20 + getpid() % 8 * 40});  // the test's faults shall hit some of them
  if (worker.attempt == 1 && worker.period % 7 == 0) return 1;
  worker.note("end");
  return 0;
}
