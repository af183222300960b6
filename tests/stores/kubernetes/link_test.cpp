// What a pod has, the user's token, and the options.
#include <filesystem>
#include <fstream>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include <tenure/testing/manual_runtime.hpp>

#include "lockcore/kubernetes/bearer_token.hpp"
#include "lockcore/kubernetes/http_gateway.hpp"
#include "lockcore/kubernetes/pod.hpp"
#include "support/temp_dir.hpp"

namespace tenure::kubernetes_store {
namespace {

using namespace std::chrono_literals;

class KubernetesToken : public testing::Test {
 protected:
  void write(const std::string& text) const { std::ofstream{file_} << text; }

  const test::TempDir directory_{};
  const std::string file_ = directory_.file("token");
  const std::shared_ptr<test::ManualScheduler> scheduler_ = std::make_shared<test::ManualScheduler>();
  BearerToken token_{file_, "", scheduler_->clock()};
};

TEST_F(KubernetesToken, isReadAgainEachMinute) {
  write("first\n");
  EXPECT_EQ(token_.show().value(), "first");
  write("second");
  scheduler_->advance(59s);
  EXPECT_EQ(token_.show().value(), "first");
  scheduler_->advance(1s);
  EXPECT_EQ(token_.show().value(), "second");
}

TEST_F(KubernetesToken, isReadAgainAfterARejection) {
  write("first");
  EXPECT_EQ(token_.show().value(), "first");
  EXPECT_FALSE(token_.replaced("first")) << "it is still the same";
  write("second");
  EXPECT_TRUE(token_.replaced("first"));
  EXPECT_EQ(token_.show().value(), "second");
  EXPECT_TRUE(token_.replaced("first")) << "of a request that was under way meanwhile";
}

TEST_F(KubernetesToken, thatCannotBeReadLeavesTheLastOneInUse) {
  const auto none = token_.show();
  ASSERT_TRUE(none.has_error());
  EXPECT_EQ(none.error().errorClass, ErrorClass::credentials);
  EXPECT_NE(none.error().message.find(file_), std::string::npos) << none.error().message;
  write("first");
  EXPECT_EQ(token_.show().value(), "first") << "it is asked for at each call until there is one";
  std::filesystem::remove(file_);
  scheduler_->advance(61s);
  EXPECT_EQ(token_.show().value(), "first");
}

TEST_F(KubernetesToken, ofAFileThatIsNotThereIsTheConstantOne) {
  BearerToken token{file_, "constant", scheduler_->clock()};
  EXPECT_EQ(token.show().value(), "constant");
  write("first");
  EXPECT_TRUE(token.replaced("constant")) << "the server has refused it";
  EXPECT_EQ(token.show().value(), "first");
  std::filesystem::remove(file_);
  scheduler_->advance(61s);
  EXPECT_EQ(token.show().value(), "first");
}

TEST_F(KubernetesToken, isNotWaitedForWhereItIsAPipe) {
  write("first");
  EXPECT_EQ(token_.show().value(), "first");
  std::filesystem::remove(file_);
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  scheduler_->advance(61s);
  EXPECT_EQ(token_.show().value(), "first");
  const auto fresh = BearerToken{file_, "", scheduler_->clock()}.show();
  ASSERT_TRUE(fresh.has_error());
  EXPECT_EQ(fresh.error().message, "the token file " + file_ + " is not a regular file");
}

TEST_F(KubernetesToken, isOneWordAndNeverShown) {
  for (const std::string& text : {std::string{}, std::string{" \n"}, std::string{"sesame open"},
                                  std::string{"sesame\nopen"}, std::string("sesame\0x", 8), std::string{"sésame"}}) {
    write(text);
    const auto shown = token_.show();
    ASSERT_TRUE(shown.has_error()) << text;
    EXPECT_EQ(shown.error().message.find("same"), std::string::npos) << shown.error().message;
  }
}

TEST(KubernetesConstantToken, isWhatItIs) {
  BearerToken constant{"", "abc", systemClock()};
  EXPECT_EQ(constant.show().value(), "abc");
  EXPECT_FALSE(constant.replaced("abc"));
  BearerToken none{"", "", systemClock()};
  EXPECT_EQ(none.show().value(), "");
}

class KubernetesPod : public testing::Test {
 protected:
  [[nodiscard]] StoreResult<KubernetesStoreOptions> complete(KubernetesStoreOptions options) const {
    options.serviceAccount = directory_.path().string();
    return completed(std::move(options), [this](const char* name) {
      const auto found = environment_.find(name);
      return found != environment_.end() ? found->second : std::string{};
    });
  }

  const test::TempDir directory_{};
  std::map<std::string, std::string> environment_{{"KUBERNETES_SERVICE_HOST", "10.0.0.1"},
                                                  {"KUBERNETES_SERVICE_PORT", "443"}};
};

TEST_F(KubernetesPod, isNamedByItsVariableBeforeTheServiceAccount) {
  environment_["POD_NAMESPACE"] = "billing";
  EXPECT_EQ(complete({})->inNamespace, "billing");
  std::ofstream{directory_.file("namespace")} << "production\n";
  EXPECT_EQ(complete({})->inNamespace, "billing");
  EXPECT_EQ(complete({.inNamespace = "mine"})->inNamespace, "mine");
}

TEST_F(KubernetesPod, tellsServerAuthorityTokenAndNamespace) {
  std::ofstream{directory_.file("namespace")} << "production\n";
  std::ofstream{directory_.file("ca.crt")} << "PEM";
  const auto options = complete({});
  ASSERT_TRUE(options.has_value()) << options.error().message;
  EXPECT_EQ(options->server, "https://10.0.0.1:443");
  EXPECT_EQ(options->inNamespace, "production");
  EXPECT_EQ(options->caFile, directory_.file("ca.crt"));
  EXPECT_EQ(options->tokenFile, directory_.file("token"));
  EXPECT_TRUE(faultsOf(*options).empty());
}

TEST_F(KubernetesPod, withoutAuthoritiesTrustsThoseOfTheSystem) {
  std::ofstream{directory_.file("namespace")} << "production\n";
  EXPECT_EQ(complete({}).value().caFile, "") << "as client-go does";
}

TEST_F(KubernetesPod, givesOnlyWhatTheOptionsDoNot) {
  const auto options = complete({.inNamespace = "other", .caCertificates = "PEM", .token = "t"});
  ASSERT_TRUE(options.has_value()) << options.error().message;
  EXPECT_EQ(options->inNamespace, "other");
  EXPECT_EQ(options->caFile, "");
  EXPECT_EQ(options->tokenFile, "");
  environment_["KUBERNETES_SERVICE_HOST"] = "fd00::1";
  environment_.erase("KUBERNETES_SERVICE_PORT");
  EXPECT_EQ(complete({.inNamespace = "x"})->server, "https://[fd00::1]");
  environment_.clear();
  EXPECT_EQ(complete({.server = "https://a", .inNamespace = "x"})->tokenFile, "") << "it is not in the pod's cluster";
}

TEST_F(KubernetesPod, isNotEverywhere) {
  EXPECT_NE(complete({}).error().message.find(directory_.file("namespace")), std::string::npos);
  environment_.clear();
  EXPECT_NE(complete({}).error().message.find("KUBERNETES_SERVICE_HOST"), std::string::npos);
}

void expectFault(const KubernetesStoreOptions& options, const std::string& field, const std::string& words) {
  const OptionFaults faults = faultsOf(options);
  ASSERT_EQ(faults.size(), 1U) << words;
  EXPECT_EQ(faults[0].field, field);
  EXPECT_NE(faults[0].message.find(words), std::string::npos) << faults[0].message;
}

KubernetesStoreOptions good() {
  KubernetesStoreOptions options{.server = "https://a:6443/k8s/clusters/c-1", .inNamespace = "production"};
  options.labels = {{"team", "payments"}, {"example.com/role", ""}};
  return options;
}

TEST(KubernetesOptions, goodOnes) {
  EXPECT_TRUE(faultsOf(KubernetesStoreOptions{}).empty()) << "in a pod";
  EXPECT_TRUE(faultsOf(good()).empty());
  KubernetesStoreOptions more = good();
  more.caFile = "c";
  more.tokenFile = "t";
  more.certificate = "d";
  more.key = "e";
  more.token = "f";
  more.serverName = "::1";
  more.proxy = "http://me:secret@proxy.test:3128";
  EXPECT_TRUE(faultsOf(more).empty());
}

TEST(KubernetesOptions, faults) {
  const auto with = [](const auto& change) {
    KubernetesStoreOptions options = good();
    change(options);
    return options;
  };
  expectFault(with([](auto& o) { o.server = "a:6443"; }), "server", "http");
  expectFault(with([](auto& o) { o.server = "https://a/?x=y"; }), "server", "has a query");
  expectFault(with([](auto& o) { o.inNamespace = ""; }), "inNamespace", "is missing");
  expectFault(with([](auto& o) { o.inNamespace = "Prod"; }), "inNamespace", "is not a namespace");
  expectFault(with([](auto& o) { o.inNamespace = "a.b"; }), "inNamespace", "is not a namespace");
  expectFault(with([](auto& o) { o.inNamespace = std::string(64, 'n'); }), "inNamespace", "up to 63");
  expectFault(with([](auto& o) { o.caFile = o.caCertificates = "x"; }), "caCertificates", "so is caFile");
  expectFault(with([](auto& o) { o.serverName = "a/b"; }), "serverName", "is not a host name");
  expectFault(with([](auto& o) { o.serverName = "a:b"; }), "serverName", "is not a host name");
  expectFault(with([](auto& o) { o.proxy = "proxy.test:3128"; }), "proxy", "must begin with http://");
  expectFault(with([](auto& o) { o.proxy = "socks5://proxy.test"; }), "proxy", "begins with socks5://");
  expectFault(with([](auto& o) { o.certificate = "x"; }), "key", "is missing");
  expectFault(with([](auto& o) { o.key = "x"; }), "certificate", "is missing");
  expectFault(with([](auto& o) { o.certificateText = "x"; }), "keyText", "is missing");
  expectFault(with([](auto& o) { o.keyText = "x"; }), "certificateText", "is missing");
  expectFault(with([](auto& o) { o.token = "a b"; }), "token", "white space");
  expectFault(with([](auto& o) { o.tokenFile = std::string("c\0d", 3); }), "tokenFile", "NUL");
  expectFault(with([](auto& o) { o.labels = {{"app.kubernetes.io/managed-by", "me"}}; }), "labels", "the store's own");
  expectFault(with([](auto& o) { o.labels = {{"a b", "c"}}; }), "labels", "is not a Kubernetes label");
  expectFault(with([](auto& o) { o.labels = {{"a/b/c", "c"}}; }), "labels", "is not a Kubernetes label");
  expectFault(with([](auto& o) { o.labels = {{"a", "-c"}}; }), "labels", "is not a Kubernetes label");
  expectFault(with([](auto& o) { o.labels = {{"a", std::string(64, 'c')}}; }), "labels", "is not a Kubernetes label");
  // A token over plain http would be anybody's.
  expectFault(with([](auto& o) {
                o.server = "http://a";
                o.token = "x";
              }),
              "token", "needs TLS");
  expectFault(with([](auto& o) {
                o.server = "http://a";
                o.caFile = "x";
              }),
              "caFile", "needs TLS");
}

TEST(KubernetesOptions, aSecretIsNotShown) {
  KubernetesStoreOptions options = good();
  options.token = "sesame open";
  options.server = "https://user:sesame@a";
  for (const OptionFault& fault : faultsOf(options)) {
    EXPECT_EQ(fault.message.find("sesame"), std::string::npos) << fault.message;
  }
  EXPECT_THROW(static_cast<void>(makeKubernetesStore(options)), std::invalid_argument);
}

}  // namespace
}  // namespace tenure::kubernetes_store
