#include <tenure/lockcore/stores/memory_store.hpp>
#include <tenure/ops/metrics.hpp>

#include "contract/store_contract.hpp"

namespace tenure::contract {
namespace {

/// A memory store serves only one process, so every handle is the same object.
class MemoryFixture final : public StoreFixture {
 public:
  std::shared_ptr<LeaseStore> open() override { return store_; }

 private:
  std::shared_ptr<LeaseStore> store_ = makeMemoryStore();
};

/// What counts must answer as the store behind it does.
class MeteredFixture final : public StoreFixture {
 public:
  std::shared_ptr<LeaseStore> open() override { return metered_.store; }

 private:
  const ops::MeteredStore metered_ = ops::metered(makeMemoryStore(), "memory");
};

const StoreUnderTest metered{"Metered", [] { return std::make_unique<MeteredFixture>(); }};
const StoreUnderTest memory{"Memory", [] { return std::make_unique<MemoryFixture>(); }};

INSTANTIATE_TEST_SUITE_P(Memory, StoreContract, testing::Values(memory, metered), storeName);
INSTANTIATE_TEST_SUITE_P(Memory, StoreRemoveContract, testing::Values(memory, metered), storeName);
INSTANTIATE_TEST_SUITE_P(Memory, StoreRecoverContract, testing::Values(memory, metered), storeName);
INSTANTIATE_TEST_SUITE_P(Memory, StoreWatchContract, testing::Values(memory, metered), storeName);

}  // namespace
}  // namespace tenure::contract
