// What the tests of a store's section in the YAML file share.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <tenure/config/load_group.hpp>

#include "config/src/config_keys.hpp"
#include "config/test_files.hpp"
#include "support/temp_dir.hpp"

namespace tenure::test {

/// A file with `store.type: TYPE`, whose options are Options. `keys` are further lines of the section.
template <class Options>
class StoreSection {
 public:
  explicit StoreSection(std::string type) : type_{std::move(type)} {}

  [[nodiscard]] std::string fileWith(const std::string& keys) const {
    return "group: g\nstore:\n  type: " + type_ + '\n' + keys;
  }

  [[nodiscard]] Options optionsOf(const std::string& keys, const VariableSource& variables = {}) const {
    return optionsIn(loadGroupConfigFromText(fileWith(keys), "group.yaml", variables));
  }

  /// All faults as text; empty: there is none.
  [[nodiscard]] std::string faultsIn(const std::string& keys) const {
    const auto config = loadGroupConfigFromText(fileWith(keys), "group.yaml", {});
    return config ? std::string{} : toString(config.error());
  }

  /// Of a file in this directory.
  [[nodiscard]] Options optionsIn(const TempDir& directory, const std::string& keys) const {
    const std::string file = (directory.path() / "group.yaml").string();
    writeFile(file, fileWith(keys));
    return optionsIn(loadGroupConfig(file));
  }

  /// Of the page that `tenure init` writes.
  [[nodiscard]] Options ofSample() const {
    return optionsIn(loadGroupConfigFromText(sampleGroupYaml(type_), "sample"));
  }

  /// effectiveYaml() says all of them.
  void expectTheSameFromEffectiveYaml(const std::vector<Options>& all) const {
    GroupConfig config;
    config.options.group = "g";
    for (const Options& options : all) {
      config.store = options;
      const std::string text = effectiveYaml(config);
      const auto again = loadGroupConfigFromText(text, "dump", {});
      ASSERT_TRUE(again) << toString(again.error()) << "\n" << text;
      EXPECT_EQ(*again, config) << text;
    }
  }

 private:
  template <class Loaded>
  [[nodiscard]] static Options optionsIn(const Loaded& config) {
    if (config) return std::get<Options>(config->store);
    ADD_FAILURE() << toString(config.error());
    return {};
  }

  const std::string type_;
};

}  // namespace tenure::test
