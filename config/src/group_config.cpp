#include <algorithm>
#include <tuple>
#include <utility>

#include <tenure/config/group_config.hpp>

#include "store_types.hpp"

namespace tenure {

bool operator==(const GroupConfig& a, const GroupConfig& b) {
  const auto parts = [](const GroupConfig& c) {
    return std::tie(c.options.group, c.options.candidate, c.options.lease, c.options.onLost, c.options.shards, c.store,
                    c.logLevel);
  };
  return parts(a) == parts(b);
}

OptionFaults faultsOf(const GroupConfig& config) {
  OptionFaults faults;
  if (auto group = Group::make(config.options, nullptr); !group) faults = group.error();
  // The configuration is not at fault for the store that does not exist yet.
  faults.erase(std::remove_if(faults.begin(), faults.end(), [](const OptionFault& f) { return f.key == "store"; }),
               faults.end());
  OptionFaults ofStore = config::typeOf(config.store).faults(config.store);
  faults.insert(faults.end(), ofStore.begin(), ofStore.end());
  return faults;
}

std::shared_ptr<LeaseStore> makeStore(const StoreConfig& store, Logger logger) {
  return config::typeOf(store).make(store, std::move(logger));
}

boost::system::result<Group, OptionFaults> makeGroup(const GroupConfig& config, Logger logger) {
  if (OptionFaults faults = faultsOf(config); !faults.empty()) return faults;
  auto store = makeStore(config.store, logger);
  return Group::make(config.options, std::move(store), std::move(logger));
}

boost::system::result<Group, OptionFaults> makeGroup(const GroupConfig& config) {
  return makeGroup(config, Logger::toStderr(config.logLevel));
}

}  // namespace tenure
