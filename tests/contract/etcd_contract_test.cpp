// The etcd store over a cluster in memory, which judges transactions as etcd does.
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "contract/store_contract.hpp"
#include "lockcore/stores/etcd/src/keys.hpp"
#include "lockcore/stores/etcd/src/store.hpp"
#include "stores/etcd/memory_gateway.hpp"

namespace tenure::contract {
namespace {

class EtcdFixture final : public StoreFixture {
 public:
  std::shared_ptr<LeaseStore> open() override {
    return etcd_store::makeStore("/tenure", {std::make_shared<test::MemoryGateway>(etcd_), {}, sharedScheduler()});
  }

  void eraseRecord(const LeaseKey& key) override { erase(keys_.recordOf(key)); }
  void eraseCounter(const LeaseKey& key) override { erase(keys_.counterOf(key)); }
  void corruptRecord(const LeaseKey& key) override {
    change(keys_.recordOf(key), [](auto& record) { record["leaseDuration"] = -5; });
  }
  void setToken(const LeaseKey& key, std::uint64_t token) override {
    const auto set = [token](auto& object) { object["tenureToken"] = token; };
    change(keys_.recordOf(key), set);
    change(keys_.counterOf(key), set);
  }

  bool hintsOfRenewals() const override { return false; }
  bool countsByOne() const override { return false; }

 private:
  void erase(const std::string& key) {
    const std::lock_guard lock{etcd_->mutex};
    etcd_->cluster.erase(key);
  }
  template <class Edit>
  void change(const std::string& key, const Edit& edit) {
    const std::lock_guard lock{etcd_->mutex};
    const auto found = etcd_->cluster.keys().find(key);
    if (found == etcd_->cluster.keys().end()) return;
    boost::json::object object = boost::json::parse(found->second.value).get_object();
    edit(object);
    etcd_->cluster.put(key, boost::json::serialize(object));
  }

  const std::shared_ptr<test::SharedEtcd> etcd_ = std::make_shared<test::SharedEtcd>();
  const etcd_store::Keys keys_{"/tenure"};
};

const StoreUnderTest etcd{"Etcd", [] { return std::make_unique<EtcdFixture>(); }};

INSTANTIATE_TEST_SUITE_P(Etcd, StoreContract, testing::Values(etcd), storeName);
INSTANTIATE_TEST_SUITE_P(Etcd, StoreRemoveContract, testing::Values(etcd), storeName);
INSTANTIATE_TEST_SUITE_P(Etcd, StoreRecoverContract, testing::Values(etcd), storeName);
INSTANTIATE_TEST_SUITE_P(Etcd, StoreWatchContract, testing::Values(etcd), storeName);
INSTANTIATE_TEST_SUITE_P(Etcd, StoreOperatorContract, testing::Values(etcd), storeName);
INSTANTIATE_TEST_SUITE_P(Etcd, StoreDurableContract, testing::Values(etcd), storeName);

}  // namespace
}  // namespace tenure::contract
