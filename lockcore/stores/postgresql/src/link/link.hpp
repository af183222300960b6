// The database over libpq.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/stores/postgresql_store.hpp>

#include "job_account.hpp"
#include "lockcore/net/address_book.hpp"
#include "lockcore/stores/postgresql/src/database.hpp"

namespace tenure::postgresql_store {

struct LinkOptions {
  PostgresqlStoreOptions store{};
  StatementText text{};
  std::string channel{};  ///< for notifications; at most 63 bytes
  Job warmUp{};           ///< of connections of a process that watches leases; it changes nothing
  Logger logger{};
  net::Lookup lookup{net::systemLookup};
};

/// One thread ("tenure-pg") serves all connections of a link; names are looked up on others. Contract, besides that of
/// Database:
/// - Each job has a connection for itself until it is answered. At most four are used at once, of which writes use
///   three, and a fifth by urgent jobs. A further one is made when a job has waited 25 ms for one, one at a time.
/// - Handlers must not block. They may destroy the link.
/// - If no connection can be made, the jobs that wait are answered with the reason. The next attempt comes after a
///   pause of at most 2 s; jobs that arrive meanwhile wait for it.
/// - In a forked child of the process that made the link, each job is answered with `notSent`.
class Link : public Database {
 public:
  /// Calls `hint` soon after a notification with this payload has come, as LeaseStore::watch() says. The first watch
  /// makes the connection that listens.
  [[nodiscard]] virtual std::shared_ptr<void> watch(std::string payload, std::function<void()> hint) = 0;
};

/// Connects to nobody. Throws std::invalid_argument if the options have faults.
[[nodiscard]] std::shared_ptr<Link> makeLink(const LinkOptions& options);

}  // namespace tenure::postgresql_store
