// Several copies, and one PostgreSQL that has the lease and the data: whichever leads ships the next order, every
// fifth of a second. Each shipment checks the lease's own row in its transaction. A copy that was frozen, even in the
// middle of a shipment, ships nothing once it has lost the lease, and its successor begins after its last shipment.
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include <tenure/adapters/postgresql_fence.hpp>
#include <tenure/config/load_group.hpp>
#include <tenure/election/leader_elector.hpp>

#include <libpq-fe.h>

namespace {

using namespace std::chrono_literals;
using Connection = std::unique_ptr<PGconn, decltype(&PQfinish)>;

constexpr const char* table =
    "CREATE TABLE IF NOT EXISTS shipments(order_number bigint PRIMARY KEY, token text NOT NULL, holder text NOT NULL)";

Connection connectTo(const std::string& url) {
  Connection made{PQconnectdb(url.c_str()), &PQfinish};
  if (PQstatus(made.get()) != CONNECTION_OK) throw std::runtime_error{PQerrorMessage(made.get())};
  PQsetNoticeProcessor(
      made.get(), [](void*, const char*) {}, nullptr);
  PQclear(PQexec(made.get(), table));
  return made;
}

/// Reads where its predecessors have stopped, and goes on from there. It may: no earlier leader can commit any more.
tenure::PostgresqlResult shipOne(PGconn* connection, const tenure::Leadership& term) {
  const std::string token = toString(term.fencingToken());
  const char* values[] = {token.c_str(), term.holder().c_str()};
  return tenure::PostgresqlResult{
      PQexecParams(connection, "INSERT INTO shipments SELECT coalesce(max(order_number), 0) + 1, $1, $2 FROM shipments",
                   2, nullptr, values, nullptr, nullptr, 0)};
}

/// The work of one term, on a thread of the library.
void ship(const tenure::Leadership& term, const std::string& url) {
  const Connection connection = connectTo(url);
  auto fence = tenure::PostgresqlFence::open(connection.get(), {.leaseTable = tenure::PostgresqlLeaseTable{}}).value();
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock{mutex};
  for (int n = 1; term.leads(); ++n) {
    const auto shipped = fence.write(term, [&](PGconn* db) { return shipOne(db, term); });
    if (shipped) {
      std::cout << "shipped " << toString(term.fencingToken()) << ' ' << term.holder() << ' ' << n << std::endl;
    } else {
      std::cerr << tenure::FenceError{shipped.error()}.message << '\n';
      if (PQstatus(connection.get()) == CONNECTION_BAD) PQreset(connection.get());
    }
    wake.wait_for(lock, term.stopToken(), 200ms, [] { return false; });
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const char* url = std::getenv("DATABASE_URL");
  if (argc != 2 || url == nullptr) throw std::invalid_argument{"usage: DATABASE_URL=... one_database GROUP.yaml"};
  tenure::LeaderElector elector{
      tenure::loadGroup(argv[1]).value(),
      {.onElected = [url = std::string{url}](const tenure::Leadership& term) { ship(term, url); }}};
  elector.start();
  tenure::waitForStopSignal();
  elector.stop();
} catch (const std::exception& error) {
  std::cerr << "one_database: " << error.what() << '\n';
  return 1;
}
