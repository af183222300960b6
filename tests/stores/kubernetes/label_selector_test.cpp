// Which selectors are taken.
#include "lockcore/kubernetes/label_selector.hpp"

#include <gtest/gtest.h>

namespace tenure::kubernetes_store {
namespace {

TEST(KubernetesSelector, byEqualityIsTaken) {
  for (const char* text : {"app=scheduler", "app==scheduler", "app=scheduler,tier!=test", "example.com/app=a_b.c-D",
                           "app=", "a=b, c=d", "c!=d,a=b"}) {
    EXPECT_EQ(faultOfSelector(text), "") << text;
  }
}

TEST(KubernetesSelector, ofAnotherShapeIsRefused) {
  for (const char* text : {"", ",", "app", "!app", "app in (a, b)", "a=b,", ",a=b", "a=b,,c=d", "a b=c", "a=b c", "=a",
                           "a===b", "a=!b", "a!==b", "a>1", "a=b&limit=1", "-a=b", "a/b/c=d"}) {
    EXPECT_NE(faultOfSelector(text).find("is not a selector by equality"), std::string::npos) << text;
  }
  EXPECT_NE(faultOfSelector("a=" + std::string(64, 'b')), "");
}

TEST(KubernetesSelector, thatFindsThePodsOfOthersIsRefused) {
  EXPECT_EQ(faultOfSelector("tier!=test"), "has no NAME=VALUE, so it finds the pods of others too");
}

TEST(KubernetesSelector, hasNoRole) {
  EXPECT_NE(faultOfSelector("app=a,tenure.dev/role=leader").find("has tenure.dev/role"), std::string::npos);
}

}  // namespace
}  // namespace tenure::kubernetes_store
