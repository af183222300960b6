// Every key that a group's YAML file may have, as data: for reference texts and for tools.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tenure/lockcore/export.hpp>

namespace tenure {

struct ConfigKey {
  std::string path;       ///< "lease.heartbeat"
  std::string storeType;  ///< the store.type that has this key; empty: it does not depend on the store
  std::string kind;       ///< "text", "duration", "whole number", "true or false", "one of", "list"
  std::string allowed;    ///< "10ms to 24h"
  bool required{false};   ///< must be in every file (with a storeType: in every file with that store; of an
                          ///< optional section: in every file with that section)
  std::string fallback;   ///< the default, as a value or in words ("a third of lease.duration"); empty if required
  std::string example;    ///< a value to show: the default where there is one
  std::string about;      ///< what it means, in sentences
};

/// All keys of all sections, in the order in which config/reference.yaml shows them.
[[nodiscard]] const std::vector<ConfigKey>& configKeys();

/// The text of config/reference.yaml: every key with its meaning, range and default. It is itself a valid file.
[[nodiscard]] std::string referenceYaml();

/// A short commented file to start from (`tenure init`), with a store of this type; of a type that this build does not
/// have, and without one: one machine, SQLite. It is a valid file.
[[nodiscard]] TENURE_API std::string sampleGroupYaml(std::string_view storeType = {});

/// The table of all keys for docs/reference/configuration.md, in Markdown.
[[nodiscard]] std::string configKeysMarkdown();

}  // namespace tenure
