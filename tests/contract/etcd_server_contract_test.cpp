// The etcd store over a real member. Each handle has its own connections and thread, as in another process. The
// operator has a gateway of its own that knows the keys, but not the store's code.
#include <cstdlib>
#include <future>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <tenure/lockcore/stores/etcd_store.hpp>

#include "contract/store_contract.hpp"
#include "lockcore/stores/etcd/src/keys.hpp"
#include "lockcore/stores/etcd/src/link/http_gateway.hpp"
#include "lockcore/stores/etcd/src/replies.hpp"
#include "lockcore/stores/etcd/src/requests.hpp"

namespace tenure::contract {
namespace {

/// A prefix for each test.
class EtcdServerFixture final : public StoreFixture {
 public:
  std::shared_ptr<LeaseStore> open() override { return makeEtcdStore(options_); }

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
  static std::string setting(const char* name) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    return value == nullptr ? "" : value;
  }
  static EtcdStoreOptions freshOptions() {
    static int made = 0;
    std::vector<std::string> urls;
    std::istringstream listed{setting("TENURE_TEST_ETCD")};
    for (std::string url; std::getline(listed, url, ',');) urls.push_back(url);
    if (urls.empty()) throw std::runtime_error{"TENURE_TEST_ETCD is not set; run this by scripts/etcd_local"};
    return {.endpoints = urls,
            .prefix = "/tenure/contract/" + std::to_string(getpid()) + "/" + std::to_string(++made),
            .user = setting("TENURE_TEST_ETCD_USER"),
            .passwordFile = setting("TENURE_TEST_ETCD_PASSWORD_FILE"),
            .caFile = setting("TENURE_TEST_ETCD_CA"),
            .certificate = setting("TENURE_TEST_ETCD_CERTIFICATE"),
            .key = setting("TENURE_TEST_ETCD_KEY")};
  }

  [[nodiscard]] etcd_store::TxnReply ask(const etcd_store::Txn& txn) const {
    std::promise<etcd_store::Outcome> answer;
    hand_->call(etcd_store::txnPath, txn.body(), std::chrono::seconds{20}, etcd_store::Gateway::Repeat::yes,
                [&](etcd_store::Outcome outcome) { answer.set_value(std::move(outcome)); });
    const etcd_store::Outcome outcome = answer.get_future().get();
    return etcd_store::txnReplyFrom(outcome.value().body).value();
  }

  void erase(const std::string& key) const {
    etcd_store::Txn txn;
    txn.erase(key);
    (void)ask(txn);
  }

  template <class Edit>
  void change(const std::string& key, const Edit& edit) const {
    etcd_store::Txn look;
    look.read(key);
    const etcd_store::TxnReply seen = ask(look);
    if (seen.parts.at(0).found.empty()) return;
    boost::json::object object = boost::json::parse(seen.parts[0].found[0].value).get_object();
    edit(object);
    etcd_store::Txn write;
    write.put(key, boost::json::serialize(object));
    (void)ask(write);
  }

  const EtcdStoreOptions options_ = freshOptions();
  const etcd_store::Keys keys_{options_.prefix};
  const std::shared_ptr<etcd_store::Gateway> hand_ = etcd_store::makeHttpGateway(options_, {});
};

const StoreUnderTest etcd{"EtcdServer", [] { return std::make_unique<EtcdServerFixture>(); }};

INSTANTIATE_TEST_SUITE_P(EtcdServer, StoreContract, testing::Values(etcd), storeName);
INSTANTIATE_TEST_SUITE_P(EtcdServer, StoreRemoveContract, testing::Values(etcd), storeName);
INSTANTIATE_TEST_SUITE_P(EtcdServer, StoreRecoverContract, testing::Values(etcd), storeName);
INSTANTIATE_TEST_SUITE_P(EtcdServer, StoreWatchContract, testing::Values(etcd), storeName);
INSTANTIATE_TEST_SUITE_P(EtcdServer, StoreOperatorContract, testing::Values(etcd), storeName);
INSTANTIATE_TEST_SUITE_P(EtcdServer, StoreDurableContract, testing::Values(etcd), storeName);

/// A renewal carries them twice: as they were, and as they shall be.
TEST(EtcdPayload, asManyDataAsTheStoreTakesAreRenewed) {
  EtcdServerFixture fixture;
  const StoreCalls store{fixture.open(), std::make_shared<CallLedger>()};
  const LeaseKey key{"large"};
  const std::string most(std::size_t{500} << 10U, 'x');
  EXPECT_TRUE(store.raw().faultsOfPayload(key, most, {}).empty());
  EXPECT_EQ(store.raw().faultsOfPayload(key, most + 'x', {}).size(), 1U);
  WriteRequest request = acquire(key, "a");
  request.record.data = most;
  store.apply(request);
  for (int i = 0; i < 2; ++i) {
    request = renew(key, "a", {store.record(key).version});
    request.record.data = most;
    store.apply(request);
  }
  EXPECT_EQ(store.record(key).data, most);
}

}  // namespace
}  // namespace tenure::contract
