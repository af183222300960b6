#include "store_files.hpp"

#include <filesystem>
#include <variant>

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
  StoreFiles operator()(const MemoryStoreOptions&) const { return {}; }
};

}  // namespace

StoreFiles filesOf(const StoreConfig& store) { return std::visit(FilesOf{}, store); }

}  // namespace tenure::cli::doctor
