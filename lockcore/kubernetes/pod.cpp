#include "pod.hpp"

#include <cstdlib>
#include <utility>

#include "small_file.hpp"

namespace tenure::kubernetes_store {
namespace {

/// An address of IPv6 is not in brackets there.
std::string serverAt(const std::string& host, const std::string& port) {
  const bool bare = host.find(':') != std::string::npos && !host.starts_with('[');
  return "https://" + (bare ? '[' + host + ']' : host) + (port.empty() ? std::string{} : ':' + port);
}

bool hasUser(const KubernetesStoreOptions& options) {
  return !options.token.empty() || !options.tokenFile.empty() || !options.certificate.empty() ||
         !options.certificateText.empty();
}

}  // namespace

StoreResult<KubernetesStoreOptions> completed(KubernetesStoreOptions options, const Environment& environment) {
  if (!options.server.empty()) return options;
  const std::string host = environment("KUBERNETES_SERVICE_HOST");
  if (host.empty()) {
    return StoreError{ErrorClass::misconfigured,
                      "no server is given, and this process does not run in a pod (KUBERNETES_SERVICE_HOST is not "
                      "set); give the server, or a kubeconfig file"};
  }
  options.server = serverAt(host, environment("KUBERNETES_SERVICE_PORT"));
  const std::string& directory = options.serviceAccount;
  if (options.caFile.empty() && options.caCertificates.empty()) options.caFile = directory + "/ca.crt";
  if (!hasUser(options)) options.tokenFile = directory + "/token";
  if (!options.inNamespace.empty()) return options;
  auto name = smallFile("service account's namespace", directory + "/namespace");
  if (name.has_error()) return name.error();
  options.inNamespace = std::move(*name);
  return options;
}

std::string ofProcess(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): read once, when the store is made
  return value != nullptr ? value : "";
}

}  // namespace tenure::kubernetes_store
