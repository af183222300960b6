// A store of one's own, judged by the suite that the library's own stores pass. Here it is one in front of another
// store; yours talks to a server, and open() gives a new handle on the same data.
#include <atomic>
#include <memory>
#include <utility>

#include <tenure/lockcore/stores/memory_store.hpp>
#include <tenure/testing/simulation.hpp>

#include <contract/store_contract.hpp>

namespace {

/// Counts the writes that go through it.
class CountingStore final : public tenure::LeaseStore {
 public:
  explicit CountingStore(std::shared_ptr<tenure::LeaseStore> behind) : behind_{std::move(behind)} {}

  std::string describe() const override { return "counted " + behind_->describe(); }
  void ensureSchema(tenure::CallOptions options, tenure::StatusHandler handler) override {
    behind_->ensureSchema(options, std::move(handler));
  }
  void read(const tenure::LeaseKey& key, tenure::CallOptions options, tenure::ReadHandler handler) override {
    behind_->read(key, options, std::move(handler));
  }
  void write(tenure::WriteRequest request, tenure::CallOptions options, tenure::WriteHandler handler) override {
    ++writes_;
    behind_->write(std::move(request), options, std::move(handler));
  }
  void list(std::string prefix, tenure::CallOptions options, tenure::ListHandler handler) override {
    behind_->list(std::move(prefix), options, std::move(handler));
  }
  void requestStepDown(const tenure::LeaseKey& key, tenure::FencingToken token, tenure::CallOptions options,
                       tenure::WriteHandler handler) override {
    behind_->requestStepDown(key, token, options, std::move(handler));
  }

 private:
  const std::shared_ptr<tenure::LeaseStore> behind_;
  std::atomic<std::uint64_t> writes_{0};
};

class CountingFixture final : public tenure::contract::StoreFixture {
 public:
  std::shared_ptr<tenure::LeaseStore> open() override { return store_; }

 private:
  const std::shared_ptr<tenure::LeaseStore> store_ = std::make_shared<CountingStore>(tenure::makeMemoryStore());
};

// Lost requests, late answers, processes that freeze and die, for 100 leases of virtual time under each seed.
TEST(CountingStore, KeepsEveryRuleInSimulatedElections) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    CountingFixture fixture;
    const auto report = tenure::test::simulate([&] { return fixture.open(); }, {.seed = seed, .leases = 100});
    EXPECT_EQ(report.violation, "") << "seed " << seed;
    EXPECT_GT(report.terms, 5U);
  }
}

}  // namespace

namespace tenure::contract {
const StoreUnderTest counting{"Counting", [] { return std::make_unique<CountingFixture>(); }};
INSTANTIATE_TEST_SUITE_P(Counting, StoreContract, testing::Values(counting), storeName);
}  // namespace tenure::contract
