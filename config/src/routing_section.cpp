#include <string>
#include <utility>
#include <variant>

#include "lockcore/port/quoted_text.hpp"
#include "sections.hpp"
#include "store_types.hpp"
#ifdef TENURE_HAS_STORE_KUBERNETES
#include "lockcore/kubernetes/label_selector.hpp"
#include "lockcore/kubernetes/names.hpp"
#endif

namespace tenure::config {
namespace {

#ifdef TENURE_HAS_STORE_KUBERNETES
OptionFaults faultsOfValues(const RoutingConfig& routing) {
  OptionFaults faults;
  if (routing.pod.empty()) {
    faults.push_back({"routing.pod", "is missing; give it, such as pod: \"${POD_NAME}\""});
  } else if (!kubernetes_store::isObjectName(routing.pod)) {
    faults.push_back({"routing.pod", inQuotes(routing.pod) +
                                         " is not a pod name: up to 253 lower-case letters, digits, hyphens and "
                                         "dots (RFC 1123)"});
  }
  if (std::string fault = kubernetes_store::faultOfSelector(routing.selector); !fault.empty())
    faults.push_back({"routing.selector", std::move(fault)});
  return faults;
}
#else
/// Another store is a fault already.
OptionFaults faultsOfValues(const RoutingConfig& /*routing*/) { return {}; }
#endif

}  // namespace

void addRoutingKeys(std::vector<KeySpec>& out) {
  out.push_back(requiredKeySpec<std::string>(
      {.path = "routing.pod",
       .example = "\"${POD_NAME}\"",
       .about = "The name of the pod in which this process runs. The downward API gives it to a variable of the "
                "environment (fieldPath: metadata.name)."},
      textCodec("the name of a pod"), [](auto& config) -> auto& { return config.routing.pod; }));
  out.push_back(requiredKeySpec<std::string>(
      {.path = "routing.selector",
       .example = "app=scheduler",
       .about = "Finds all pods that may lead, as the Service does, without the role. Groups in one namespace need "
                "selectors that find different pods."},
      textCodec("labels as NAME=VALUE or NAME!=VALUE, with commas between"),
      [](auto& config) -> auto& { return config.routing.selector; }));
}

OptionFaults faultsOfRouting(const GroupConfig& config) {
  if (config.routing.isNone()) return {};
  const std::string section{routingSection};
  if (!std::holds_alternative<KubernetesConfig>(config.store)) {
    return {{section, "belongs to store.type kubernetes, not to " + typeOf(config.store).name +
                          "; remove it or change the type"}};
  }
  OptionFaults faults = faultsOfValues(config.routing);
  if (!config.options.shards.shardNames().empty())
    faults.push_back({section, "cannot be given in a group with shards; each shard has its own leader"});
  return faults;
}

}  // namespace tenure::config
