#include "lock_store.hpp"

#include <algorithm>
#include <utility>

#include <fmt/ranges.h>

#include "cli/group/config_file.hpp"
#include "cli/group/store_calls.hpp"
#include "cli/text/environment.hpp"
#include "cli/text/output.hpp"
#include "config/src/schema.hpp"
#include "config/src/words.hpp"
#include "lockcore/port/ascii_text.hpp"

namespace tenure::cli {
namespace {

std::string optionWithWord(const config::KeySpec& key) { return optionOf(key) + " " + key.word; }

/// One store's lines. They end before column 80, and the second begins where the help explains options.
std::string usage(const config::StoreType& store) {
  constexpr std::size_t width = 80, column = 23;
  std::string text;
  std::string line = "  " + shortUsage(store);
  for (const config::KeySpec* key : keysWithWords(store)) {
    if (key->key.required) continue;
    const std::string part = "[" + optionWithWord(*key) + "]";
    if (line.size() + 1 + part.size() > width) {
      text += line + '\n';
      line = std::string(column - 1, ' ');
    }
    line += " " + part;
  }
  return text + line + '\n';
}

}  // namespace

std::vector<const config::StoreType*> lockStores() {
  std::vector<const config::StoreType*> stores;
  for (const config::StoreType& type : config::storeTypes()) {
    if (!type.ofOneProcess) stores.push_back(&type);
  }
  return stores;
}

std::vector<std::string> lockStoreNames() {
  std::vector<std::string> names;
  for (const config::StoreType* store : lockStores()) names.push_back(store->name);
  return names;
}

std::vector<const config::KeySpec*> keysWithWords(const config::StoreType& store) {
  std::vector<const config::KeySpec*> keys;
  for (const config::KeySpec& key : store.keys) {
    if (!key.word.empty()) keys.push_back(&key);
  }
  return keys;
}

std::string optionOf(const config::KeySpec& key) {
  std::string name = config::nameIn(key.key.path);
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

std::string variableOf(const config::KeySpec& key) { return "TENURE_LOCK_" + uppered(config::nameIn(key.key.path)); }

std::string shortUsage(const config::StoreType& store) {
  std::string text = "--store " + store.name;
  for (const config::KeySpec* key : keysWithWords(store)) {
    if (key->key.required) text += " " + optionWithWord(*key);
  }
  return text;
}

std::string lockStoresUsage() {
  std::string text;
  for (const config::StoreType* store : lockStores()) text += usage(*store);
  return text;
}

namespace {

/// What the option gives; empty: it was not given.
std::string given(const LockStoreArguments& words, const config::KeySpec& key) {
  const auto found = words.values.find(key.key.path);
  return found == words.values.end() ? std::string{} : found->second;
}

std::optional<StoreConfig> storeFromWords(const LockStoreArguments& words) {
  const auto stores = lockStores();
  const auto store = std::find_if(stores.begin(), stores.end(),
                                  [&](const config::StoreType* type) { return type->name == words.store; });
  if (store == stores.end()) {
    const std::string why = config::whyWithout(words.store);
    complain("--store: \"" + words.store + "\" is " +
             (why.empty() ? "none of " : "a store that this build does not have (" + why + "); it has ") +
             fmt::format("{}", fmt::join(lockStoreNames(), ", ")));
    return std::nullopt;
  }
  const auto keys = keysWithWords(**store);
  for (const config::StoreType* other : stores) {
    for (const config::KeySpec* key : keysWithWords(*other)) {
      const bool known = std::any_of(keys.begin(), keys.end(),
                                     [&](const config::KeySpec* own) { return own->key.path == key->key.path; });
      if (known || given(words, *key).empty()) continue;
      return complain(optionOf(*key) + " is of the store " + other->name + ", and not of " + words.store +
                      "; leave it out, or say which store is meant with --store"),
             std::nullopt;
    }
  }
  GroupConfig config;
  config.store = (*store)->defaults;
  for (const config::KeySpec* key : keys) {
    std::string text = given(words, *key);
    if (text.empty()) text = environmentText(variableOf(*key).c_str());
    if (text.empty()) continue;
    if (const auto fault = key->set(text, config))
      return complain(optionOf(*key) + ": " + fault->message), std::nullopt;
  }
  return config.store;
}

/// The name of the store that has most of the options that were given, of equal ones the first; empty if none was.
/// Stores may have an option in common, such as --table.
std::string storeByOptions(const LockStoreArguments& words) {
  std::string name;
  std::ptrdiff_t most = 0;
  for (const config::StoreType* store : lockStores()) {
    const auto keys = keysWithWords(*store);
    const auto count = std::count_if(keys.begin(), keys.end(),
                                     [&](const config::KeySpec* key) { return !given(words, *key).empty(); });
    if (count > most) name = store->name;
    most = std::max(most, count);
  }
  return name;
}

/// The rest of a group's file is about the group's own work: who may do it, when, where, and what it has to show. A
/// command under a lock knows nothing of that.
std::optional<GroupConfig> fromFile(const std::string& file) {
  const auto group = loadOrComplain(file);
  if (!group) return std::nullopt;
  GroupOptions options{.candidate = {.id = group->options.candidate.id}, .lease = group->options.lease};
  options.lease.progressTimeout.reset();
  return GroupConfig{std::move(options), group->store, group->crashNotice, group->logLevel, group->logFormat};
}

std::optional<GroupConfig> withStore(const LockStoreArguments& words) {
  if (!words.config.empty() && !words.store.empty())
    return complain("give the store by --config or by --store, not by both"), std::nullopt;
  if (!words.config.empty()) return fromFile(words.config);
  if (words.store.empty()) {
    std::string ways;
    for (const config::StoreType* store : lockStores()) ways += shortUsage(*store) + ", ";
    complain("give the store: " + ways +
             "or a group's file: --config FILE (or set TENURE_LOCK_STORE or TENURE_CONFIG)");
    return std::nullopt;
  }
  auto store = storeFromWords(words);
  if (!store) return std::nullopt;
  GroupConfig config;
  config.options.lease.duration = std::chrono::seconds{30};
  config.logLevel = LogLevel::warn;  // as quiet as flock(1)
  config.store = std::move(*store);
  return config;
}

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
  for (const config::StoreType* store : lockStores()) {
    for (const config::KeySpec* key : keysWithWords(*store)) {
      const std::string variable = variableOf(*key);
      const bool fromVariable = given(arguments.store, *key).empty() && !environmentText(variable.c_str()).empty();
      replaceAll(text, key->key.path, fromVariable ? variable : optionOf(*key));
    }
  }
  return text;
}

}  // namespace

LockStoreArguments withEnvironment(LockStoreArguments words) {
  if (words.store.empty()) words.store = storeByOptions(words);
  if (words.store.empty() && words.config.empty()) {
    words.store = environmentText("TENURE_LOCK_STORE");
    if (words.store.empty()) words.config = environmentText("TENURE_CONFIG");
  }
  return words;
}

std::optional<GroupConfig> lockConfigOrComplain(const LockArguments& arguments) {
  auto config = withStore(arguments.store);
  if (!config) return std::nullopt;
  if (const auto& store = config::typeOf(config->store); store.ofOneProcess) {
    complain("store.type " + store.name + " is seen by one process only, so there is nothing to lock; use " +
             config::listed(lockStoreNames(), "or"));
    return std::nullopt;
  }
  const bool named = arguments.takesLock;
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
  return madeOrEnd(exitStore, [&] { return makeStore(config.store, Logger::toStderr(LogLevel::warn)); });
}

}  // namespace tenure::cli
