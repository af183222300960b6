#include "pod.hpp"

#include <cstddef>
#include <cstdlib>
#include <unistd.h>
#include <utility>

#include "lockcore/port/ascii_text.hpp"
#include "lockcore/runtime/regular_file.hpp"

namespace tenure::kubernetes_store {
namespace {

constexpr std::size_t longestSmallFile = std::size_t{64} << 10U;

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

StoreResult<std::string> smallFile(const std::string& what, const std::string& path) {
  auto text = regularFile(path, longestSmallFile);
  if (!text) {
    const FileError& error = text.error();
    return StoreError{ErrorClass::credentials, "the " + what + " " + path + " " + error.why, !error.bySystem};
  }
  return std::string{trimmed(*text)};
}

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
  const std::string authorities = directory + "/ca.crt";
  // As in client-go (rest.InClusterConfig): without the file, the system's authorities judge the server.
  if (options.caFile.empty() && options.caCertificates.empty() && access(authorities.c_str(), R_OK) == 0) {
    options.caFile = authorities;
  }
  if (!hasUser(options)) options.tokenFile = directory + "/token";
  if (!options.inNamespace.empty()) return options;
  options.inNamespace = podNamespace(directory, environment);
  if (!options.inNamespace.empty()) return options;
  auto name = smallFile("service account's namespace", directory + "/namespace");  // which says why it gives none
  if (name.has_error()) return name.error();
  options.inNamespace = std::move(*name);
  return options;
}

std::string ofProcess(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): read once, when the store is made
  return value != nullptr ? value : "";
}

}  // namespace tenure::kubernetes_store
