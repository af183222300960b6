#include <algorithm>
#include <string>

#include <boost/version.hpp>

#include <tenure/lockcore/version.hpp>

#include "machine.hpp"

#ifdef TENURE_HAS_NET
#include "lockcore/net/library_version.hpp"
#endif
#ifdef TENURE_HAS_STORE_POSTGRESQL
#include "lockcore/stores/postgresql/src/link/server_account.hpp"
#endif
#ifdef TENURE_HAS_STORE_SQLITE
#include "lockcore/stores/sqlite/src/library_version.hpp"
#endif

namespace tenure::cli::doctor {

std::vector<Version> versionsHere() {
  std::vector<Version> all{{"tenure", std::string{tenure::version}}};
#ifdef TENURE_HAS_STORE_SQLITE
  all.push_back({"SQLite", sqlite_store::libraryVersion()});
#endif
#ifdef TENURE_HAS_STORE_POSTGRESQL
  all.push_back({"libpq", postgresql_store::libraryVersion()});
#endif
#ifdef TENURE_HAS_NET
  all.push_back({"OpenSSL", net::libraryVersion()});
#endif
  std::string boost = BOOST_LIB_VERSION;  // 1_81
  std::replace(boost.begin(), boost.end(), '_', '.');
  all.push_back({"Boost", boost});
  return all;
}

}  // namespace tenure::cli::doctor
