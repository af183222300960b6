#include "routing.hpp"

#ifdef TENURE_HAS_KUBERNETES
#include <memory>
#include <utility>
#include <variant>

#include <tenure/adapters/pod_label.hpp>

#include "config/src/sections.hpp"
#include "store_calls.hpp"

namespace tenure::cli {
namespace {

PodLabelOptions labelOptions(const GroupConfig& config) {
  return {.cluster = config::usableOptionsOf(std::get<KubernetesConfig>(config.store)),
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
