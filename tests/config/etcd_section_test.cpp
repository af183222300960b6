// The store section for etcd: each key, the list of members, relative paths.
#include <string>

#include <gtest/gtest.h>

#include <tenure/lockcore/stores/etcd_store.hpp>

#include "config/store_section.hpp"

namespace tenure {
namespace {

using Options = EtcdStoreOptions;
using Urls = std::vector<std::string>;

const test::StoreSection<Options> etcdSection{"etcd"};

TEST(EtcdSection, NothingIsRequired) { EXPECT_EQ(etcdSection.optionsOf(""), Options{}); }

TEST(EtcdSection, EachKeyIsRead) {
  const Options options = etcdSection.optionsOf(
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
  EXPECT_EQ(etcdSection.optionsOf("  endpoints:\n    - http://a:1\n    - http://b:2\n").endpoints, two);
  EXPECT_EQ(etcdSection.optionsOf("  endpoints: \"http://a:1, http://b:2\"\n").endpoints, two);
  EXPECT_EQ(etcdSection.optionsOf("  endpoints: http://a:1\n").endpoints, Urls{"http://a:1"});
}

TEST(EtcdSection, VariablesAreExpandedInEachItem) {
  const VariableSource variables = [](const std::string& name) {
    return name == "ETCD" ? std::optional<std::string>{"etcd7"} : std::nullopt;
  };
  EXPECT_EQ(etcdSection.optionsOf("  endpoints: [\"http://${ETCD}:2379\", \"http://${OTHER:-b}:2379\"]\n", variables)
                .endpoints,
            (Urls{"http://etcd7:2379", "http://b:2379"}));
}

TEST(EtcdSection, RelativePathsStartAtTheDirectoryOfTheFile) {
  const test::TempDir directory;
  const Options options = etcdSection.optionsIn(directory,
                                                "  endpoints: https://a:1\n  user: u\n  password_file: ./password\n  "
                                                "ca_file: x/../ca.pem\n  certificate: /etc/c.crt\n  key: c.key\n");
  const std::string base = directory.path().string();
  EXPECT_EQ(options.passwordFile, base + "/password");
  EXPECT_EQ(options.caFile, base + "/ca.pem");
  EXPECT_EQ(options.certificate, "/etc/c.crt");
  EXPECT_EQ(options.key, base + "/c.key");
}

TEST(EtcdSection, EffectiveYamlLoadsAsTheSameConfig) {
  const Options all{.endpoints = {"https://[::1]:2379", "https://b:1"},
                    .prefix = "/jobs: $1",
                    .user = "u",
                    .passwordFile = "/p",
                    .caFile = "/c",
                    .certificate = "/d",
                    .key = "/e"};
  etcdSection.expectTheSameFromEffectiveYaml({Options{}, all});
}

TEST(EtcdSection, ThePageOfInitLoads) { EXPECT_EQ(etcdSection.ofSample().endpoints.size(), 3U); }

}  // namespace
}  // namespace tenure
