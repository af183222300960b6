#include "routing.hpp"

#ifdef TENURE_HAS_KUBERNETES
#include <memory>
#include <stdexcept>
#include <utility>
#include <variant>

#include <tenure/adapters/pod_label.hpp>
#include <tenure/config/kubeconfig.hpp>

#include "store_calls.hpp"

namespace tenure::cli {
namespace {

PodLabelOptions labelOptions(const GroupConfig& config) {
  auto cluster = kubernetesOptionsOf(std::get<KubernetesConfig>(config.store));
  if (cluster.has_error()) throw std::runtime_error{toString(cluster.error())};
  return {.cluster = *std::move(cluster),
          .pod = config.routing.pod,
          .selector = config.routing.selector,
          .lookEvery = config.options.lease.duration,
          .timeout = storePatience};
}

}  // namespace

Routing routingOf(const GroupConfig& config, Logger logger) {
  if (config.routing.isNone()) return {};
  return [label = std::make_shared<PodLabel>(labelOptions(config), std::move(logger))](const Leadership& term) {
    label->elected(term);
  };
}

StoreStatus checkRouting(const GroupConfig& config) {
  if (config.routing.isNone()) return {};
  return PodLabel{labelOptions(config)}.checkRights();
}

}  // namespace tenure::cli
#else
namespace tenure::cli {

// Without the store such a section is a fault of the file.
Routing routingOf(const GroupConfig& /*config*/, Logger /*logger*/) { return {}; }

StoreStatus checkRouting(const GroupConfig& /*config*/) { return {}; }

}  // namespace tenure::cli
#endif
