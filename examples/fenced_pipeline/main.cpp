// One leader, resources that know nothing of each other: each order becomes a row in SQLite, then a line in a
// file, then an entry in Redis, and with a bucket the object in S3 that names the last one. Each resource refuses
// former leaders by itself.
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <hiredis/hiredis.h>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <syncstream>

#include <sqlite3.h>

#include <tenure/adapters/fenced_file.hpp>
#include <tenure/adapters/redis_fence.hpp>
#include <tenure/adapters/s3_fence.hpp>
#include <tenure/adapters/sqlite_fence.hpp>
#include <tenure/config/load_group.hpp>
#include <tenure/election/leader_elector.hpp>

namespace {

using namespace std::chrono_literals;
using Database = std::unique_ptr<sqlite3, decltype(&sqlite3_close)>;
using Connection = std::unique_ptr<redisContext, decltype(&redisFree)>;

Database openDatabase() {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open("orders.db", &raw);
  Database database{raw, &sqlite3_close};
  const char* table = "CREATE TABLE IF NOT EXISTS orders(line TEXT)";
  sqlite3_busy_timeout(raw, 2000);  // for the table only; the fence has its own
  if (code != SQLITE_OK || sqlite3_exec(raw, table, nullptr, nullptr, nullptr) != SQLITE_OK) {
    throw std::runtime_error{sqlite3_errmsg(raw)};
  }
  sqlite3_busy_timeout(raw, 0);
  return database;
}

Connection connect(const std::string& socket) {
  Connection connection{redisConnectUnixWithTimeout(socket.c_str(), {2, 0}), &redisFree};
  if (!connection || connection->err != 0) throw std::runtime_error{"no Redis at " + socket};
  redisSetTimeout(connection.get(), {2, 0});
  return connection;
}

/// Region, endpoint and credentials are found as the SDKs find them.
std::optional<tenure::S3Fence> openBucket(const std::string& bucket) {
  if (bucket.empty()) return std::nullopt;
  tenure::S3FenceOptions options;
  options.bucket = bucket;
  return tenure::S3Fence{options};
}

/// True if it was written; a stale token has ended the term.
template <class T>
bool wrote(const char* where, const std::string& line, const tenure::FenceResult<T>& written) {
  if (written) {
    std::osyncstream{std::cout} << where << ' ' << line << std::endl;
    return true;
  }
  std::osyncstream{std::cerr} << where << ": " << tenure::FenceError{written.error()}.message << std::endl;
  return false;
}

/// The work of one term, on a thread of the library.
void takeOrders(const tenure::Leadership& term, const std::string& socket, const std::string& bucket) {
  const Database database = openDatabase();
  const Connection connection = connect(socket);
  tenure::SqliteFence table = tenure::SqliteFence::open(database.get()).value();
  tenure::FencedFile file = tenure::FencedFile::open("orders.log").value();
  tenure::RedisFence redis = tenure::RedisFence::open(connection.get()).value();
  std::optional<tenure::S3Fence> objects = openBucket(bucket);
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock{mutex};
  for (int order = 1; term.leads(); ++order) {
    const std::string line = toString(term.fencingToken()) + ' ' + term.holder() + ' ' + std::to_string(order);
    const std::string sql = "INSERT INTO orders VALUES('" + line + "')";
    const auto insert = [&](sqlite3* d) { return sqlite3_exec(d, sql.c_str(), nullptr, nullptr, nullptr); };
    // One after the other: an order that fails at one resource does not go to the next.
    const bool all = wrote("row", line, table.write(term, insert)) &&
                     wrote("line", line, file.append(term, line + '\n')) &&
                     wrote("entry", line, redis.write(term, {{"orders"}, {{"RPUSH", "orders", line}}})) &&
                     (!objects || wrote("object", line, objects->write(term, {.key = "last-order", .bytes = line})));
    // The exception gives leadership up: another copy may still reach the resource.
    if (!all && connection->err != 0) throw std::runtime_error{"the connection to Redis broke"};
    wake.wait_for(lock, term.stopToken(), 200ms, [] { return false; });
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3 && argc != 4) throw std::invalid_argument{"usage: fenced_pipeline GROUP.yaml REDIS_SOCKET [BUCKET]"};
  std::signal(SIGPIPE, SIG_IGN);  // hiredis lets a broken connection raise SIGPIPE
  tenure::LeaderElector elector{
      tenure::loadGroup(argv[1]).value(),
      {.onElected = [socket = std::string{argv[2]}, bucket = std::string{argc == 4 ? argv[3] : ""}](
                        const tenure::Leadership& term) { takeOrders(term, socket, bucket); }}};
  elector.start();
  tenure::waitForStopSignal();
  elector.stop();
} catch (const std::exception& error) {
  std::cerr << "fenced_pipeline: " << error.what() << '\n';
  return 1;
}
