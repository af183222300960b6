// What Kubernetes tells a process that runs in a pod.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/store_error.hpp>
#include <tenure/lockcore/stores/kubernetes_store.hpp>

#include "lockcore/port/ascii_text.hpp"
#include "lockcore/runtime/regular_file.hpp"

namespace tenure::kubernetes_store {

/// The value of a variable of the environment; empty: it is not set.
using Environment = std::function<std::string(const char*)>;

/// The pod's own namespace, where client-go looks for it (DeferredLoadingClientConfig): POD_NAMESPACE, else the service
/// account's file; empty: neither says it. Inline: kubeconfig files are read also where this library is not built.
[[nodiscard]] inline std::string podNamespace(const std::string& serviceAccount, const Environment& environment) {
  if (std::string named = environment("POD_NAMESPACE"); !named.empty()) return named;
  const auto text = regularFile(serviceAccount + "/namespace", std::size_t{64} << 10U);
  return std::string{text ? trimmed(*text) : ""};
}

/// The options with everything that they leave to the pod: the server from KUBERNETES_SERVICE_HOST and
/// KUBERNETES_SERVICE_PORT, from the service account's directory the authorities, if they can be read, and the token's
/// file, and the namespace, each where the options give none. An error if the server or the namespace is missing.
/// Options with a server stay as they are.
[[nodiscard]] TENURE_API StoreResult<KubernetesStoreOptions> completed(KubernetesStoreOptions options,
                                                                       const Environment& environment);

[[nodiscard]] TENURE_API std::string ofProcess(const char* name);

/// What is in the regular file, without white space at its ends; at most 64 KiB. It waits for no pipe. The fault
/// (`credentials`) names the file and never what is in it.
[[nodiscard]] StoreResult<std::string> smallFile(const std::string& what, const std::string& path);

}  // namespace tenure::kubernetes_store
