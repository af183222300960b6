// The store section for etcd: each key, the list of members, relative paths.
#include <string>

#include <gtest/gtest.h>

#include <tenure/config/load_group.hpp>
#include <tenure/lockcore/stores/etcd_store.hpp>

#include "config/src/config_keys.hpp"
#include "config/test_files.hpp"
#include "support/temp_dir.hpp"

namespace tenure {
namespace {

using Options = EtcdStoreOptions;
using Urls = std::vector<std::string>;

std::string fileWith(const std::string& keys) { return "group: g\nstore:\n  type: etcd\n" + keys; }

Options optionsOf(const std::string& keys, const VariableSource& variables = {}) {
  const auto config = loadGroupConfigFromText(fileWith(keys), "group.yaml", variables);
  if (!config) {
    ADD_FAILURE() << toString(config.error());
    return {};
  }
  return std::get<Options>(config->store);
}

TEST(EtcdSection, NothingIsRequired) { EXPECT_EQ(optionsOf(""), Options{}); }

TEST(EtcdSection, EachKeyIsRead) {
  const Options options = optionsOf(
      "  endpoints: [\"https://etcd1:2379\", \"https://etcd2:2379\"]\n  prefix: /jobs\n  user: scheduler\n"
      "  password_file: /etc/password\n  ca_file: /etc/ca.pem\n  certificate: /etc/c.crt\n  key: /etc/c.key\n");
  EXPECT_EQ(options, (Options{.endpoints = {"https://etcd1:2379", "https://etcd2:2379"},
                              .prefix = "/jobs",
                              .user = "scheduler",
                              .passwordFile = "/etc/password",
                              .caFile = "/etc/ca.pem",
                              .certificate = "/etc/c.crt",
                              .key = "/etc/c.key"}));
}

TEST(EtcdSection, MembersAreAListOrATextWithCommas) {
  const Urls two{"http://a:1", "http://b:2"};
  EXPECT_EQ(optionsOf("  endpoints:\n    - http://a:1\n    - http://b:2\n").endpoints, two);
  EXPECT_EQ(optionsOf("  endpoints: \"http://a:1, http://b:2\"\n").endpoints, two);
  EXPECT_EQ(optionsOf("  endpoints: http://a:1\n").endpoints, Urls{"http://a:1"});
}

TEST(EtcdSection, VariablesAreExpandedInEachItem) {
  const VariableSource variables = [](const std::string& name) {
    return name == "ETCD" ? std::optional<std::string>{"etcd7"} : std::nullopt;
  };
  EXPECT_EQ(optionsOf("  endpoints: [\"http://${ETCD}:2379\", \"http://${OTHER:-b}:2379\"]\n", variables).endpoints,
            (Urls{"http://etcd7:2379", "http://b:2379"}));
}

TEST(EtcdSection, RelativePathsStartAtTheDirectoryOfTheFile) {
  const test::TempDir directory;
  const std::string file = (directory.path() / "group.yaml").string();
  test::writeFile(file, fileWith("  endpoints: https://a:1\n  user: u\n  password_file: ./password\n"
                                 "  ca_file: x/../ca.pem\n  certificate: /etc/c.crt\n  key: c.key\n"));
  const auto config = loadGroupConfig(file);
  ASSERT_TRUE(config) << toString(config.error());
  const auto& options = std::get<Options>(config->store);
  const std::string base = directory.path().string();
  EXPECT_EQ(options.passwordFile, base + "/password");
  EXPECT_EQ(options.caFile, base + "/ca.pem");
  EXPECT_EQ(options.certificate, "/etc/c.crt");
  EXPECT_EQ(options.key, base + "/c.key");
}

TEST(EtcdSection, EffectiveYamlLoadsAsTheSameConfig) {
  GroupConfig config;
  config.options.group = "g";
  const Options all{.endpoints = {"https://[::1]:2379", "https://b:1"},
                    .prefix = "/jobs: $1",
                    .user = "u",
                    .passwordFile = "/p",
                    .caFile = "/c",
                    .certificate = "/d",
                    .key = "/e"};
  for (const Options& options : {Options{}, all}) {
    config.store = options;
    const std::string text = effectiveYaml(config);
    const auto again = loadGroupConfigFromText(text, "dump", {});
    ASSERT_TRUE(again) << toString(again.error()) << "\n" << text;
    EXPECT_EQ(*again, config) << text;
  }
}

TEST(EtcdSection, ThePageOfInitLoads) {
  const auto config = loadGroupConfigFromText(sampleGroupYaml("etcd"), "sample");
  ASSERT_TRUE(config) << toString(config.error());
  EXPECT_EQ(std::get<Options>(config->store).endpoints.size(), 3U);
}

}  // namespace
}  // namespace tenure
