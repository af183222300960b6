#include <tuple>
#include <utility>

#include <tenure/config/group_config.hpp>

#include "election/src/checked_group.hpp"
#include "election/src/listen_address.hpp"
#include "sections.hpp"
#include "store_types.hpp"

namespace tenure {

bool operator==(const GroupConfig& a, const GroupConfig& b) {
  const auto parts = [](const GroupConfig& c) {
    return std::tie(c.options.group, c.options.candidate, c.options.lease, c.options.onLost, c.options.shards, c.store,
                    c.crashNotice, c.logLevel, c.logFormat, c.httpListen, c.httpHosts, c.routing, c.hooks, c.jobs);
  };
  return parts(a) == parts(b);
}

OptionFaults config::faultsOf(const GroupConfig& config, OptionFaults ofOptions) {
  OptionFaults faults = std::move(ofOptions);
  for (OptionFault& ofStore : config::typeOf(config.store).faults(config.store)) {
    ofStore.field = "store." + ofStore.field;
    faults.push_back(std::move(ofStore));
  }
  const auto* postgresql = std::get_if<PostgresqlStoreOptions>(&config.store);
  if (postgresql != nullptr && !postgresql->livenessDirectory.empty() && !config.crashNotice) {
    faults.push_back({"store.livenessDirectory",
                      "is for crash notices, which store.crash_notice switches off; leave out one of them"});
  }
  if (!config.httpListen.empty()) {
    const auto address = parseListen(config.httpListen);
    if (!address) faults.push_back({"http.listen", address.error().message});
  }
  for (const std::string& host : config.httpHosts) {
    if (std::string fault = faultOfHost(host); !fault.empty()) faults.push_back({"http.hosts", std::move(fault)});
  }
  for (OptionFault& ofRouting : config::faultsOfRouting(config)) faults.push_back(std::move(ofRouting));
  for (OptionFault& ofHooks : config::faultsOfHooks(config)) faults.push_back(std::move(ofHooks));
  for (OptionFault& ofJobs : config::faultsOfJobs(config)) faults.push_back(std::move(ofJobs));
  return faults;
}

bool config::givesCrashNotice(const GroupConfig& config) {
  const auto* sqlite = std::get_if<SqliteStoreOptions>(&config.store);
  const bool isOn = sqlite != nullptr ? sqlite->crashNotice : config.crashNotice;
  return isOn && config.hooks.onRevoked.empty() && !config::typeOf(config.store).ofOneProcess;
}

StoreConfig config::storeOfRun(const GroupConfig& config) {
  StoreConfig store = config.store;
  if (givesCrashNotice(config)) return store;
  if (auto* sqlite = std::get_if<SqliteStoreOptions>(&store)) sqlite->crashNotice = false;
  if (auto* postgresql = std::get_if<PostgresqlStoreOptions>(&store)) postgresql->livenessDirectory.clear();
  return store;
}

OptionFaults faultsOf(const GroupConfig& config) { return config::faultsOf(config, faultsOf(config.options)); }

std::shared_ptr<LeaseStore> makeStore(const StoreConfig& store, Logger logger) {
  return config::typeOf(store).make(store, std::move(logger));
}

boost::system::result<Group, OptionFaults> makeGroup(const GroupConfig& config, Logger logger) {
  CheckedGroup checked{config.options};
  if (OptionFaults faults = config::faultsOf(config, checked.faults); !faults.empty()) return faults;
  return std::move(checked).with(makeStore(config.store, logger), logger);
}

boost::system::result<Group, OptionFaults> makeGroup(const GroupConfig& config) {
  return makeGroup(config, Logger::toStderr(config.logLevel, config.logFormat));
}

}  // namespace tenure
