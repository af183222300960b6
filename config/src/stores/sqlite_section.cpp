#include <algorithm>

#include "config/src/store_section.hpp"

namespace tenure::config {

template <>
StoreType storeType<SqliteStoreOptions>() {
  StoreSection<SqliteStoreOptions> section{
      "sqlite", "an SQLite file on a local disk, for any number of processes on one machine; nothing to install."};
  section.hasSample(R"(# Where the lease is kept: an SQLite file, for any number of processes on one machine.
# A relative path starts at the directory of this file.
store:
  type: sqlite
  path: ./tenure.db
)");
  KeySpec& file = section.requiredKey(
      {.path = "store.path",
       .example = "./tenure.db",
       .about = "The database file, on a local file system. It is created if it is missing, its directory is not. A "
                "relative path starts at the directory of this file."},
      textCodec("the path of a file"), [](auto& options) -> auto& { return options.path; });
  file.word = "FILE";
  section.key(
      {.path = "store.death_notice",
       .about = "Whether another candidate takes over at once from a holder on this machine that crashed, instead of "
                "after a lease. The kernel proves that such a holder is gone."},
      boolCodec(), [](auto& options) -> auto& { return options.deathNotice; });
  section.pathsBy([](SqliteStoreOptions& options, const std::filesystem::path& directory) {
    const std::filesystem::path path = directory / options.path;
    // The meaning of `..` depends on whether the component before it is a link; links are refused when the file is
    // opened.
    const bool goesUp = std::find(path.begin(), path.end(), "..") != path.end();
    options.path = (goesUp ? path : path.lexically_normal()).string();
  });
  return section.madeBy(
      [](const SqliteStoreOptions& options, Logger logger) { return makeSqliteStore(options, std::move(logger)); });
}

}  // namespace tenure::config
