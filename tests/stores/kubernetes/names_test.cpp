// Which object keeps a lease: names of objects as they are, and others so that no two leases have one.
#include "lockcore/kubernetes/names.hpp"

#include <set>

#include <gtest/gtest.h>

namespace tenure::kubernetes_store {
namespace {

TEST(KubernetesNames, aNameOfAnObjectIsItself) {
  for (const std::string& name : {std::string{"a"}, std::string{"billing-scheduler"}, std::string{"a.b-c.d0"},
                                  std::string{"0"}, std::string{"1e3"}, std::string(253, 'n')}) {
    EXPECT_TRUE(isObjectName(name)) << name;
    EXPECT_EQ(objectNameOf({name}), name);
    EXPECT_FALSE(isPlain({name, "0"})) << "with a sort key";
  }
  for (const std::string& name :
       {std::string{}, std::string{"A"}, std::string{"a_b"}, std::string{"-a"}, std::string{"a-"}, std::string{"a..b"},
        std::string{".a"}, std::string{"a."}, std::string{"a.-b"}, std::string{"a/b"}, std::string{"a b"},
        std::string{"\xC3\xA9"}, std::string(254, 'n')}) {
    EXPECT_FALSE(isObjectName(name)) << name;
  }
}

/// They are stored: another release must find the same objects.
TEST(KubernetesNames, otherNamesAreWrittenWithWhatIsAllowedAndAHash) {
  EXPECT_EQ(objectNameOf({"Billing Scheduler"}), "billing-scheduler-f561ed57");
  EXPECT_EQ(objectNameOf({"group", "member/0"}), "group-member-0-11b3b6f4");
  EXPECT_EQ(objectNameOf({"../../etc/passwd"}), "etc-passwd-7f6fe41d");
  EXPECT_EQ(objectNameOf({"#"}), "lease-5d5f61bb");
  EXPECT_EQ(objectNameOf({"кириллица", "値"}), "lease-9daa059a");
}

TEST(KubernetesNames, whateverTheLeaseIsCalledTheObjectHasAName) {
  std::set<std::string> names;
  const std::vector<LeaseKey> keys{{"Plain"},
                                   {"PLAIN"},
                                   {"plain "},
                                   {" plain"},
                                   {"ab", "c"},
                                   {"a", "bc"},
                                   {"a/b", "c"},
                                   {"a", "b/c"},
                                   {"a#b", "c"},
                                   {"a", "b#c"},
                                   {"a", " "},
                                   {"-"},
                                   {"--"},
                                   {std::string(2048, 'n'), std::string(1024, 's')},
                                   {std::string(2048, 'n'), std::string(1023, 's')},
                                   {std::string(243, 'n') + "_x"},
                                   {std::string(243, '-') + "_x"}};
  for (const LeaseKey& key : keys) {
    const std::string name = objectNameOf(key);
    EXPECT_TRUE(isObjectName(name)) << name;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
}

}  // namespace
}  // namespace tenure::kubernetes_store
