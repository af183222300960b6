// A store in a PostgreSQL database: any number of machines, in a database that you already run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_options.hpp>
#include <tenure/lockcore/logger.hpp>

namespace tenure {

class LeaseStore;

/// How much of a commit is awaited before it is answered (`synchronous_commit`). It is set in every transaction,
/// whatever the defaults of the database and the role are. There is no `off`: an answered write would not be durable.
enum class PostgresqlCommit {
  on,           ///< flushed here, and flushed at the synchronous standbys if there are any
  remoteApply,  ///< and visible at the synchronous standbys
  remoteWrite,  ///< flushed here, and handed to the operating systems of the synchronous standbys
  local,        ///< flushed here; standbys are not awaited
};

/// The place of the database: a connection string, parts, or both; a part wins over the string. Missing settings come
/// from libpq's environment variables (PGHOST, PGPASSFILE, ...) and its defaults.
struct PostgresqlStoreOptions {
  /// As libpq reads it: `host=db1,db2 dbname=jobs` or `postgresql://jobs@db1/jobs`. It may not contain a password:
  /// passwords come from a password file, a passfile, a service file or PGPASSWORD.
  std::string connection{};
  std::string host{};  ///< name, address or directory of a socket; several with commas
  std::string port{};  ///< one for all hosts, or one for each
  std::string database{};
  std::string user{};
  std::string
      passfile{};  ///< path of lines host:port:database:user:password; libpq wants it to be readable by its owner only
  /// Path of a file whose first line is the password, of any mode; read anew for each connection. Wins over all others.
  std::string passwordFile{};
  std::string service{};  ///< section of the service file
  /// libpq's sslmode. Empty: what the string or the environment says; if they say nothing, `verify-full` where the host
  /// is a name, or an address with an `sslRootCertificate`, and otherwise libpq's own default.
  std::string sslMode{};
  /// Path of a PEM file. `system`: the system's list, with `verify-full` alone, whatever libpq's release is. Empty:
  /// ~/.postgresql/root.crt; if it does not exist, the system's list with `verify-full`, and none with `verify-ca`.
  std::string sslRootCertificate{};
  std::string sslCertificate{};  ///< path of the client's certificate; empty: none
  std::string sslKey{};          ///< path of its key
  std::string schema{"public"};
  std::string table{"tenure_lease"};
  PostgresqlCommit commit{PostgresqlCommit::on};
  /// The connection string of the connection that listens for notifications, if it is not to go through a pooler as the
  /// others do. Its parts come from `connection` and the parts above where it does not say them. Empty: the same.
  std::string listen{};
  /// A directory on a local disk that all candidates of this machine use. There each process keeps a liveness file, by
  /// which others of this machine know at once that it has ended. Empty: no such proof; a crash costs a lease.
  std::string livenessDirectory{};

  friend bool operator==(const PostgresqlStoreOptions&, const PostgresqlStoreOptions&) = default;
};

/// Every fault of the options, each with its field. Looks nothing up and sends no request.
[[nodiscard]] TENURE_API OptionFaults faultsOf(const PostgresqlStoreOptions& options);

/// Makes the store without connecting. Connections are made at the first call, on a thread of the store, and
/// again after any error. All candidates of a process should share one store object.
[[nodiscard]] TENURE_API std::shared_ptr<LeaseStore> makePostgresqlStore(const PostgresqlStoreOptions& options,
                                                                         Logger logger = {});

/// The script that a database administrator runs if the program's role may not create the table: the table, its index
/// and the grants for `role` (empty: a placeholder). Throws std::invalid_argument if no role can have that name.
[[nodiscard]] TENURE_API std::string postgresqlSchemaSql(const PostgresqlStoreOptions& options,
                                                         const std::string& role);

}  // namespace tenure
