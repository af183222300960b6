#include <tenure/lockcore/stores/memory_store.hpp>

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

const StoreUnderTest memory{"Memory", [] { return std::make_unique<MemoryFixture>(); }};

INSTANTIATE_TEST_SUITE_P(Memory, StoreContract, testing::Values(memory), storeName);
INSTANTIATE_TEST_SUITE_P(Memory, StoreRemoveContract, testing::Values(memory), storeName);
INSTANTIATE_TEST_SUITE_P(Memory, StoreRecoverContract, testing::Values(memory), storeName);
INSTANTIATE_TEST_SUITE_P(Memory, StoreWatchContract, testing::Values(memory), storeName);

}  // namespace
}  // namespace tenure::contract
