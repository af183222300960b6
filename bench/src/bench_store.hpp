// Where the leases of a bench are.
#pragma once

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include <tenure/lockcore/stores/sqlite_store.hpp>
#ifdef TENURE_BENCH_POSTGRESQL
#include <tenure/lockcore/stores/postgresql_store.hpp>

#include "postgresql_by_hand.hpp"
#endif

namespace tenure::bench {

[[nodiscard]] inline bool isPostgresql(std::string_view where) { return where.starts_with("postgresql://"); }

/// A file of SQLite, or the URL of a PostgreSQL. `directory`: for the liveness files of the latter.
[[nodiscard]] inline std::shared_ptr<LeaseStore> storeAt(const std::string& where, bool deathNotice,
                                                         [[maybe_unused]] const std::string& directory) {
  if (!isPostgresql(where)) return makeSqliteStore({where, deathNotice});
#ifdef TENURE_BENCH_POSTGRESQL
  PostgresqlStoreOptions options;
  options.connection = where;
  if (deathNotice) options.livenessDirectory = directory;
  return makePostgresqlStore(options);
#else
  throw std::invalid_argument("this build has no store for PostgreSQL");
#endif
}

/// The URL of the server that benches use, which scripts/postgresql_local starts.
[[nodiscard]] inline std::string postgresqlUrl() {
  const char* url = std::getenv("TENURE_TEST_POSTGRESQL");
  if (url == nullptr) throw std::runtime_error("TENURE_TEST_POSTGRESQL is not set; scripts/bench sets it");
  return url;
}

/// `--store sqlite`: a fresh file at `path`.
[[nodiscard]] inline std::string whereFor(const std::string& store, const std::string& path) {
  return store == "postgresql" ? postgresqlUrl() : path;
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
