#include "lock_words.hpp"

#include <algorithm>
#include <cctype>

#include "config/src/schema.hpp"

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

std::string variableOf(const config::KeySpec& key) {
  std::string name = config::nameIn(key.key.path);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); });
  return "TENURE_LOCK_" + name;
}

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

}  // namespace tenure::cli
