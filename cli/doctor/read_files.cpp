#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <variant>

#include "lockcore/runtime/system_error.hpp"
#include "machine.hpp"

namespace tenure::cli::doctor {
namespace {

StoreFiles ofServer(const std::vector<NamedPath>& secrets) {
  StoreFiles files{.hasSecrets = true, .hasServer = true};
  for (const NamedPath& one : secrets) {
    if (!one.path.empty()) files.secrets.push_back(one);
  }
  return files;
}

struct FilesOf {
  StoreFiles operator()(const SqliteStoreOptions& options) const {
    const std::string directory = std::filesystem::path{options.path}.parent_path().string();
    return {.directoryKey = "store.path", .directory = directory.empty() ? "." : directory};
  }
  StoreFiles operator()(const DynamoDbStoreOptions&) const { return ofServer({}); }
  StoreFiles operator()(const PostgresqlStoreOptions& options) const {
    StoreFiles files = ofServer({{"store.passfile", options.passfile},
                                 {"store.password_file", options.passwordFile},
                                 {"store.sslkey", options.sslKey}});
    if (options.livenessDirectory.empty()) return files;
    files.directoryKey = "store.liveness_dir";
    files.directory = options.livenessDirectory;
    return files;
  }
  StoreFiles operator()(const EtcdStoreOptions& options) const {
    return ofServer({{"store.password_file", options.passwordFile}, {"store.key", options.key}});
  }
  StoreFiles operator()(const KubernetesConfig& options) const {
    return ofServer({{"store.kubeconfig", options.kubeconfig},
                     {"store.token_file", options.tokenFile},
                     {"store.key", options.key}});
  }
  StoreFiles operator()(const auto& /*withoutFiles*/) const { return {}; }
};

/// `access`: as faccessat(2) has it, for the effective user.
FileFacts lookAt(std::string what, std::string path, int access) {
  FileFacts facts{.what = std::move(what), .path = std::move(path)};
  struct stat found {};
  if (stat(facts.path.c_str(), &found) != 0) {
    facts.error = errnoText(errno);
    return facts;
  }
  facts.mode = found.st_mode & 07777U;
  facts.accessible = faccessat(AT_FDCWD, facts.path.c_str(), access, AT_EACCESS) == 0;
  return facts;
}

std::optional<FileSystemFacts> systemOf(const std::string& directory) {
  struct statfs type {};
  struct statvfs space {};
  if (statfs(directory.c_str(), &type) != 0 || statvfs(directory.c_str(), &space) != 0) return std::nullopt;
  FileSystemFacts facts;
  facts.type = static_cast<std::uint32_t>(type.f_type);
  facts.readOnly = (space.f_flag & ST_RDONLY) != 0;
  facts.freeBytes = static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize;
  if (space.f_files > 0) facts.freeInodes = space.f_favail;
  return facts;
}

}  // namespace

StoreFiles filesOf(const StoreConfig& store) { return std::visit(FilesOf{}, store); }

FilesFacts readFiles(const std::string& config, const StoreFiles& store) {
  FilesFacts facts;
  const std::filesystem::path directory = std::filesystem::path{config}.parent_path();
  facts.config = lookAt("the configuration file", config, R_OK);
  facts.configDirectory = lookAt("its directory", directory.empty() ? "." : directory.string(), R_OK);
  for (const NamedPath& secret : store.secrets) facts.secrets.push_back(lookAt(secret.what, secret.path, R_OK));
  if (store.directoryKey.empty()) return facts;
  PlaceFacts place{.directory = lookAt(store.directoryKey, store.directory, W_OK | X_OK)};
  if (place.directory.error.empty()) place.system = systemOf(store.directory);
  facts.place = std::move(place);
  return facts;
}

}  // namespace tenure::cli::doctor
