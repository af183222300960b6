#include <algorithm>
#include <utility>

#include "config/src/store_types.hpp"

namespace tenure::config {
namespace {

template <typename Config>
auto& optionsOf(Config& config) {
  return std::get<SqliteStoreOptions>(config.store);
}

bool isControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

/// Empty if the path can be the name of a file. Whether there is one is found out by the store, at its first use.
std::string pathFault(const std::string& path) {
  if (path.empty()) return "is missing; give the database file, such as ./tenure.db";
  if (!isUtf8(path)) return inQuotes(path) + " is not UTF-8 text";
  if (std::any_of(path.begin(), path.end(), isControl)) return inQuotes(path) + " holds a control character";
  if (path == ":memory:") {
    return "\":memory:\" would be a database of its own for each connection; for one process use store.type memory";
  }
  if (path.starts_with("file:")) return inQuotes(path) + " is a URI; give the path of a file, such as ./tenure.db";
  if (path.starts_with("~"))
    return inQuotes(path) + " starts with ~, which only a shell replaces; write ${HOME} instead";
  const std::string_view name = std::string_view{path}.substr(path.rfind('/') + 1);
  if (name.empty() || name == "." || name == "..") return inQuotes(path) + " names a directory; name a file in it";
  return {};
}

OptionFaults faults(const StoreConfig& store) {
  std::string fault = pathFault(std::get<SqliteStoreOptions>(store).path);
  if (fault.empty()) return {};
  return {{"path", std::move(fault)}};
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
  type.faults = faults;
  type.resolvePaths = resolvePaths;
  type.make = [](const StoreConfig& store, Logger logger) {
    return makeSqliteStore(std::get<SqliteStoreOptions>(store), std::move(logger));
  };
  return type;
}

}  // namespace tenure::config
