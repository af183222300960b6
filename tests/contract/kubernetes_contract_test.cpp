// The Kubernetes store over an API server in memory, which judges as the real one does.
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "contract/store_contract.hpp"
#include "lockcore/kubernetes/names.hpp"
#include "lockcore/stores/kubernetes/src/store.hpp"
#include "stores/kubernetes/memory_gateway.hpp"

namespace tenure::contract {
namespace {

class KubernetesFixture final : public StoreFixture {
 public:
  std::shared_ptr<LeaseStore> open() override {
    return kubernetes_store::makeStore({"default"},
                                       {std::make_shared<test::MemoryApiGateway>(api_), {}, sharedScheduler()});
  }

  /// `kubectl patch --type=json` with an empty spec. An object that is deleted takes the counter with it.
  void eraseRecord(const LeaseKey& key) override {
    edit(key, [](auto& lease) { lease["spec"] = boost::json::object{}; });
  }
  void eraseCounter(const LeaseKey& key) override {
    edit(key, [](auto& lease) {
      annotations(lease).erase("tenure.dev/counter");
      annotations(lease).erase("tenure.dev/open-lease-ms");
    });
  }
  void corruptRecord(const LeaseKey& key) override {
    edit(key, [](auto& lease) { annotations(lease)["tenure.dev/lease-ms"] = "-5"; });
  }
  void setToken(const LeaseKey& key, std::uint64_t token) override {
    edit(key, [token](auto& lease) {
      annotations(lease)["tenure.dev/token"] = std::to_string(token);
      annotations(lease)["tenure.dev/counter"] = std::to_string(token);
    });
  }

  bool hintsOfRenewals() const override { return false; }
  bool countsByOne() const override { return false; }

 private:
  static boost::json::object& annotations(boost::json::object& lease) {
    return lease["metadata"].get_object()["annotations"].get_object();
  }
  void edit(const LeaseKey& key, const std::function<void(boost::json::object&)>& change) {
    const std::lock_guard lock{api_->mutex};
    api_->server.edit(kubernetes_store::objectNameOf(key), change);
  }

  const std::shared_ptr<test::SharedApiServer> api_ = std::make_shared<test::SharedApiServer>();
};

const StoreUnderTest kubernetes{"Kubernetes", [] { return std::make_unique<KubernetesFixture>(); }};

INSTANTIATE_TEST_SUITE_P(Kubernetes, StoreContract, testing::Values(kubernetes), storeName);
INSTANTIATE_TEST_SUITE_P(Kubernetes, StoreRemoveContract, testing::Values(kubernetes), storeName);
INSTANTIATE_TEST_SUITE_P(Kubernetes, StoreRecoverContract, testing::Values(kubernetes), storeName);
INSTANTIATE_TEST_SUITE_P(Kubernetes, StoreWatchContract, testing::Values(kubernetes), storeName);
INSTANTIATE_TEST_SUITE_P(Kubernetes, StoreOperatorContract, testing::Values(kubernetes), storeName);
INSTANTIATE_TEST_SUITE_P(Kubernetes, StoreDurableContract, testing::Values(kubernetes), storeName);

}  // namespace
}  // namespace tenure::contract
