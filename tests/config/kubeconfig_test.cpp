// A kubeconfig file as kubectl and clouds write it, and what of it is refused by name.
#include <fstream>

#include <gtest/gtest.h>

#include <tenure/config/load_group.hpp>

#include "config/test_files.hpp"
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

/// A home with the file that the cloud's cluster names.
class Kubeconfig : public ::testing::Test {
 protected:
  Kubeconfig() {
    std::filesystem::create_directory(home_.path() / "pki");
    std::ofstream{home_.file("pki/ca.crt")} << "of the cloud";
  }

  KubernetesStoreOptions optionsOf(const std::string& text, const std::string& context = {},
                                   KubernetesStoreOptions given = {}) const {
    auto options = kubernetesOptionsFromText(text, home_.file("config"), context, std::move(given));
    if (options.has_error()) throw std::runtime_error{toString(options.error())};
    return std::move(*options);
  }

  /// Without the directory.
  std::string faultsOfText(const std::string& text, const std::string& context = {}) const {
    const auto options = kubernetesOptionsFromText(text, home_.file("config"), context);
    std::string faults = options.has_error() ? toString(options.error()) : "none";
    const std::string start = home_.path().string() + '/';
    for (auto at = faults.find(start); at != std::string::npos; at = faults.find(start)) faults.erase(at, start.size());
    return faults;
  }

  const test::TempDir home_{};
};

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST_F(Kubeconfig, theCurrentContextWithData) {
  const KubernetesStoreOptions options = optionsOf(file);
  KubernetesStoreOptions expected{.server = "https://127.0.0.1:6443", .inNamespace = "default"};
  expected.caCertificates = "authority";
  expected.certificateText = "certificate";
  expected.keyText = "key";
  EXPECT_EQ(options, expected);
}

TEST_F(Kubeconfig, anotherContextWithATokenAndPaths) {
  const KubernetesStoreOptions options = optionsOf(file, "cloud");
  KubernetesStoreOptions expected{.server = "https://cloud.example/k8s/clusters/c-1", .inNamespace = "production"};
  expected.caFile = home_.file("pki/ca.crt");
  expected.token = "abc";
  EXPECT_EQ(options, expected);
}

TEST_F(Kubeconfig, aTokensFileIsReadAsLongAsTheStoreLives) {
  const KubernetesStoreOptions options = optionsOf(file, "pod");
  EXPECT_EQ(options.tokenFile, "/var/run/token");
  EXPECT_EQ(options.token, "old") << "while the file cannot be read";
}

TEST_F(Kubeconfig, whatWasGivenStays) {
  KubernetesStoreOptions given{.inNamespace = "mine"};
  given.labels = {{"team", "payments"}};
  given.watches = false;
  const KubernetesStoreOptions options = optionsOf(file, "cloud", given);
  EXPECT_EQ(options.inNamespace, "mine");
  EXPECT_EQ(options.labels, given.labels);
  EXPECT_FALSE(options.watches);
}

TEST_F(Kubeconfig, isAlsoJson) {
  const std::string json = R"({"current-context":"a","clusters":[{"name":"a","cluster":{"server":"https://a"}}],)"
                           R"("contexts":[{"name":"a","context":{"cluster":"a","user":"","namespace":null}}]})";
  EXPECT_EQ(optionsOf(json).server, "https://a");
  EXPECT_EQ(optionsOf(json).inNamespace, "default");
}

TEST_F(Kubeconfig, namesThatAreNotThere) {
  EXPECT_EQ(faultsOfText(file, "clod"), "config:17:1: contexts: has no \"clod\"; did you mean \"cloud\"?");
  EXPECT_EQ(faultsOfText(file, "nowhere"), "config:28:3: contexts[nowhere].context.cluster: is missing");
  EXPECT_EQ(faultsOfText(file, "empty"), "config:30:3: contexts[empty].context.cluster: is missing");
  EXPECT_EQ(faultsOfText(changed(file, "current-context: kind\n", "")),
            "config:1:1: current-context: is missing, and no context was named");
  EXPECT_EQ(faultsOfText(changed(file, "current-context: kind", "current-context: kin")),
            "config:4:18: current-context: contexts has no \"kin\"; did you mean \"kind\"?");
  EXPECT_EQ(faultsOfText(changed(file, "{cluster: kind,", "{cluster: kin,")),
            "config:17:22: contexts[kind].context.cluster: clusters has no \"kin\"; did you mean \"kind\"?");
}

/// A context may name no user, or one that is not there.
TEST_F(Kubeconfig, withoutAUserTheServerIsAskedWithoutOne) {
  const KubernetesStoreOptions options = optionsOf(file, "lost");
  EXPECT_EQ(options.caFile, home_.file("pki/ca.crt"));
  EXPECT_EQ(options.token + options.tokenFile + options.certificate + options.certificateText, "");
}

TEST_F(Kubeconfig, aNameThatIsThereTwiceIsRefusedAsKubectlDoes) {
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
TEST_F(Kubeconfig, otherWaysToBeSomebodyAreRefusedByName) {
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{{"exec", "{command: aws}"},
                                                                                   {"auth-provider", "{name: gcp}"},
                                                                                   {"username", "me"},
                                                                                   {"password", "sesame"},
                                                                                   {"as", "admin"},
                                                                                   {"as-uid", "seven"},
                                                                                   {"as-groups", "[system:masters]"},
                                                                                   {"as-user-extra", "{a: [b]}"}}) {
    const std::string text = changed(file, "    token: abc\n", "    token: abc\n    " + key + ": " + value + "\n");
    const std::string faults = faultsOfText(text, "cloud");
    EXPECT_NE(faults.find(key + ": is not supported"), std::string::npos) << faults;
    EXPECT_EQ(faults.find("sesame"), std::string::npos) << faults;
    EXPECT_EQ(faultsOfText(text, "kind"), "none") << "of another user";
  }
  EXPECT_NE(faultsOfText(changed(file, "    token: abc\n", "    exec:\n      command: aws\n"), "cloud")
                .find("config:39:7: users[deploy].user.exec: is not supported: starts a program"),
            std::string::npos)
      << faultsOfText(changed(file, "    token: abc\n", "    exec:\n      command: aws\n"), "cloud");
}

TEST_F(Kubeconfig, waysAroundTheServersCertificateAreRefusedByName) {
  const std::string on =
      changed(file, "    certificate-authority: pki/ca.crt\n", "    insecure-skip-tls-verify: yes\n");
  EXPECT_EQ(
      faultsOfText(on, "cloud").find("config:12:31: clusters[cloud].cluster.insecure-skip-tls-verify: is not supp"), 0U)
      << faultsOfText(on, "cloud");
  const std::string off =
      changed(file, "    certificate-authority: pki/ca.crt\n", "    insecure-skip-tls-verify: false\n");
  EXPECT_EQ(faultsOfText(off, "cloud"), "none");
}

TEST_F(Kubeconfig, whatIsMalformedIsToldWithItsPlace) {
  EXPECT_EQ(faultsOfText(changed(file, "YXV0aG9yaXR5", "YXV0aG9yaXR")),
            "config:9:33: clusters[kind].cluster.certificate-authority-data: is not base64");
  EXPECT_NE(faultsOfText(changed(file, "server: https://127.0.0.1:6443", "server: [1]"))
                .find("server: is a list, and must be text"),
            std::string::npos);
  EXPECT_NE(faultsOfText(changed(file, "    server: https://127.0.0.1:6443\n", "")).find("server: is missing"),
            std::string::npos);
  EXPECT_EQ(faultsOfText(changed(file, "https://127.0.0.1:6443", "https://127.0.0.1:port")),
            "config:8:13: clusters[kind].cluster.server: \"https://127.0.0.1:port\" has no valid port; it must be 1 to "
            "65535");
  EXPECT_EQ(faultsOfText(changed(file, "    client-key-data: a2V5\n", "")),
            "config:32:3: users[kind].user: has a client-certificate, and no client-key for it");
  for (const std::string& text :
       {std::string{}, std::string{"[]"}, std::string{"a"}, std::string{"{"}, std::string{"\xFF"},
        std::string{"clusters: {}\ncontexts: 7\ncurrent-context: x\n"}}) {
    EXPECT_NE(faultsOfText(text), "none") << text;
  }
}

TEST_F(Kubeconfig, aFileIsReadAndHalvesOfACertificateMayBeFiles) {
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

/// client-go shows a certificate for another name than the server's host, behind a tunnel or a balancer.
TEST_F(Kubeconfig, theNameOfTheCertificateAndAProxy) {
  const std::string text = changed(file, "    server: https://127.0.0.1:6443\n",
                                   "    server: https://127.0.0.1:6443\n    tls-server-name: kubernetes.default\n"
                                   "    proxy-url: http://me:s3same@proxy.test:3128\n");
  EXPECT_EQ(optionsOf(text).serverName, "kubernetes.default");
  EXPECT_EQ(optionsOf(text).proxy, "http://me:s3same@proxy.test:3128");
  const std::string wrong = faultsOfText(changed(text, "http://me:s3same", "socks5://me:s3same"));
  EXPECT_EQ(wrong.find("config:10:16: clusters[kind].cluster.proxy-url: the proxy's URL begins with socks5://"), 0U)
      << wrong;
  EXPECT_EQ(wrong.find("s3same"), std::string::npos);
  EXPECT_EQ(faultsOfText(changed(text, "kubernetes.default", "\"a/b\"")),
            "config:9:22: clusters[kind].cluster.tls-server-name: \"a/b\" is not a host name");
}

TEST_F(Kubeconfig, whatCannotBeText) {
  EXPECT_EQ(faultsOfText(changed(file, "token: abc", "token: 0x1f"), "cloud"),
            "config:38:12: users[deploy].user.token: is a number, and must be text; put it into quotes");
  EXPECT_EQ(faultsOfText(changed(file, "token: abc", "token: yes")),
            "config:38:12: users[deploy].user.token: is a boolean, and must be text; put it into quotes")
      << "of a user that the context does not name";
  EXPECT_EQ(faultsOfText(file + "kind: Secret\n"),
            "config:43:7: kind: is \"Secret\"; that of a kubeconfig file is Config");
}

/// Clouds write files of several MiB.
TEST_F(Kubeconfig, aLargeFileIsRead) {
  std::string text = file;
  const std::string more = "- name: more\n  user: {token: " + std::string(1000, 'x') + "}\n";
  for (int i = 0; i < 3000; ++i) text += changed(more, "more", "more" + std::to_string(i));
  std::ofstream{home_.file("config")} << text;
  EXPECT_GT(text.size(), std::size_t{3'000'000});
  const auto options = kubernetesOptionsFrom(home_.file("config"));
  ASSERT_TRUE(options.has_value()) << toString(options.error());
  EXPECT_EQ(options->certificateText, "certificate");
}

/// A few lines can ask for a billion values, or for a value within itself.
TEST_F(Kubeconfig, aliasesAreBounded) {
  std::string text = file + "l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string before = "*l" + std::to_string(i - 1);
    text += "l" + std::to_string(i) + ": &l" + std::to_string(i) + " [" + before;
    for (int k = 0; k < 9; ++k) text += ", " + before;
    text += "]\n";
  }
  EXPECT_NE(faultsOfText(text).find("its aliases stand for too many values"), std::string::npos);
  std::string deep = file + "d0: &d0 x\n";
  for (int i = 1; i < 60; ++i) {
    deep += "d" + std::to_string(i) + ": &d" + std::to_string(i) + " " + std::string(30, '[') + "*d" +
            std::to_string(i - 1) + std::string(30, ']') + "\n";
  }
  EXPECT_NE(faultsOfText(deep).find("nested more than 1000 levels deep"), std::string::npos) << faultsOfText(deep);
  EXPECT_NE(faultsOfText("a: &a {b: *a}\n").find("contains its own alias"), std::string::npos);
  std::string big = file + "big: &big " + std::string(1U << 20U, 'x') + "\nlist:\n";
  for (int i = 0; i < 20; ++i) big += "- *big\n";
  EXPECT_NE(faultsOfText(big).find("its aliases stand for too much text"), std::string::npos);
}

TEST_F(Kubeconfig, aListNamesTheFileOfEachFault) {
  std::ofstream{home_.file("one")} << file;
  std::ofstream{home_.file("two")} << "users: [{name: kind}]\nclusters: 7\n";
  const auto faulty = kubernetesOptionsFrom(home_.file("one") + ":" + home_.file("none") + ":" + home_.file("two"));
  ASSERT_TRUE(faulty.has_error());
  EXPECT_EQ(toString(faulty.error()), home_.file("two") + ":2:11: clusters: is a number, and must be a list");
  const auto none = kubernetesOptionsFrom(home_.file("x") + ":" + home_.file("y"));
  ASSERT_TRUE(none.has_error());
  EXPECT_EQ(toString(none.error()), home_.file("x") + ":" + home_.file("y") +
                                        ": there is none of these files; check the path of the kubeconfig file");
}

TEST_F(Kubeconfig, aFileWithAColonInItsNameIsNoList) {
  std::ofstream{home_.file("one:two")} << file;
  EXPECT_TRUE(kubernetesOptionsFrom(home_.file("one:two")).has_value());
}

/// As in client-go: where neither the file nor the configuration names one, a pod's own namespace counts.
TEST_F(Kubeconfig, inAPodTheNamespaceThatNobodyNamesIsThePods) {
  const KubernetesStoreOptions given{.serviceAccount = home_.file("account")};
  const auto found = [&](const std::string& context) { return optionsOf(file, context, given).inNamespace; };
  std::filesystem::create_directory(given.serviceAccount);
  std::ofstream{given.serviceAccount + "/namespace"} << "jobs\n";
  test::setVariable("KUBERNETES_SERVICE_HOST", "10.0.0.1");
  test::setVariable("KUBERNETES_SERVICE_PORT", "443");
  EXPECT_EQ(found("kind"), "default") << "without a token this is no pod that could use its account";
  std::ofstream{given.serviceAccount + "/token"} << "t";
  EXPECT_EQ(found("kind"), "jobs");
  EXPECT_EQ(found("cloud"), "production");
  const std::string none = home_.file("x") + ":" + home_.file("y");
  ASSERT_TRUE(kubernetesOptionsFrom(none, "", given).has_value()) << "a list of which no file exists leaves all to it";
  EXPECT_EQ(kubernetesOptionsFrom(none, "", given)->server, "");
  EXPECT_TRUE(kubernetesOptionsFrom(none, "kind", given).has_error());
  test::setVariable("POD_NAMESPACE", "billing");
  EXPECT_EQ(found("kind"), "billing");
  test::unsetVariable("POD_NAMESPACE");
  std::filesystem::remove(given.serviceAccount + "/namespace");
  EXPECT_EQ(found("kind"), "default");
  test::unsetVariable("KUBERNETES_SERVICE_PORT");
  EXPECT_EQ(found("kind"), "default");
  test::unsetVariable("KUBERNETES_SERVICE_HOST");
}

}  // namespace
}  // namespace tenure
