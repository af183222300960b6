#include <algorithm>

#include "config/src/store_section.hpp"
#include "lockcore/stores/sqlite/src/access.hpp"
#include "lockcore/stores/sqlite/src/library_version.hpp"

namespace tenure::config {

template <>
StoreType storeType<SqliteStoreOptions>() {
  StoreSection<SqliteStoreOptions> section{
      "sqlite", "an SQLite file on a local disk, for any number of processes on one machine; nothing to install."};
  section.hasSample(R"(# Where the lease is kept: an SQLite file, for any number of processes on one machine.
store:
  type: sqlite
  path: ./tenure.db
)");
  KeySpec& file = section.requiredKey(
      {.path = "store.path",
       .example = "./tenure.db",
       .about = "The database file, on a local file system. It is created if it is missing; its directory is not."},
      textCodec("the path of a file"), [](auto& options) -> auto& { return options.path; });
  file.word = "FILE";
  section.key(
      {.path = "store.mode",
       .about = "The mode of a new database, whatever the umask. The files next to a database have its mode and its "
                "group. A user who may read them can stop all elections with a lock. An existing database keeps its "
                "mode; tenure doctor warns if it is wider."},
      choiceCodec<unsigned>({{"0600", 0600U}, {"0640", 0640U}, {"0660", 0660U}}),
      [](auto& options) -> auto& { return options.mode; });
  section.textKey({.path = "store.group",
                   .example = "billing",
                   .about = "The group of a new database, for candidates of several users (mode 0660) or for users "
                            "that only read (mode 0640). Without it the system chooses one."},
                  "the name of a group of this machine", &SqliteStoreOptions::group, "off");
  section.accessBy(sqlite_store::lookAtAccess);
  section.keepsFilesIn([](const SqliteStoreOptions& options) {
    const std::string directory = std::filesystem::path{options.path}.parent_path().string();
    return NamedPath{"store.path", directory.empty() ? "." : directory};
  });
  section.isBuiltOn({"SQLite", sqlite_store::libraryVersion()});
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
