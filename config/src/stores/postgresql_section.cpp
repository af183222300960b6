#include <chrono>
#include <string>
#include <utility>

#include <tenure/lockcore/clock.hpp>

#include "config/src/store_section.hpp"
#include "lockcore/stores/postgresql/src/link/options_check.hpp"
#include "lockcore/stores/postgresql/src/link/server_account.hpp"

#ifdef TENURE_HAS_STORE_POSTGRESQL
namespace tenure::config {
namespace {

using PostgresqlSection = StoreSection<PostgresqlStoreOptions>;

constexpr const char* passwordRule = "It must hold no password.";

void addServerKeys(PostgresqlSection& section) {
  section.textKey(
      {.path = "store.connection",
       .example = "postgresql://scheduler@db1.example.org/jobs",
       .about = std::string{"The database, as libpq reads it: a URL, or host=db1,db2 dbname=jobs. The keys below "
                            "override it. Other settings come from libpq's environment variables and its defaults. "} +
                passwordRule},
      "a connection string without a password", &PostgresqlStoreOptions::connection, "none", "STRING");
  section.textKey(
      {.path = "store.host",
       .fallback = "PGHOST or a local socket",
       .example = "db1.example.org,db2.example.org",
       .about = "The name or the address of the server, or the directory of its socket. If there are several, the one "
                "that takes writes is used."},
      "hosts with commas between", &PostgresqlStoreOptions::host, "as libpq finds it");
  section.textKey({.path = "store.port",
                   .fallback = "PGPORT or 5432",
                   .example = "5432",
                   .about = "The server's port: one for all hosts, or one for each with commas between."},
                  "1 to 65535, several with commas between", &PostgresqlStoreOptions::port, "as libpq finds it");
  section.textKey({.path = "store.database",
                   .fallback = "PGDATABASE or the user's name",
                   .example = "jobs",
                   .about = "The database that the table is in."},
                  "the name of a database", &PostgresqlStoreOptions::database, "as libpq finds it");
  section.textKey({.path = "store.user",
                   .fallback = "PGUSER or the system's user",
                   .example = "scheduler",
                   .about = "The role that connects. docs/postgresql.md lists the permissions that it needs."},
                  "the name of a role", &PostgresqlStoreOptions::user, "as libpq finds it");
  section.secretKey({.path = "store.passfile",
                     .fallback = "PGPASSFILE or ~/.pgpass",
                     .example = "./pgpass",
                     .about = "The file with the password, in lines of host:port:database:user:password. libpq ignores "
                              "it unless only its owner may read it."},
                    &PostgresqlStoreOptions::passfile, "as libpq finds it");
  section.secretKey(
      {.path = "store.password_file",
       .example = "./db-password",
       .about = "A file whose first line is the password, of any mode. It is read for each connection, and "
                "overrides service file and PGPASSWORD."},
      &PostgresqlStoreOptions::passwordFile, "none");
  section.textKey(
      {.path = "store.service",
       .fallback = "PGSERVICE or none",
       .example = "jobs-primary",
       .about = "A section of the service file (PGSERVICEFILE, ~/.pg_service.conf), which may set all of the above."},
      "the name of a section", &PostgresqlStoreOptions::service, "as libpq finds it", "NAME");
}

void addTlsKeys(PostgresqlSection& section) {
  section.textKey(
      {.path = "store.sslmode",
       .example = "verify-full",
       .about = "The protection of the connection: disable, allow, prefer, require, verify-ca or verify-full. "
                "By default a host that is given by name is verified (verify-full), and so is an "
                "address if sslrootcert is given; otherwise libpq's default counts (prefer).",
       .field = "store.sslMode"},
      "one of libpq's modes", &PostgresqlStoreOptions::sslMode, "verify-full for host names");
  section.textKey({.path = "store.sslrootcert",
                   .example = "/etc/ssl/certs/db-ca.pem",
                   .about = "A PEM file of the authorities that are trusted, or system: those of this system, with "
                            "sslmode verify-full. A file of that name is ./system.",
                   .field = "store.sslRootCertificate"},
                  "the path of a file", &PostgresqlStoreOptions::sslRootCertificate, "the system's");
  section.textKey({.path = "store.sslcert",
                   .example = "./client.crt",
                   .about = "The client's certificate, if the server requires one.",
                   .field = "store.sslCertificate"},
                  "the path of a file", &PostgresqlStoreOptions::sslCertificate, "none");
  section.secretKey({.path = "store.sslkey",
                     .example = "./client.key",
                     .about = "The key of that certificate. libpq refuses one that others may read.",
                     .field = "store.sslKey"},
                    &PostgresqlStoreOptions::sslKey, "none");
}

/// What PostgreSQL calls `off` has no counterpart here, and who writes it should learn why.
Codec<PostgresqlCommit> commitCodec() {
  Codec<PostgresqlCommit> codec = choiceCodec<PostgresqlCommit>({{"on", PostgresqlCommit::on},
                                                                 {"remote_apply", PostgresqlCommit::remoteApply},
                                                                 {"remote_write", PostgresqlCommit::remoteWrite},
                                                                 {"local", PostgresqlCommit::local}});
  codec.parse = [parse = codec.parse, allowed = codec.allowed](
                    std::string_view text) -> boost::system::result<PostgresqlCommit, ValueFault> {
    if (text != "off") return parse(text);
    return ValueFault{
        "\"off\" is not allowed, because a crash of the server would undo terms that were answered; "
        "allowed is " +
        allowed};
  };
  return codec;
}

void addLeaseTableKeys(PostgresqlSection& section) {
  section.textKey({.path = "store.schema", .about = "The schema of the table. It must be there."}, "1 to 63 bytes",
                  &PostgresqlStoreOptions::schema, {}, "NAME");
  section.textKey(
      {.path = "store.table",
       .about = "The table of the leases. It is created if it is missing and the role may create it; tenure store sql "
                "prints the SQL for a DBA. It is a name without a schema, even if it has a dot."},
      "1 to 63 bytes", &PostgresqlStoreOptions::table, {}, "NAME");
  section.key(
      {.path = "store.synchronous_commit",
       .about = "How far a write must have come before it counts: on: to the disks of the primary and of its "
                "synchronous standbys; remote_apply: it is visible at these standbys too; remote_write: they have "
                "received it; local: to the disk of the primary alone.",
       .field = "store.commit"},
      commitCodec(), [](auto& options) -> auto& { return options.commit; });
}

void addNoticeKeys(PostgresqlSection& section) {
  section.textKey({.path = "store.listen",
                   .example = "host=db1.example.org port=5432",
                   .about = std::string{"The server for the connection that listens for notifications, if the others "
                                        "go through a pooler in transaction mode. "} +
                            passwordRule},
                  "a connection string without a password", &PostgresqlStoreOptions::listen, "as the others");
  section.textKey(
      {.path = "store.liveness_dir",
       .example = "/run/tenure",
       .about =
           "A directory on a local disk that all candidates of this machine use. With it another candidate of this "
           "machine takes over at once after a crash. It is created if it is missing; its parent is not.",
       .field = "store.livenessDirectory"},
      "the path of a directory", &PostgresqlStoreOptions::livenessDirectory, "none");
}

void resolveAll(PostgresqlStoreOptions& options, const std::filesystem::path& directory) {
  const auto resolve = [&](std::string& path) {
    if (!path.empty()) path = (directory / path).lexically_normal().string();
  };
  resolve(options.passfile);
  resolve(options.passwordFile);
  if (options.sslRootCertificate != "system") resolve(options.sslRootCertificate);
  resolve(options.sslCertificate);
  resolve(options.sslKey);
  resolve(options.livenessDirectory);
}

ServerFacts askPostgresql(const PostgresqlStoreOptions& options) {
  const postgresql_store::ServerAccount account = postgresql_store::askServerItself(options);
  ServerFacts facts{.whyNot = account.fault};
  if (!account.version.empty()) facts.version = "PostgreSQL " + account.version;
  if (account.ahead) facts.skew = std::chrono::round<std::chrono::seconds>(*account.ahead);
  return facts;
}

constexpr const char* starter =
    R"(# Where the lease is kept: a table in PostgreSQL, for any number of processes on any number of machines.
# The connection string is libpq's. It has no password: that is in a file, a passfile (~/.pgpass), a service file or PGPASSWORD.
# tenure check --connect creates the table, or prints the SQL for a DBA.
store:
  type: postgresql
  connection: postgresql://scheduler@db1.example.org/jobs
  # password_file: ./db-password  # a relative path starts at the directory of this file
  # sslrootcert: ./db-ca.pem      # if the server's certificate is signed by your own authority
  # table: tenure_lease           # and schema: public
  # synchronous_commit: on        # what a commit waits for: docs/postgresql/replication.md
  # listen: host=db1 port=5432    # past a pooler in transaction mode, for notifications
  # liveness_dir: /run/tenure     # another candidate on this machine notices a crash at once
)";

}  // namespace

template <>
StoreType storeType<PostgresqlStoreOptions>() {
  PostgresqlSection section{"postgresql",
                            "a table in a PostgreSQL database (14 or later), for any number of machines."};
  section.hasSample(starter);
  addServerKeys(section);
  addTlsKeys(section);
  addLeaseTableKeys(section);
  addNoticeKeys(section);
  section.pathsBy(resolveAll);
  section.filesBy(postgresql_store::readLocalFiles);
  section.keepsFilesIn([](const PostgresqlStoreOptions& options) {
    return NamedPath{"store.liveness_dir", options.livenessDirectory};
  });
  section.serverBy(askPostgresql);
  section.isBuiltOn({"libpq", postgresql_store::libraryVersion()});
  section.schemaBy([](const PostgresqlStoreOptions& options, const std::string& role) {
    return postgresqlSchemaSql(options, role.empty() ? options.user : role);
  });
  section.commitsBy([](const PostgresqlStoreOptions& options) {
    return CommitRule{"synchronous_commit: " + commitCodec().write(options.commit),
                      options.commit != PostgresqlCommit::local,
                      "set store.synchronous_commit: on and synchronous_standby_names at the server: "
                      "docs/postgresql/replication.md."};
  });
  return section.madeBy([](const PostgresqlStoreOptions& options, Logger logger) {
    return makePostgresqlStore(options, std::move(logger));
  });
}

}  // namespace tenure::config
#else
template <>
tenure::config::StoreType tenure::config::storeType<tenure::PostgresqlStoreOptions>() {
  return {.name = "postgresql", .without = "CMake's option TENURE_WITH_POSTGRESQL_STORE was off, or libpq was missing"};
}
#endif
