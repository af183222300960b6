#include <algorithm>
#include <utility>

#include "config/src/store_types.hpp"

namespace tenure::config {
namespace {

template <typename Config>
auto& optionsOf(Config& config) {
  return std::get<SqliteStoreOptions>(config.store);
}

void resolvePaths(StoreConfig& store, const std::filesystem::path& directory) {
  auto& options = std::get<SqliteStoreOptions>(store);
  const std::filesystem::path path = directory / options.path;
  // The meaning of `..` depends on whether the component before it is a link; links are refused when the file is
  // opened.
  const bool goesUp = std::find(path.begin(), path.end(), "..") != path.end();
  options.path = (goesUp ? path : path.lexically_normal()).string();
}

}  // namespace

StoreType sqliteStoreType() {
  StoreType type;
  type.name = "sqlite";
  type.about = "an SQLite file on a local disk, for any number of processes on one machine; nothing to install.";
  type.defaults = SqliteStoreOptions{};
  type.keys.push_back(requiredKeySpec<std::string>(
      {"store.path", "", "./tenure.db",
       "The database file, on a local file system. It is created if it is missing, its directory is not. A relative "
       "path starts at the directory of this file."},
      textCodec("the path of a file"), [](auto& config) -> auto& { return optionsOf(config).path; }));
  type.keys.push_back(keySpec<bool>(
      {"store.death_notice", "", "",
       "Whether a crashed holder on this machine is succeeded at once, on the kernel's proof that it is gone, instead "
       "of after a lease."},
      boolCodec(), [](auto& config) -> auto& { return optionsOf(config).deathNotice; }));
  type.faults = [](const StoreConfig& store) { return faultsOf(std::get<SqliteStoreOptions>(store)); };
  type.resolvePaths = resolvePaths;
  type.make = [](const StoreConfig& store, Logger logger) {
    return makeSqliteStore(std::get<SqliteStoreOptions>(store), std::move(logger));
  };
  return type;
}

}  // namespace tenure::config
