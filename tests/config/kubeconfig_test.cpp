// A kubeconfig file as kubectl and clouds write it, and what of it is refused by name.
#include <fstream>

#include <gtest/gtest.h>

#include <tenure/config/kubeconfig.hpp>

#include "support/temp_dir.hpp"

namespace tenure {
namespace {

/// As `kind` and `kubeadm` write it; the data are "authority", "certificate" and "key".
const std::string file = R"(apiVersion: v1
kind: Config
preferences: {}
current-context: kind
clusters:
- name: kind
  cluster:
    server: https://127.0.0.1:6443
    certificate-authority-data: YXV0aG9yaXR5
- name: cloud
  cluster:
    certificate-authority: pki/ca.crt
    server: https://cloud.example/k8s/clusters/c-1
    extensions:
    - name: client.authentication.k8s.io/exec
contexts:
- context: {cluster: kind, user: kind}
  name: kind
- context:
    cluster: cloud
    user: deploy
    namespace: production
  name: cloud
- context: {cluster: cloud, user: pod}
  name: pod
- context: {cluster: cloud, user: nobody}
  name: lost
- context: {user: kind}
  name: nowhere
- name: empty
users:
- name: kind
  user:
    client-certificate-data: Y2VydGlmaWNhdGU=
    client-key-data: a2V5
- name: deploy
  user:
    token: abc
- name: pod
  user:
    tokenFile: /var/run/token
    token: old
)";

KubernetesStoreOptions optionsOf(const std::string& text, const std::string& context = {},
                                 KubernetesStoreOptions given = {}) {
  auto options = kubernetesOptionsFromText(text, "/home/me/.kube/config", context, std::move(given));
  if (options.has_error()) throw std::runtime_error{toString(options.error())};
  return std::move(*options);
}

std::string faultsOfText(const std::string& text, const std::string& context = {}) {
  const auto options = kubernetesOptionsFromText(text, "config", context);
  return options.has_error() ? toString(options.error()) : "none";
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Kubeconfig, theCurrentContextWithData) {
  const KubernetesStoreOptions options = optionsOf(file);
  KubernetesStoreOptions expected{.server = "https://127.0.0.1:6443", .inNamespace = "default"};
  expected.caCertificates = "authority";
  expected.certificateText = "certificate";
  expected.keyText = "key";
  EXPECT_EQ(options, expected);
}

TEST(Kubeconfig, anotherContextWithATokenAndPaths) {
  const KubernetesStoreOptions options = optionsOf(file, "cloud");
  KubernetesStoreOptions expected{.server = "https://cloud.example/k8s/clusters/c-1", .inNamespace = "production"};
  expected.caFile = "/home/me/.kube/pki/ca.crt";
  expected.token = "abc";
  EXPECT_EQ(options, expected);
}

TEST(Kubeconfig, aTokensFileIsReadAsLongAsTheStoreLives) {
  const KubernetesStoreOptions options = optionsOf(file, "pod");
  EXPECT_EQ(options.tokenFile, "/var/run/token");
  EXPECT_EQ(options.token, "");
}

TEST(Kubeconfig, whatWasGivenStays) {
  KubernetesStoreOptions given{.inNamespace = "mine"};
  given.labels = {{"team", "payments"}};
  given.watches = false;
  const KubernetesStoreOptions options = optionsOf(file, "cloud", given);
  EXPECT_EQ(options.inNamespace, "mine");
  EXPECT_EQ(options.labels, given.labels);
  EXPECT_FALSE(options.watches);
}

TEST(Kubeconfig, isAlsoJson) {
  const std::string json = R"({"current-context":"a","clusters":[{"name":"a","cluster":{"server":"https://a"}}],)"
                           R"("contexts":[{"name":"a","context":{"cluster":"a","user":"","namespace":null}}]})";
  EXPECT_EQ(optionsOf(json).server, "https://a");
  EXPECT_EQ(optionsOf(json).inNamespace, "default");
}

TEST(Kubeconfig, namesThatAreNotThere) {
  EXPECT_EQ(faultsOfText(file, "clod"), "config:17:1: contexts: has no \"clod\"; did you mean \"cloud\"?");
  EXPECT_NE(faultsOfText(file, "lost").find("users: has no \"nobody\""), std::string::npos);
  EXPECT_NE(faultsOfText(file, "nowhere").find("clusters: the context names no cluster"), std::string::npos);
  EXPECT_NE(faultsOfText(file, "empty").find("contexts: has \"empty\" without a context"), std::string::npos);
  EXPECT_NE(faultsOfText(changed(file, "current-context: kind\n", "")).find("current-context: is missing"),
            std::string::npos);
}

TEST(Kubeconfig, aNameThatIsThereTwiceIsRefusedAsKubectlDoes) {
  for (const auto& [list, kind] : {std::pair{"clusters", "cluster"}, {"contexts", "context"}, {"users", "user"}}) {
    std::string twice = file;
    twice.insert(twice.find(std::string{list} + ":\n") + std::string_view{list}.size() + 2,
                 "- {name: kind, " + std::string{kind} + ": {server: https://elsewhere}}\n");
    const auto options = kubernetesOptionsFromText(twice, "config");
    ASSERT_TRUE(options.has_error()) << list;
    EXPECT_NE(toString(options.error()).find(std::string{list} + ": has \"kind\" twice"), std::string::npos)
        << toString(options.error());
  }
}

/// A store that leaves one of them out would be somebody else, or trust anybody.
TEST(Kubeconfig, otherWaysToBeSomebodyAreRefusedByName) {
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{{"exec", "{command: aws}"},
                                                                                   {"auth-provider", "{name: gcp}"},
                                                                                   {"username", "me"},
                                                                                   {"password", "sesame"},
                                                                                   {"as", "admin"},
                                                                                   {"as-uid", "7"},
                                                                                   {"as-groups", "[system:masters]"},
                                                                                   {"as-user-extra", "{a: [b]}"}}) {
    const std::string text = changed(file, "    token: abc\n", "    token: abc\n    " + key + ": " + value + "\n");
    const std::string faults = faultsOfText(text, "cloud");
    EXPECT_NE(faults.find(key + ": is not supported"), std::string::npos) << faults;
    EXPECT_EQ(faults.find("sesame"), std::string::npos) << faults;
    EXPECT_EQ(faultsOfText(text, "kind"), "none") << "of another user";
  }
  EXPECT_NE(faultsOfText(changed(file, "    token: abc\n", "    exec:\n      command: aws\n"), "cloud")
                .find("config:39:7: exec: is not supported: starts a program"),
            std::string::npos)
      << faultsOfText(changed(file, "    token: abc\n", "    exec:\n      command: aws\n"), "cloud");
}

TEST(Kubeconfig, waysAroundTheServersCertificateAreRefusedByName) {
  for (const char* line : {"insecure-skip-tls-verify: true", "tls-server-name: other", "proxy-url: http://proxy"}) {
    const std::string text =
        changed(file, "    certificate-authority: pki/ca.crt\n", std::string{"    "} + line + "\n");
    EXPECT_NE(faultsOfText(text, "cloud").find("is not supported"), std::string::npos) << line;
  }
  const std::string off =
      changed(file, "    certificate-authority: pki/ca.crt\n", "    insecure-skip-tls-verify: false\n");
  EXPECT_EQ(faultsOfText(off, "cloud"), "none");
}

TEST(Kubeconfig, whatIsMalformedIsToldWithItsPlace) {
  EXPECT_EQ(faultsOfText(changed(file, "YXV0aG9yaXR5", "YXV0aG9yaXR")),
            "config:9:33: certificate-authority-data: is not base64");
  EXPECT_NE(faultsOfText(changed(file, "server: https://127.0.0.1:6443", "server: [1]")).find("server: is no text"),
            std::string::npos);
  EXPECT_NE(faultsOfText(changed(file, "    server: https://127.0.0.1:6443\n", "")).find("server: is missing"),
            std::string::npos);
  EXPECT_NE(faultsOfText(changed(file, "https://127.0.0.1:6443", "127.0.0.1:6443")).find("server"), std::string::npos);
  EXPECT_NE(faultsOfText(changed(file, "    client-key-data: a2V5\n", "")).find("keyText: is missing"),
            std::string::npos);
  for (const std::string& text :
       {std::string{}, std::string{"[]"}, std::string{"a"}, std::string{"{"}, std::string{"\xFF"},
        std::string{"clusters: {}\ncontexts: 7\ncurrent-context: x\n"}}) {
    EXPECT_NE(faultsOfText(text), "none") << text;
  }
}

TEST(Kubeconfig, aFileIsReadAndHalvesOfACertificateMayBeFiles) {
  const test::TempDir directory;
  std::ofstream{directory.file("client.key")} << "from a file";
  std::ofstream{directory.file("config")} << changed(file, "client-key-data: a2V5", "client-key: client.key");
  const auto options = kubernetesOptionsFrom(directory.file("config"));
  ASSERT_TRUE(options.has_value()) << toString(options.error());
  EXPECT_EQ(options->certificateText, "certificate");
  EXPECT_EQ(options->keyText, "from a file");
  const auto none = kubernetesOptionsFrom(directory.file("another"));
  ASSERT_TRUE(none.has_error());
  EXPECT_NE(toString(none.error()).find("there is no such file; check the path of the kubeconfig file"),
            std::string::npos);
}

}  // namespace
}  // namespace tenure
