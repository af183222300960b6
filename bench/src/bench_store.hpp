// Where the leases of a bench are.
#pragma once

#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <tenure/lockcore/stores/sqlite_store.hpp>

#include "candidate.hpp"
#ifdef TENURE_BENCH_ETCD
#include "beside_etcd.hpp"
#endif
#ifdef TENURE_BENCH_KUBERNETES
#endif
#ifdef TENURE_BENCH_POSTGRESQL
#include <tenure/config/load_group.hpp>
#include <tenure/lockcore/stores/postgresql_store.hpp>

#include "postgresql_by_hand.hpp"
#endif

namespace tenure::bench {

[[nodiscard]] inline bool isPostgresql(std::string_view where) { return where.starts_with("postgresql://"); }

[[nodiscard]] inline bool isEtcd(std::string_view where) { return where.starts_with("http://"); }

/// A kubeconfig file.
[[nodiscard]] inline bool isKubernetes(std::string_view where) { return where.ends_with("/kubeconfig"); }

/// A file of SQLite, the URL of a PostgreSQL, those of etcd's members, or a kubeconfig file. `directory`: for the
/// liveness files of PostgreSQL.
[[nodiscard]] inline std::shared_ptr<LeaseStore> storeAt(const std::string& where, bool deathNotice,
                                                         [[maybe_unused]] const std::string& directory) {
#ifdef TENURE_BENCH_KUBERNETES
  if (isKubernetes(where)) return makeKubernetesStore(kubernetesOptionsFrom(where).value());
#endif
  if (!isPostgresql(where) && !isEtcd(where)) return makeSqliteStore({where, deathNotice});
#ifdef TENURE_BENCH_ETCD
  if (isEtcd(where)) return etcdStoreAt(where);
#endif
#ifdef TENURE_BENCH_POSTGRESQL
  PostgresqlStoreOptions options;
  options.connection = where;
  if (deathNotice) options.livenessDirectory = directory;
  return makePostgresqlStore(options);
#else
  throw std::invalid_argument("this build has no store for " + where);
#endif
}

/// What the scripts that start servers say about them.
[[nodiscard]] inline std::string fromScript(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr) throw std::runtime_error(std::string{variable} + " is not set; scripts/bench sets it");
  return value;
}
[[nodiscard]] inline std::string postgresqlUrl() { return fromScript("TENURE_TEST_POSTGRESQL"); }

/// `--store sqlite`: a fresh file at `path`.
[[nodiscard]] inline std::string whereFor(const std::string& store, const std::string& path) {
  if (store == "etcd") return fromScript("TENURE_TEST_ETCD");
  if (store == "kubernetes") return fromScript("TENURE_TEST_KUBERNETES");
  return store == "postgresql" ? postgresqlUrl() : path;
}

/// Candidates of etcd's own client on the same members, if the program is there.
[[nodiscard]] inline std::optional<CandidateSettings> peersOf([[maybe_unused]] CandidateSettings settings) {
#ifdef TENURE_BENCH_ETCD
  settings.peer = {electionProgram()};
  if (isEtcd(settings.database) && !electionProgram().empty()) return settings;
#endif
  return std::nullopt;
}

/// The bound of a wait that costs two commits and `more` ms: on PostgreSQL by the commits that this server makes now,
/// on SQLite `fixed`.
[[nodiscard]] inline double boundOfTwoCommits([[maybe_unused]] const std::string& where, double fixed,
                                              [[maybe_unused]] double more) {
#ifdef TENURE_BENCH_POSTGRESQL
  if (isPostgresql(where)) return 2 * commitMillis(where) + more;
#endif
  return fixed;
}

}  // namespace tenure::bench
