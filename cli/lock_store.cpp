#include "lock_store.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "cli/commands/config_file.hpp"
#include "config/src/config_keys.hpp"
#include "config/src/schema.hpp"
#include "environment.hpp"
#include "output.hpp"

namespace tenure::cli {
namespace {

void fillIn(std::string& value, const char* variable) {
  if (value.empty()) value = environmentText(variable);
}

bool isBuilt(const std::string& storeType) {
  const auto& keys = configKeys();
  return std::any_of(keys.begin(), keys.end(), [&](const ConfigKey& key) { return key.storeType == storeType; });
}

std::optional<StoreConfig> storeFromWords(LockStoreArguments words) {
  if (words.store == "sqlite") {
    fillIn(words.path, "TENURE_LOCK_PATH");
    return SqliteStoreOptions{.path = words.path};
  }
  if (words.store == "dynamodb" && isBuilt("dynamodb")) {
    fillIn(words.table, "TENURE_LOCK_TABLE");
    fillIn(words.region, "TENURE_LOCK_REGION");
    fillIn(words.endpoint, "TENURE_LOCK_ENDPOINT");
    fillIn(words.profile, "TENURE_LOCK_PROFILE");
    fillIn(words.partitionKey, "TENURE_LOCK_PARTITION_KEY");
    fillIn(words.sortKey, "TENURE_LOCK_SORT_KEY");
    DynamoDbStoreOptions options;
    options.table = words.table;
    options.region = words.region;
    options.endpoint = words.endpoint;
    options.profile = words.profile;
    if (!words.partitionKey.empty()) options.partitionKey = words.partitionKey;
    options.sortKey = words.sortKey;
    return options;
  }
  complain("--store: \"" + words.store + "\" is none of " + (isBuilt("dynamodb") ? "sqlite, dynamodb" : "sqlite"));
  return std::nullopt;
}

std::optional<GroupConfig> withStore(LockStoreArguments words) {
  const bool details = !words.path.empty() || !words.table.empty() || !words.region.empty() ||
                       !words.endpoint.empty() || !words.profile.empty() || !words.partitionKey.empty() ||
                       !words.sortKey.empty();
  if (!words.config.empty() && (!words.store.empty() || details)) {
    complain("give the store by --config or by --store, not by both");
    return std::nullopt;
  }
  if (words.store.empty() && details) words.store = words.path.empty() ? "dynamodb" : "sqlite";
  if (words.store.empty() && words.config.empty()) {
    fillIn(words.store, "TENURE_LOCK_STORE");
    if (words.store.empty()) fillIn(words.config, "TENURE_CONFIG");
  }
  if (!words.config.empty()) return loadOrComplain(words.config);
  if (words.store.empty()) {
    complain(
        "give the store: --store sqlite --path FILE, --store dynamodb --table NAME, or a group's file: "
        "--config FILE (or set TENURE_LOCK_STORE or TENURE_CONFIG)");
    return std::nullopt;
  }
  auto store = storeFromWords(std::move(words));
  if (!store) return std::nullopt;
  GroupConfig config;
  config.options.lease.duration = std::chrono::seconds{30};
  config.log.level = LogLevel::warn;  // as quiet as flock(1)
  config.store = std::move(*store);
  return config;
}

/// How a key of the YAML is written on the command line and in the environment.
struct Word {
  const char* key;
  const char* option;
  const char* variable;
  std::string LockStoreArguments::*value;
};

constexpr std::array<Word, 7> storeWords{{
    {"store.path", "--path", "TENURE_LOCK_PATH", &LockStoreArguments::path},
    {"store.table", "--table", "TENURE_LOCK_TABLE", &LockStoreArguments::table},
    {"store.region", "--region", "TENURE_LOCK_REGION", &LockStoreArguments::region},
    {"store.endpoint", "--endpoint", "TENURE_LOCK_ENDPOINT", &LockStoreArguments::endpoint},
    {"store.profile", "--profile", "TENURE_LOCK_PROFILE", &LockStoreArguments::profile},
    {"store.partition_key", "--partition-key", "TENURE_LOCK_PARTITION_KEY", &LockStoreArguments::partitionKey},
    {"store.sort_key", "--sort-key", "TENURE_LOCK_SORT_KEY", &LockStoreArguments::sortKey},
}};

void replaceAll(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

/// A fault in terms of what the user typed: a user who typed --lease never saw lease.duration.
std::string asGiven(const OptionFault& fault, const LockArguments& arguments) {
  std::string text = (fault.field == "group" ? "the lock's name" : config::keyOf(fault.field)) + ": " + fault.message;
  const bool byWords = arguments.store.config.empty();
  if (byWords || arguments.lease) replaceAll(text, "lease.duration", "--lease");
  if (byWords || arguments.heartbeat) replaceAll(text, "lease.heartbeat", "--heartbeat");
  if (!byWords) return text;
  for (const Word& word : storeWords) {
    const bool fromVariable = (arguments.store.*word.value).empty() && !environmentText(word.variable).empty();
    replaceAll(text, word.key, fromVariable ? word.variable : word.option);
  }
  return text;
}

}  // namespace

std::optional<GroupConfig> lockConfigOrComplain(const LockArguments& arguments) {
  auto config = withStore(arguments.store);
  if (!config) return std::nullopt;
  using Action = LockArguments::Action;
  if (std::holds_alternative<MemoryStoreConfig>(config->store)) {
    complain("store.type memory is seen by one process only, so there is nothing to lock; use sqlite or dynamodb");
    return std::nullopt;
  }
  const bool named = arguments.action == Action::acquire || arguments.action == Action::hold;
  config->options.group = named ? arguments.target : "any";
  if (named && !arguments.owner.empty()) config->options.candidate.id = arguments.owner;
  if (named && arguments.lease) {
    config->options.lease = LeaseOptions{};  // values made from the file's own duration do not fit another
    config->options.lease.duration = *arguments.lease;
  }
  if (arguments.heartbeat) config->options.lease.heartbeat = arguments.heartbeat;
  const OptionFaults faults = faultsOf(*config);
  for (const OptionFault& fault : faults) complain(asGiven(fault, arguments));
  if (!faults.empty()) return std::nullopt;
  return config;
}

std::shared_ptr<LeaseStore> lockStore(const GroupConfig& config) {
  return makeStore(config.store, Logger::toStderr(LogLevel::warn));
}

}  // namespace tenure::cli
