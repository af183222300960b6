#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <tenure/config/load_group.hpp>

#include "kubeconfig_file.hpp"
#include "lockcore/kubernetes/pod.hpp"
#include "lockcore/port/ascii_text.hpp"
#include "lockcore/port/file_access.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "lockcore/runtime/directory.hpp"
#include "lockcore/runtime/regular_file.hpp"
#include "lockcore/runtime/system_error.hpp"
#include "sections.hpp"
#include "words.hpp"

namespace tenure {
namespace {

using config::KubeFile;
using config::memberOf;
using config::YamlNode;
using Options = boost::system::result<KubernetesStoreOptions, ConfigFaults>;
/// And whether all that is wrong is a file that cannot be opened here.
using Read = std::pair<Options, bool>;

/// client-go has no bound. Files of hundreds of clusters, each with its authority, have a few MiB.
constexpr std::size_t mostBytes = std::size_t{16} << 20U;
constexpr const char* cureOfNone = "check the path of the kubeconfig file";

/// A key that cannot be what it asks for, and what to do instead.
struct Refused {
  const char* key;
  const char* why;
};

constexpr const char* programs =
    "starts a program to get a token, which a store does not do; use a service account's token (`kubectl create "
    "token`) "
    "in a tokenFile, or a client certificate";
constexpr const char* passwords = "API servers take no passwords since Kubernetes 1.19; use a token or a certificate";
constexpr const char* others = "the store acts as the user itself, and not as another one";

constexpr std::array refusedOfCluster{
    Refused{"insecure-skip-tls-verify", "the server's certificate is always verified; give certificate-authority"}};
constexpr std::array refusedOfUser{Refused{"exec", programs}, Refused{"auth-provider", programs},
                                   Refused{"username", passwords}, Refused{"password", passwords}};
constexpr std::array refusedEverywhere{Refused{"as", others}, Refused{"as-uid", others}, Refused{"as-groups", others},
                                       Refused{"as-user-extra", others}};

/// Whether the key asks for nothing.
bool isOff(const YamlNode* value) {
  if (value == nullptr || value->kind == YamlNode::Kind::nothing) return true;
  return value->kind == YamlNode::Kind::boolean ? value->text == "false"
                                                : value->text.empty() && value->entries.empty();
}

/// A named entry of one of the lists. Where it was written decides where its relative paths start.
struct Entry {
  KubeFile* file{nullptr};
  std::string key{};              ///< "users[deploy].user", for messages
  const YamlNode* at{nullptr};    ///< never null if there is a file
  const YamlNode* body{nullptr};  ///< null: it has none, which counts as an empty one

  [[nodiscard]] const YamlNode* value(std::string_view name) const {
    return body != nullptr ? memberOf(*body, name) : nullptr;
  }
  [[nodiscard]] std::string text(std::string_view name) const {
    const YamlNode* found = value(name);
    return found != nullptr ? found->text : std::string{};
  }
  void fault(const std::string& name, const std::string& message) const {
    const YamlNode* found = value(name);
    file->fault(found != nullptr ? *found : *at, name.empty() ? key : key + '.' + name, message);
  }
};

std::string ofProcess(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): read once, when the file is read
  return value == nullptr ? "" : value;
}

/// Whether client-go would fall back on the pod in which this process runs.
bool isPodWith(const std::string& account) {
  return !ofProcess("KUBERNETES_SERVICE_HOST").empty() && !ofProcess("KUBERNETES_SERVICE_PORT").empty() &&
         regularFile(account + "/token", mostBytes);
}

/// The files together. Of a name that several have the first entry counts, whole.
class Kubeconfig {
 public:
  explicit Kubeconfig(std::vector<std::unique_ptr<KubeFile>> files) : files_{std::move(files)} {
    for (const auto& file : files_) {
      collect(*file, "clusters", "cluster", clusters_);
      collect(*file, "users", "user", users_);
      collect(*file, "contexts", "context", contexts_);
      const YamlNode* current = memberOf(file->root, "current-context");
      if (current_.empty() && current != nullptr) current_ = current->text, sayer_ = file.get();
    }
  }

  void read(const std::string& named, KubernetesStoreOptions& options) {
    const std::string& context = named.empty() ? current_ : named;
    const auto chosen = contexts_.find(context);
    if (context.empty() && chosen == contexts_.end()) {
      return wrong("current-context", "is missing, and no context was named");
    }
    if (chosen == contexts_.end()) {
      return named.empty() ? wrong("current-context", noneOf(contexts_, "contexts has no ", context))
                           : wrong("contexts", noneOf(contexts_, "has no ", context));
    }
    const std::string name = chosen->second.text("cluster");
    const auto cluster = clusters_.find(name);
    if (cluster == clusters_.end()) {
      return chosen->second.fault("cluster", name.empty() ? "is missing" : noneOf(clusters_, "clusters has no ", name));
    }
    takeNamespace(chosen->second, options);
    takeCluster(cluster->second, options);
    // As for client-go, a context whose user is not there has none.
    const auto user = users_.find(chosen->second.text("user"));
    if (user != users_.end()) takeUser(user->second, options);
  }

  /// Of the options, at the keys that they came from.
  void checkOptions(const KubernetesStoreOptions& options);

  [[nodiscard]] ConfigFaults faults() const {
    ConfigFaults all;
    for (const auto& file : files_) all.insert(all.end(), file->faults.begin(), file->faults.end());
    return all;
  }

  /// Of the faults.
  [[nodiscard]] std::size_t unopened() const { return unopened_; }

 private:
  using Entries = std::map<std::string, Entry, std::less<>>;

  static void collect(KubeFile& file, const std::string& list, const std::string& kind, Entries& into) {
    const YamlNode* all = memberOf(file.root, list);
    if (all == nullptr) return;
    for (const config::YamlEntry& one : all->entries) {
      const YamlNode* own = memberOf(one.value, "name");
      const std::string name = own != nullptr ? own->text : "";
      into.emplace(name,
                   Entry{&file, list + '[' + shown(name, 60) + "]." + kind, &one.value, memberOf(one.value, kind)});
    }
  }

  static std::string noneOf(const Entries& entries, const std::string& what, const std::string& name) {
    std::vector<std::string> names;
    for (const auto& [known, entry] : entries) names.push_back(known);
    return what + inQuotes(name) + config::didYouMean(config::closest(name, names));
  }

  /// Of no entry: at the key of the file that has it.
  void wrong(const std::string& key, const std::string& message) {
    KubeFile& file = sayer_ != nullptr ? *sayer_ : *files_.front();
    const YamlNode* at = memberOf(file.root, key);
    file.fault(at != nullptr ? *at : file.root, key, message);
  }

  std::string textOf(const Entry& entry, const char* name, const char* field) {
    from_.insert_or_assign(field, std::pair{&entry, std::string{name}});
    return entry.text(name);
  }

  static std::string dataOf(const Entry& entry, const char* name) { return config::bytesOfData(entry.text(name)); }

  std::string pathOf(const Entry& entry, const char* name, const char* field) {
    const std::string text = textOf(entry, name, field);
    return text.empty() ? text : (entry.file->path.parent_path() / text).lexically_normal().string();
  }

  /// client-go opens it when it makes a client for the context.
  std::string contentOf(const Entry& entry, const char* name, const std::string& path) {
    if (path.empty()) return {};
    auto text = regularFile(path, mostBytes);
    if (text) return *std::move(text);
    entry.fault(name, path + " " + text.error().why);
    if (text.error().bySystem) ++unopened_;
    return {};
  }

  template <class Keys>
  static void refuse(const Entry& entry, const Keys& keys) {
    for (const Refused& one : keys) {
      const YamlNode* value = entry.value(one.key);
      const bool starts = one.why == programs && value != nullptr && value->kind == YamlNode::Kind::map;
      if (starts || !isOff(value)) entry.fault(one.key, std::string{"is not supported: "} + one.why);
    }
  }

  void takeNamespace(const Entry& context, KubernetesStoreOptions& options) {
    const std::string named = textOf(context, "namespace", "inNamespace");
    if (options.inNamespace.empty()) options.inNamespace = named;
    if (options.inNamespace.empty()) options.inNamespace = impliedNamespace(options.serviceAccount);
  }

  /// client-go's rule (DeferredLoadingClientConfig): a pod's own namespace, although the server is the file's.
  static std::string impliedNamespace(const std::string& account) {
    if (!isPodWith(account)) return "default";
    const std::string name = kubernetes_store::podNamespace(account, ofProcess);
    return name.empty() ? "default" : name;
  }

  /// A URL, or host and port, which are reached by http.
  static std::string serverIn(std::string text) {
    text.resize(std::min(text.find_first_of("?#"), text.size()));
    const bool bare = text.find("://") == std::string::npos && text.find('/') >= text.size() - 1;
    return bare ? "http://" + text : text;
  }

  /// Over http:// client-go shows nobody a certificate or a token, and the file may have them all the same.
  [[nodiscard]] static bool isSecure(const KubernetesStoreOptions& options) {
    return options.server.size() > 8 && (options.server[4] | 0x20) == 's';
  }

  void takeCluster(const Entry& cluster, KubernetesStoreOptions& options) {
    const std::string server = textOf(cluster, "server", "server");
    if (server.empty()) return cluster.fault("server", "is missing");
    options.server = serverIn(server);
    options.proxy = textOf(cluster, "proxy-url", "proxy");
    const std::string file = pathOf(cluster, "certificate-authority", "caFile");
    const std::string data = dataOf(cluster, "certificate-authority-data");
    if (!file.empty() && !data.empty()) return both(cluster, "certificate-authority");
    (void)contentOf(cluster, "certificate-authority", file);
    if (!isSecure(options)) return;
    refuse(cluster, refusedOfCluster);
    options.serverName = textOf(cluster, "tls-server-name", "serverName");
    options.caFile = file;
    options.caCertificates = data;
  }

  static void both(const Entry& entry, const std::string& name) {
    entry.fault(name, "is given, and so is " + name + "-data; leave one of them out");
  }

  void takeUser(const Entry& user, KubernetesStoreOptions& options) {
    refuse(user, refusedEverywhere);
    KubernetesStoreOptions ofUser;
    takeCertificate(user, ofUser);
    if (!isSecure(options)) return;
    refuse(user, refusedOfUser);
    options.certificate = ofUser.certificate;
    options.key = ofUser.key;
    options.certificateText = ofUser.certificateText;
    options.keyText = ofUser.keyText;
    options.token = textOf(user, "token", "token");
    options.tokenFile = pathOf(user, "tokenFile", "tokenFile");
    if (options.token.empty()) (void)contentOf(user, "tokenFile", options.tokenFile);
  }

  /// One half may be data and the other one a file; a store takes both in one way. A key without a certificate counts
  /// for nothing.
  void takeCertificate(const Entry& user, KubernetesStoreOptions& options) {
    std::string certificate = dataOf(user, "client-certificate-data");
    std::string key = dataOf(user, "client-key-data");
    const std::string certificateFile = pathOf(user, "client-certificate", "certificate");
    const std::string keyFile = pathOf(user, "client-key", "key");
    if (certificate.empty() && certificateFile.empty()) return;
    if (!certificate.empty() && !certificateFile.empty()) return both(user, "client-certificate");
    if (!key.empty() && !keyFile.empty()) return both(user, "client-key");
    if (key.empty() && keyFile.empty()) return user.fault("", "has a client-certificate, and no client-key for it");
    std::string certificateRead = contentOf(user, "client-certificate", certificateFile);
    std::string keyRead = contentOf(user, "client-key", keyFile);
    if (certificate.empty() && key.empty()) {
      options.certificate = certificateFile;
      options.key = keyFile;
      return;
    }
    options.certificateText = certificate.empty() ? std::move(certificateRead) : std::move(certificate);
    options.keyText = key.empty() ? std::move(keyRead) : std::move(key);
  }

  std::vector<std::unique_ptr<KubeFile>> files_;
  Entries clusters_{};
  Entries users_{};
  Entries contexts_{};
  std::string current_{};
  KubeFile* sayer_{nullptr};                                            ///< has current-context
  std::size_t unopened_{0};                                             ///< faults that may pass
  std::map<std::string, std::pair<const Entry*, std::string>> from_{};  ///< of each field of the options: its key
};

#ifdef TENURE_HAS_STORE_KUBERNETES
void Kubeconfig::checkOptions(const KubernetesStoreOptions& options) {
  for (const OptionFault& fault : faultsOf(options)) {
    const auto found = from_.find(fault.field);
    if (found == from_.end()) {
      wrong(fault.field, fault.message);
    } else {
      found->second.first->fault(found->second.second, fault.message);
    }
  }
}
#else
void Kubeconfig::checkOptions(const KubernetesStoreOptions& /*options*/) {
  wrong("", "this build has no Kubernetes store: CMake's option TENURE_WITH_KUBERNETES_STORE was off");
}
#endif

/// A file that is there as a whole is none.
bool isList(const std::string& text) {
  std::error_code error;
  return text.find(':') != std::string::npos && !std::filesystem::exists(text, error);
}

std::vector<std::string> pathsIn(const std::string& list) {
  std::vector<std::string> paths;
  for (const std::string_view path : split(list, ':')) {
    if (!path.empty()) paths.emplace_back(path);
  }
  return paths;
}

Read optionsIn(std::vector<std::unique_ptr<KubeFile>> files, const std::string& context, KubernetesStoreOptions given) {
  Kubeconfig all{std::move(files)};
  if (all.faults().empty()) all.read(context, given);
  if (all.faults().empty()) all.checkOptions(given);
  const ConfigFaults faults = all.faults();
  if (faults.empty()) return {std::move(given), false};
  return {faults, faults.size() == all.unopened()};
}

Read optionsFrom(const std::filesystem::path& file, const std::string& context, KubernetesStoreOptions given) {
  const auto refused = [](const std::filesystem::path& path, const std::string& why, bool unopened) {
    return Read{ConfigFaults{{path.string(), 0, 0, "", why}}, unopened};
  };
  const bool list = isList(file.string());
  std::vector<std::unique_ptr<KubeFile>> files;
  for (const std::filesystem::path path : list ? pathsIn(file.string()) : std::vector{file.string()}) {
    std::error_code error;
    if (list && !std::filesystem::exists(path, error) && !error) continue;
    auto text = config::readSmallFile(path, cureOfNone, mostBytes);
    if (text.has_error()) {
      const auto again = regularFile(path.string(), mostBytes);
      return refused(path, text.error().message, !again && again.error().bySystem);
    }
    const std::filesystem::path absolute = path.is_absolute() ? path : detail::workingDirectory(error) / path;
    if (error) return refused(path, "its directory cannot be found: " + errnoText(error), true);
    files.push_back(std::make_unique<KubeFile>(*text, absolute));
  }
  if (files.empty() && context.empty() && isPodWith(given.serviceAccount)) return {std::move(given), false};
  if (files.empty()) return refused(file, std::string{"there is none of these files; "} + cureOfNone, true);
  return optionsIn(std::move(files), context, std::move(given));
}

Read optionsOf(const KubernetesConfig& config) {
  const KubernetesStoreOptions& given = config;  // what the file does not say
  return config.kubeconfig.empty() ? Read{given, false} : optionsFrom(config.kubeconfig, config.context, given);
}

}  // namespace

Options kubernetesOptionsFromText(std::string_view text, const std::filesystem::path& file, const std::string& context,
                                  KubernetesStoreOptions given) {
  std::vector<std::unique_ptr<KubeFile>> files;
  files.push_back(std::make_unique<KubeFile>(text, file));
  return optionsIn(std::move(files), context, std::move(given)).first;
}

Options kubernetesOptionsFrom(const std::filesystem::path& file, const std::string& context,
                              KubernetesStoreOptions given) {
  return optionsFrom(file, context, std::move(given)).first;
}

Options kubernetesOptionsOf(const KubernetesConfig& config) { return optionsOf(config).first; }

KubernetesStoreOptions config::usableOptionsOf(const KubernetesConfig& config) {
  const auto [options, unopened] = optionsOf(config);
  if (options) return *options;
  if (unopened) throw UnusableHere{toString(options.error())};
  throw std::runtime_error{toString(options.error())};
}

}  // namespace tenure
