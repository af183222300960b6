// The Kubernetes store over a real API server. Each handle has its own connections and thread, as in another process.
#include "contract/store_contract.hpp"
#include "kubernetes/api_hand.hpp"
#include "lockcore/kubernetes/names.hpp"

namespace tenure::contract {
namespace {

using test::annotationsOf;
using test::ApiHand;

/// A namespace for each test.
class KubernetesServerFixture final : public StoreFixture {
 public:
  std::shared_ptr<LeaseStore> open() override { return makeKubernetesStore(test::adminOptions(namespace_)); }

  void eraseRecord(const LeaseKey& key) override {
    edit(key, [](auto& lease) { lease["spec"] = boost::json::object{}; });
  }
  void eraseCounter(const LeaseKey& key) override {
    edit(key, [](auto& lease) {
      annotationsOf(lease).erase("tenure.dev/counter");
      annotationsOf(lease).erase("tenure.dev/open-lease-ms");
    });
  }
  void corruptRecord(const LeaseKey& key) override {
    edit(key, [](auto& lease) { annotationsOf(lease)["tenure.dev/lease-ms"] = "-5"; });
  }
  void setToken(const LeaseKey& key, std::uint64_t token) override {
    edit(key, [token](auto& lease) {
      annotationsOf(lease)["tenure.dev/token"] = std::to_string(token);
      annotationsOf(lease)["tenure.dev/counter"] = std::to_string(token);
    });
  }

  bool hintsOfRenewals() const override { return false; }
  bool countsByOne() const override { return false; }

 private:
  void edit(const LeaseKey& key, const std::function<void(boost::json::object&)>& change) const {
    hand_.edit(kubernetes_store::objectNameOf(key), change);
  }

  const std::string namespace_ = ApiHand::freshNamespace();
  const ApiHand hand_{namespace_};
};

const StoreUnderTest kubernetes{"KubernetesServer", [] { return std::make_unique<KubernetesServerFixture>(); }};

INSTANTIATE_TEST_SUITE_P(KubernetesServer, StoreContract, testing::Values(kubernetes), storeName);
INSTANTIATE_TEST_SUITE_P(KubernetesServer, StoreRemoveContract, testing::Values(kubernetes), storeName);
INSTANTIATE_TEST_SUITE_P(KubernetesServer, StoreRecoverContract, testing::Values(kubernetes), storeName);
INSTANTIATE_TEST_SUITE_P(KubernetesServer, StoreWatchContract, testing::Values(kubernetes), storeName);
INSTANTIATE_TEST_SUITE_P(KubernetesServer, StoreOperatorContract, testing::Values(kubernetes), storeName);
INSTANTIATE_TEST_SUITE_P(KubernetesServer, StoreDurableContract, testing::Values(kubernetes), storeName);

/// Beside the longest names, and as long as the annotations allow.
TEST(KubernetesPayload, asManyDataAsTheStoreTakesAreRenewed) {
  KubernetesServerFixture fixture;
  const StoreCalls store{fixture.open(), std::make_shared<CallLedger>()};
  const LeaseKey key{std::string(maxLeaseNameBytes, 'n'), std::string(maxSortKeyBytes, 's')};
  const std::string most(std::size_t{168} << 10U, 'x');
  EXPECT_TRUE(store.raw().faultsOfPayload(key, most, {}).empty());
  EXPECT_EQ(store.raw().faultsOfPayload(key, most + 'x', {}).size(), 1U);
  const std::string holder(1'000, 'h');
  WriteRequest request = acquire(key, holder);
  request.record.data = most;
  store.apply(request);
  for (int i = 0; i < 2; ++i) {
    request = renew(key, holder, {store.record(key).version});
    request.record.data = most;
    store.apply(request);
  }
  EXPECT_EQ(store.record(key).data, most);
}

}  // namespace
}  // namespace tenure::contract
