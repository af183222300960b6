// The store for users: over HTTP.
#include <utility>

#include <tenure/lockcore/runtime.hpp>
#include <tenure/lockcore/stores/kubernetes_store.hpp>

#include "lockcore/kubernetes/http_gateway.hpp"
#include "lockcore/kubernetes/pod.hpp"
#include "lockcore/port/file_access.hpp"
#include "store.hpp"

namespace tenure {

std::shared_ptr<LeaseStore> makeKubernetesStore(const KubernetesStoreOptions& options, Logger logger) {
  using namespace kubernetes_store;
  checkOptions(options);
  const auto whole = completed(options, ofProcess);
  if (whole.has_error()) throw UnusableHere{"Kubernetes store: " + whole.error().message};
  checkOptions(*whole);
  return makeStore({whole->inNamespace, whole->labels},
                   {makeHttpGateway(*whole, logger), std::move(logger), sharedScheduler(), whole->watches});
}

}  // namespace tenure
