// Every fault of the options is told with its field, and none with a secret.
#include <gtest/gtest.h>

#include <tenure/lockcore/stores/etcd_store.hpp>

namespace tenure {
namespace {

void expectFault(const EtcdStoreOptions& options, const std::string& field, const std::string& words) {
  const OptionFaults faults = faultsOf(options);
  ASSERT_EQ(faults.size(), 1U) << words;
  EXPECT_EQ(faults[0].field, field);
  EXPECT_NE(faults[0].message.find(words), std::string::npos) << faults[0].message;
}

TEST(EtcdOptions, goodOnes) {
  EXPECT_TRUE(faultsOf(EtcdStoreOptions{}).empty());
  EXPECT_TRUE(faultsOf({.endpoints = {"https://a:2379", "https://b:2379/", "https://[::1]:2379"},
                        .prefix = "/jobs",
                        .user = "u",
                        .passwordFile = "p",
                        .caFile = "c",
                        .certificate = "d",
                        .key = "e"})
                  .empty());
}

TEST(EtcdOptions, faults) {
  expectFault({.endpoints = {}}, "endpoints", "is empty");
  expectFault({.endpoints = {"etcd1:2379"}}, "endpoints", "http://");
  expectFault({.endpoints = {"http://a/v3"}}, "endpoints", "has a path");
  expectFault({.endpoints = {"http://a:1", "http://a:1/"}}, "endpoints", "twice");
  expectFault({.endpoints = {"http://a:1", "https://b:1"}}, "endpoints", "TLS or none");
  expectFault({.prefix = ""}, "prefix", "1 to 512");
  expectFault({.prefix = "tenure"}, "prefix", "begin with a slash");
  expectFault({.prefix = "/tenure/"}, "prefix", "not end in one");
  expectFault({.prefix = "/tenure/lease"}, "prefix", "a part /lease");
  expectFault({.prefix = "/tenure/fence/x"}, "prefix", "a part /lease or /fence");
  EXPECT_TRUE(faultsOf({.prefix = "/leases/my-fence"}).empty());
  expectFault({.user = "u"}, "passwordFile", "is missing");
  expectFault({.passwordFile = "p"}, "user", "is missing");
  expectFault({.endpoints = {"https://a"}, .certificate = "c"}, "key", "is missing");
  expectFault({.endpoints = {"https://a"}, .key = "c"}, "certificate", "is missing");
  expectFault({.caFile = "c"}, "caFile", "needs TLS");
  expectFault({.endpoints = {"HTTP://a"}, .caFile = "c"}, "caFile", "needs TLS");
  expectFault({.endpoints = {"https://a"}, .caFile = std::string("c\0d", 3)}, "caFile", "NUL");
}

TEST(EtcdOptions, aPasswordInAUrlIsNotShown) {
  const OptionFaults faults = faultsOf({.endpoints = {"http://user:sesame@a:1"}});
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].message.find("sesame"), std::string::npos) << faults[0].message;
}

}  // namespace
}  // namespace tenure
