#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>

#include "config/src/sections.hpp"
#include "config/src/store_section.hpp"
#include "lockcore/kubernetes/bearer_token.hpp"
#include "lockcore/kubernetes/pod.hpp"
#include "lockcore/port/ascii_text.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "lockcore/runtime/regular_file.hpp"

namespace tenure {

#ifdef TENURE_HAS_STORE_KUBERNETES
OptionFaults faultsOf(const KubernetesConfig& config) {
  const KubernetesStoreOptions& options = config;
  OptionFaults faults = faultsOf(options);
  if (std::string fault = faultOfPath(config.kubeconfig); !fault.empty()) {
    faults.push_back({"kubeconfig", std::move(fault)});
  }
  if (config.kubeconfig.empty()) {
    if (!config.context.empty()) faults.push_back({"context", "is given, and no kubeconfig that has it"});
    return faults;
  }
  for (const auto& [field, text] : {std::pair{"server", &config.server},
                                    {"caFile", &config.caFile},
                                    {"tokenFile", &config.tokenFile},
                                    {"certificate", &config.certificate}}) {
    if (!text->empty()) faults.push_back({field, "is given, and so is a kubeconfig; its context has server and user"});
  }
  return faults;
}
#endif

}  // namespace tenure

#ifdef TENURE_HAS_STORE_KUBERNETES
#include <tenure/config/load_group.hpp>

#include "config/src/ask_server.hpp"
#include "lockcore/kubernetes/http_gateway.hpp"
#include "lockcore/net/library_version.hpp"

namespace tenure::config {

namespace {

using KubernetesSection = StoreSection<KubernetesConfig>;
using Labels = std::map<std::string, std::string>;

constexpr const char* ofThePod = "that of the pod";

/// Each item is NAME=VALUE. Whether it is a label is for the options' own check.
Codec<Labels> labelsCodec() {
  Codec<std::vector<std::string>> items = listCodec("labels such as team=billing");
  const auto parse = [items](std::string_view text) -> boost::system::result<Labels, ValueFault> {
    auto read = items.parse(text);
    if (read.has_error()) return read.error();
    Labels labels;
    for (const std::string& item : *read) {
      const auto sign = item.find('=');
      if (sign == std::string::npos) return ValueFault{inQuotes(item) + " is not a label; write NAME=VALUE"};
      if (!labels.emplace(item.substr(0, sign), item.substr(sign + 1)).second)
        return ValueFault{"has the label " + inQuotes(item.substr(0, sign)) + " twice"};
    }
    return labels;
  };
  const auto write = [items](const Labels& labels) {
    std::vector<std::string> texts;
    for (const auto& [name, value] : labels) texts.push_back(name + '=' + value);
    return items.write(texts);
  };
  return {items.kind, items.allowed, parse, write};
}

void addPlaceKeys(KubernetesSection& section) {
  section.textKey({.path = "store.namespace",
                   .example = "billing",
                   .about = "The namespace of the Leases. Candidates that compete have the same.",
                   .field = "store.inNamespace"},
                  "the name of a namespace", &KubernetesConfig::inNamespace, ofThePod, "NAME");
  section.secretKey(
      {.path = "store.kubeconfig",
       .example = "./kubeconfig",
       .about = "A kubeconfig file with server and user, as kubectl has, or several with colons "
                "between, as in KUBECONFIG. Without this key and store.server the pod's service account is used."},
      &KubernetesConfig::kubeconfig, "none", "FILE");
  section.textKey(
      {.path = "store.context", .example = "production", .about = "Which context of the kubeconfig file counts."},
      "the name of a context", &KubernetesConfig::context, "the file's current-context", "NAME");
}

void addServerKeys(KubernetesSection& section) {
  section.textKey({.path = "store.server",
                   .example = "https://10.0.0.1:6443",
                   .about = "The URL of the API server, if neither a pod nor a kubeconfig file provides it. "
                            "store.namespace is required then."},
                  "a URL such as https://10.0.0.1:6443", &KubernetesConfig::server, ofThePod, "URL");
  section.textKey({.path = "store.ca_file",
                   .example = "./cluster-ca.pem",
                   .about = "A PEM file of the certificates to trust instead of the system's."},
                  "the path of a file", &KubernetesConfig::caFile, "the system's; in a pod its own", "FILE");
  section.secretKey({.path = "store.token_file",
                     .example = "./token",
                     .about = "A file with the user's token. It is read again each minute, and after a "
                              "rejection."},
                    &KubernetesConfig::tokenFile, "none; in a pod its own", "FILE");
  section.textKey({.path = "store.certificate",
                   .example = "./client.crt",
                   .about = "The user's certificate (PEM), instead of a token."},
                  "the path of a file", &KubernetesConfig::certificate, "none", "FILE");
  section.secretKey({.path = "store.key",
                     .example = "./client.key",
                     .about = "The key of that certificate (PEM), without a passphrase."},
                    &KubernetesConfig::key, "none", "FILE");
}

void addObjectKeys(KubernetesSection& section) {
  section.key(
      {.path = "store.labels",
       .fallback = "none",
       .example = "[team=billing]",
       .about = "Labels for each Lease that the store writes, in addition to app.kubernetes.io/managed-by=tenure; "
                "a YAML list, "
                "or one text with commas between."},
      labelsCodec(), [](auto& options) -> auto& { return options.labels; });
  section.key(
      {.path = "store.watches",
       .about = "Whether one watch of the process reports hand-overs at once. Without it, or without permission to "
                "list and watch, candidates poll."},
      boolCodec(), [](auto& options) -> auto& { return options.watches; });
}

void resolveFilesOfKubernetes(KubernetesConfig& options, const std::filesystem::path& directory) {
  const auto resolved = [&](const std::string& path) {
    return path.empty() ? path : (directory / path).lexically_normal().string();
  };
  for (std::string* path : {&options.caFile, &options.tokenFile, &options.certificate, &options.key}) {
    *path = resolved(*path);
  }
  // As client-go reads KUBECONFIG, a colon separates files; but a path that is there as a whole is one file.
  std::error_code unreadable;
  if (const std::string whole = resolved(options.kubeconfig); std::filesystem::exists(whole, unreadable)) {
    options.kubeconfig = whole;
    return;
  }
  std::string list;
  for (const std::string_view path : split(options.kubeconfig, ':')) list += resolved(std::string{path}) + ':';
  list.pop_back();
  options.kubeconfig = list;
}

std::shared_ptr<LeaseStore> made(const KubernetesConfig& config, Logger logger) {
  return makeKubernetesStore(usableOptionsOf(config), std::move(logger));
}

StoreStatus readToken(const KubernetesConfig& config) {
  const auto whole = kubernetes_store::completed(usableOptionsOf(config), kubernetes_store::ofProcess);
  if (!whole) return whole.error();
  const auto token = kubernetes_store::BearerToken{whole->tokenFile, whole->token, systemClock()}.show();
  return token ? StoreStatus{} : StoreStatus{token.error()};
}

ServerFacts askApiServer(const KubernetesConfig& config) {
  const KubernetesStoreOptions options =
      kubernetes_store::completed(kubernetesOptionsOf(config).value(), kubernetes_store::ofProcess).value();
  const auto client = net::HttpClient::make(kubernetes_store::clientOptions(options, Logger{}));
  return askServer(*client, net::parseUrl(options.server).value(), "/version", {"Kubernetes", "gitVersion"});
}

constexpr const char* kubernetesStarter =
    R"(# Where the lease is kept: a Lease object of Kubernetes (1.14 or later), in the namespace of the pods that compete.
# In a pod only permissions on leases are needed: config/kubernetes/role.yaml grants them.
# tenure check --connect says whether the server answers and grants permission to read and write.
store:
  type: kubernetes
  # namespace: billing            # that of the pod, if left out
  # kubeconfig: ./kubeconfig      # outside of a cluster; a relative path starts at this file
  # context: production           # the file's current-context, if left out
  # labels: [team=billing]        # for each Lease
)";

}  // namespace

template <>
StoreType storeType<KubernetesConfig>() {
  KubernetesSection section{"kubernetes", "Kubernetes Lease objects, for pods; client-go may share them."};
  section.hasSample(kubernetesStarter);
  addPlaceKeys(section);
  addServerKeys(section);
  addObjectKeys(section);
  section.pathsBy(resolveFilesOfKubernetes);
  section.filesBy(readToken);
  section.serverBy(askApiServer);
  section.isBuiltOn({"OpenSSL", net::libraryVersion()});
  return section.madeBy(made);
}

}  // namespace tenure::config
#else
template <>
tenure::config::StoreType tenure::config::storeType<tenure::KubernetesConfig>() {
  return {.name = "kubernetes", .without = "CMake's option TENURE_WITH_KUBERNETES_STORE was off"};
}
#endif
