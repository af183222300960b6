// Requests, byte for byte: the server drops a field that it does not know, and a selector that is not there selects
// all.
#include "lockcore/kubernetes/requests.hpp"

#include <gtest/gtest.h>

namespace tenure::kubernetes_store {
namespace {

const Requests requests{"production"};
const std::string leases = "/apis/coordination.k8s.io/v1/namespaces/production/leases";

TEST(KubernetesRequests, ofOneLease) {
  const Request get = requests.get("billing");
  EXPECT_EQ(get.method, "GET");
  EXPECT_EQ(get.target, leases + "/billing") << "with a resourceVersion it would be no linearizable read";
  const Request create = requests.create("{1}");
  EXPECT_EQ(create.method + ' ' + create.target + ' ' + create.body, "POST " + leases + " {1}");
  EXPECT_FALSE(create.yields);
  const Request update = requests.update("billing", "{2}");
  EXPECT_EQ(update.method + ' ' + update.target + ' ' + update.body, "PUT " + leases + "/billing {2}");
  EXPECT_FALSE(update.yields) << "a renewal cannot wait until the server has time";
}

TEST(KubernetesRequests, listings) {
  const std::string ours = "?labelSelector=app.kubernetes.io%2Fmanaged-by%3Dtenure&limit=100";
  EXPECT_EQ(requests.list({}, 100, "").target, leases + ours);
  EXPECT_EQ(requests.list({}, 100, "ab+/=&").target, leases + ours + "&continue=ab%2B%2F%3D%26");
  EXPECT_EQ(requests.list({"billing"}, 1, "").target, leases + "?fieldSelector=metadata.name%3Dbilling&limit=1");
}

TEST(KubernetesRequests, watches) {
  EXPECT_EQ(requests.watch({}, "41"), leases +
                                          "?watch=1&labelSelector=app.kubernetes.io%2Fmanaged-by%3Dtenure"
                                          "&resourceVersion=41&allowWatchBookmarks=true&timeoutSeconds=300");
  EXPECT_EQ(requests.watch({"billing"}, "41"), leases +
                                                   "?watch=1&fieldSelector=metadata.name%3Dbilling"
                                                   "&resourceVersion=41&allowWatchBookmarks=true&timeoutSeconds=300");
}

TEST(KubernetesRequests, theQuestionForTheUsersRights) {
  const Request rules = requests.rules();
  EXPECT_EQ(rules.method, "POST");
  EXPECT_EQ(rules.target, "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews");
  EXPECT_EQ(rules.body, R"({"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectRulesReview",)"
                        R"("spec":{"namespace":"production"}})");
}

}  // namespace
}  // namespace tenure::kubernetes_store
