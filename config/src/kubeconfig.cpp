#include <algorithm>
#include <array>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <tenure/config/kubeconfig.hpp>

#include "config_file.hpp"
#include "lockcore/port/json_text.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "lockcore/runtime/directory.hpp"
#include "lockcore/runtime/system_error.hpp"
#include "source_text.hpp"
#include "words.hpp"
#include "yaml_tree.hpp"

namespace tenure {
namespace {

using config::YamlEntry;
using config::YamlNode;
using Options = boost::system::result<KubernetesStoreOptions, ConfigFaults>;

/// A key that cannot be what it asks for, and what to do instead.
struct Refused {
  const char* key;
  const char* why;
};

constexpr std::array refusedOfCluster{
    Refused{"insecure-skip-tls-verify", "the server's certificate is always verified; give certificate-authority"},
    Refused{"tls-server-name", "the server's certificate must be for the host in its URL"},
    Refused{"proxy-url", "the API server is reached without a proxy"},
};

constexpr const char* programs =
    "starts a program to get a token, which a store does not do; use a service account's token (`kubectl create "
    "token`) "
    "in a tokenFile, or a client certificate";
constexpr const char* passwords = "API servers take no passwords since Kubernetes 1.19; use a token or a certificate";
constexpr const char* others = "the store acts as the user itself, and not as another one";

constexpr std::array refusedOfUser{
    Refused{"exec", programs},      Refused{"auth-provider", programs},
    Refused{"username", passwords}, Refused{"password", passwords},
    Refused{"as", others},          Refused{"as-uid", others},
    Refused{"as-groups", others},   Refused{"as-user-extra", others},
};

/// Null: there is none.
const YamlNode* memberOf(const YamlNode& node, std::string_view key) {
  if (node.kind != YamlNode::Kind::map) return nullptr;
  const auto found = std::find_if(node.entries.begin(), node.entries.end(),
                                  [&](const YamlEntry& entry) { return entry.key.text == key; });
  return found != node.entries.end() ? &found->value : nullptr;
}

class KubeconfigReader {
 public:
  KubeconfigReader(const config::SourceText& source, const std::filesystem::path& file)
      : source_{source}, file_{file} {}

  void read(const YamlNode& root, std::string context, KubernetesStoreOptions& options) {
    if (root.kind != YamlNode::Kind::map) return fault(&root, "", "this is no kubeconfig file");
    if (context.empty()) context = textAt(&root, root, "current-context");
    if (context.empty()) return fault(&root, "current-context", "is missing, and no context was named");
    const YamlNode* chosen = named(root, "contexts", context, "context");
    if (chosen == nullptr) return;
    const YamlNode* cluster = named(root, "clusters", textAt(chosen, *chosen, "cluster"), "cluster");
    if (cluster != nullptr) takeCluster(*cluster, options);
    const std::string user = textAt(chosen, *chosen, "user");
    const YamlNode* person = user.empty() ? nullptr : named(root, "users", user, "user");
    if (person != nullptr) takeUser(*person, options);
    if (options.inNamespace.empty()) options.inNamespace = textAt(chosen, *chosen, "namespace");
    if (options.inNamespace.empty()) options.inNamespace = "default";
  }

  void fault(const YamlNode* at, const std::string& key, const std::string& message) {
    const config::Place place = at != nullptr ? source_.placeOf(at->offset) : config::Place{};
    faults_.push_back({file_.string(), place.line, place.column, key, message});
  }

  [[nodiscard]] ConfigFaults& faults() noexcept { return faults_; }

 private:
  /// The map `kind` of the entry of this name in the list.
  const YamlNode* named(const YamlNode& root, const std::string& list, const std::string& name,
                        const std::string& kind) {
    const YamlNode* all = memberOf(root, list);
    if (name.empty()) fault(all, list, "the context names no " + kind);
    if (name.empty()) return nullptr;
    const std::vector<YamlEntry> none;
    std::vector<std::string> names;
    const YamlNode* found = nullptr;
    for (const YamlEntry& entry : all != nullptr ? all->entries : none) {
      const YamlNode* own = memberOf(entry.value, "name");
      if (own != nullptr) names.push_back(own->text);
      if (own == nullptr || own->text != name) continue;
      if (found != nullptr) return refused(entry.value, list, "has " + inQuotes(name) + " twice");
      found = &entry.value;
    }
    if (found == nullptr) {
      return refused(all != nullptr ? *all : root, list,
                     "has no " + inQuotes(name) + config::didYouMean(config::closest(name, names)));
    }
    const YamlNode* body = memberOf(*found, kind);
    if (body != nullptr && body->kind == YamlNode::Kind::map) return body;
    return refused(*found, list, "has " + inQuotes(name) + " without a " + kind);
  }

  const YamlNode* refused(const YamlNode& at, const std::string& key, const std::string& message) {
    fault(&at, key, message);
    return nullptr;
  }

  /// Empty: it is missing, or null.
  std::string textAt(const YamlNode* at, const YamlNode& node, const std::string& key) {
    const YamlNode* found = memberOf(node, key);
    if (found == nullptr || found->kind == YamlNode::Kind::nothing) return {};
    if (found->kind != YamlNode::Kind::scalar) fault(at, key, "is no text");
    return found->kind == YamlNode::Kind::scalar ? found->text : std::string{};
  }

  /// The text that is there in base64.
  std::string dataAt(const YamlNode& node, const std::string& key) {
    std::string text = textAt(&node, node, key);
    std::erase_if(text, [](char c) { return c == '\n' || c == '\r' || c == ' '; });
    auto bytes = bytesFromBase64(text);
    if (!bytes) fault(memberOf(node, key), key, "is not base64");
    return bytes ? std::move(*bytes) : std::string{};
  }

  std::string pathAt(const YamlNode& node, const std::string& key) {
    const std::string text = textAt(&node, node, key);
    if (text.empty()) return {};
    return (file_.parent_path() / text).lexically_normal().string();
  }

  template <class Keys>
  void refuse(const YamlNode& node, const Keys& keys) {
    for (const Refused& one : keys) {
      const YamlNode* found = memberOf(node, one.key);
      const bool off = found == nullptr || found->kind == YamlNode::Kind::nothing ||
                       (found->kind == YamlNode::Kind::scalar && (found->text.empty() || found->text == "false"));
      if (!off) fault(found, one.key, std::string{"is not supported: "} + one.why);
    }
  }

  void takeCluster(const YamlNode& cluster, KubernetesStoreOptions& options) {
    refuse(cluster, refusedOfCluster);
    options.server = textAt(&cluster, cluster, "server");
    if (options.server.empty()) fault(&cluster, "server", "is missing");
    options.caCertificates = dataAt(cluster, "certificate-authority-data");
    if (options.caCertificates.empty()) options.caFile = pathAt(cluster, "certificate-authority");
  }

  /// Where a file gives one thing twice, kubectl takes the data, and the token's file.
  void takeUser(const YamlNode& user, KubernetesStoreOptions& options) {
    refuse(user, refusedOfUser);
    options.tokenFile = pathAt(user, "tokenFile");
    if (options.tokenFile.empty()) options.token = textAt(&user, user, "token");
    takeCertificate(user, options);
  }

  /// One half may be data and the other one a file; a store takes both in one way.
  void takeCertificate(const YamlNode& user, KubernetesStoreOptions& options) {
    std::string certificate = dataAt(user, "client-certificate-data");
    std::string key = dataAt(user, "client-key-data");
    const std::string certificateFile = pathAt(user, "client-certificate");
    const std::string keyFile = pathAt(user, "client-key");
    if (certificate.empty() && key.empty()) {
      options.certificate = certificateFile;
      options.key = keyFile;
      return;
    }
    if (certificate.empty()) certificate = contentOf(user, "client-certificate", certificateFile);
    if (key.empty()) key = contentOf(user, "client-key", keyFile);
    options.certificateText = std::move(certificate);
    options.keyText = std::move(key);
  }

  std::string contentOf(const YamlNode& user, const std::string& key, const std::string& path) {
    if (path.empty()) return {};
    auto text = config::readSmallFile(path, "check the path");
    if (text.has_error()) fault(memberOf(user, key), key, path + ": " + text.error().message);
    return text.has_value() ? std::move(*text) : std::string{};
  }

  const config::SourceText& source_;
  const std::filesystem::path file_;
  ConfigFaults faults_{};
};

/// Faults of the options, as those of the file.
#ifdef TENURE_HAS_STORE_KUBERNETES
void checkOptions(KubeconfigReader& reader, const KubernetesStoreOptions& options) {
  for (const OptionFault& wrong : faultsOf(options)) reader.fault(nullptr, wrong.field, wrong.message);
}
#else
void checkOptions(KubeconfigReader& reader, const KubernetesStoreOptions& /*options*/) {
  reader.fault(nullptr, "", "this build has no Kubernetes store: CMake's option TENURE_WITH_KUBERNETES_STORE was off");
}
#endif

}  // namespace

Options kubernetesOptionsFromText(std::string_view text, const std::filesystem::path& file, const std::string& context,
                                  KubernetesStoreOptions given) {
  const config::SourceText source{text};
  KubeconfigReader reader{source, file};
  if (auto wrong = source.fault()) {
    return ConfigFaults{{file.string(), wrong->place.line, wrong->place.column, "", std::move(wrong->message)}};
  }
  const config::YamlDocument document = config::parseYaml(source);
  for (const config::YamlFault& wrong : document.faults) {
    const config::Place place = source.placeOf(wrong.offset);
    reader.faults().push_back({file.string(), place.line, place.column, "", wrong.message});
  }
  if (document.root && !document.fatal) {
    reader.read(*document.root, context, given);
  } else if (!document.fatal) {
    reader.fault(nullptr, "", "the file is empty");
  }
  if (reader.faults().empty()) checkOptions(reader, given);
  if (!reader.faults().empty()) return std::move(reader.faults());
  return given;
}

Options kubernetesOptionsFrom(const std::filesystem::path& file, const std::string& context,
                              KubernetesStoreOptions given) {
  auto text = config::readSmallFile(file, "check the path of the kubeconfig file");
  if (text.has_error()) return ConfigFaults{{file.string(), 0, 0, "", text.error().message}};
  std::error_code error;
  const std::filesystem::path absolute = file.is_absolute() ? file : detail::workingDirectory(error) / file;
  if (error) return ConfigFaults{{file.string(), 0, 0, "", "its directory cannot be found: " + errnoText(error)}};
  return kubernetesOptionsFromText(*text, absolute, context, std::move(given));
}

Options kubernetesOptionsOf(const KubernetesConfig& config) {
  const KubernetesStoreOptions& given = config;  // what the file does not say
  if (config.kubeconfig.empty()) return given;
  return kubernetesOptionsFrom(config.kubeconfig, config.context, given);
}

}  // namespace tenure
