// The store section for Kubernetes: each key, a pod that needs none, a kubeconfig file, relative paths.
#include <fstream>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "config/store_section.hpp"
#include "support/temp_dir.hpp"

namespace tenure {
namespace {

const test::StoreSection<KubernetesConfig> kubernetesSection{"kubernetes"};

TEST(KubernetesSection, InAPodNothingIsRequired) { EXPECT_EQ(kubernetesSection.optionsOf(""), KubernetesConfig{}); }

TEST(KubernetesSection, EachKeyIsRead) {
  const auto read = kubernetesSection.optionsOf(
      "  server: https://10.0.0.1:6443\n  namespace: billing\n  ca_file: /etc/ca.pem\n  token_file: /etc/token\n"
      "  certificate: /etc/c.crt\n  key: /etc/c.key\n  labels: [team=billing, tier=]\n  watches: false\n");
  KubernetesConfig expected;
  expected.server = "https://10.0.0.1:6443";
  expected.inNamespace = "billing";
  expected.caFile = "/etc/ca.pem";
  expected.tokenFile = "/etc/token";
  expected.certificate = "/etc/c.crt";
  expected.key = "/etc/c.key";
  expected.labels = {{"team", "billing"}, {"tier", ""}};
  expected.watches = false;
  EXPECT_EQ(read, expected);
}

TEST(KubernetesSection, AKubeconfigFileHasServerAndUser) {
  const auto read =
      kubernetesSection.optionsOf("  kubeconfig: /home/me/.kube/config\n  context: production\n  namespace: billing\n");
  EXPECT_EQ(read.kubeconfig, "/home/me/.kube/config");
  EXPECT_EQ(read.context, "production");
  const std::string both =
      kubernetesSection.faultsIn("  kubeconfig: /k\n  server: https://a\n  namespace: n\n  token_file: /t\n");
  EXPECT_NE(both.find("group.yaml:5:11: store.server: is given, and so is a kubeconfig"), std::string::npos) << both;
  EXPECT_NE(both.find("store.token_file: is given, and so is a kubeconfig"), std::string::npos) << both;
  const std::string none = kubernetesSection.faultsIn("  context: production\n");
  EXPECT_NE(none.find("store.context: is given, and no kubeconfig that has it"), std::string::npos) << none;
}

TEST(KubernetesSection, FaultsOfTheOptionsNameTheirKeys) {
  const std::string faults = kubernetesSection.faultsIn("  server: https://a\n  labels: [\"a b=c\"]\n");
  EXPECT_NE(faults.find("store.namespace: is missing"), std::string::npos) << faults;
  EXPECT_NE(faults.find("store.labels: \"a b\": \"c\" is not a Kubernetes label"), std::string::npos) << faults;
  EXPECT_NE(kubernetesSection.faultsIn("  labels: [team]\n").find("\"team\" is not a label; write NAME=VALUE"),
            std::string::npos);
  EXPECT_NE(kubernetesSection.faultsIn("  labels: [a=b, a=c]\n").find("has the label \"a\" twice"), std::string::npos);
}

TEST(KubernetesSection, RelativePathsStartAtTheDirectoryOfTheFile) {
  const test::TempDir directory;
  const std::string base = directory.path().string();
  const auto options =
      kubernetesSection.optionsIn(directory,
                                  "  server: https://a\n  namespace: n\n  token_file: ./token\n  ca_file: "
                                  "x/../ca.pem\n  certificate: /etc/c.crt\n  key: c.key\n");
  EXPECT_EQ(options.tokenFile, base + "/token");
  EXPECT_EQ(options.caFile, base + "/ca.pem");
  EXPECT_EQ(options.certificate, "/etc/c.crt");
  EXPECT_EQ(options.key, base + "/c.key");
  EXPECT_EQ(kubernetesSection.optionsIn(directory, "  kubeconfig: kube/config\n").kubeconfig, base + "/kube/config");
  EXPECT_EQ(kubernetesSection.optionsIn(directory, "  kubeconfig: \"kube/config:/etc/kube::x\"\n").kubeconfig,
            base + "/kube/config:/etc/kube::" + base + "/x");
  std::ofstream{directory.file("a:b.yaml")} << "{}\n";
  EXPECT_EQ(kubernetesSection.optionsIn(directory, "  kubeconfig: \"a:b.yaml\"\n").kubeconfig, base + "/a:b.yaml");
}

TEST(KubernetesSection, EffectiveYamlLoadsAsTheSameConfig) {
  KubernetesConfig byFile;
  byFile.kubeconfig = "/k: $1";
  byFile.context = "c";
  byFile.labels = {{"a.example/b", "c"}, {"d", ""}};
  KubernetesConfig byKeys;
  byKeys.server = "https://[::1]:6443";
  byKeys.inNamespace = "n";
  byKeys.watches = false;
  kubernetesSection.expectTheSameFromEffectiveYaml({KubernetesConfig{}, byFile, byKeys});
}

TEST(KubernetesSection, ThePageOfInitLoads) { static_cast<void>(kubernetesSection.ofSample()); }

/// Server and user of the file are used; its faults are told with their places when the store is made.
TEST(KubernetesSection, TheKubeconfigFileIsReadWhenTheStoreIsMade) {
  const test::TempDir directory;
  const std::string file = (directory.path() / "kubeconfig").string();
  KubernetesConfig config;
  config.kubeconfig = file;
  test::writeFile(
      file,
      "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u, namespace: jobs}}]\n"
      "clusters: [{name: k, cluster: {server: 'https://10.0.0.1:6443'}}]\nusers: [{name: u, user: {token: t}}]\n");
  EXPECT_EQ(makeStore(config)->describe(), "Kubernetes at https://10.0.0.1:6443, namespace jobs");
  config.inNamespace = "other";
  EXPECT_EQ(makeStore(config)->describe(), "Kubernetes at https://10.0.0.1:6443, namespace other");
  config.context = "d";
  try {
    static_cast<void>(makeStore(config));
    FAIL() << "there is no such context";
  } catch (const std::runtime_error& fault) {
    EXPECT_NE(std::string{fault.what()}.find(file + ":2:11: contexts: has no \"d\""), std::string::npos)
        << fault.what();
  }
}

}  // namespace
}  // namespace tenure
