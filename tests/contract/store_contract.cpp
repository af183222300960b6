#include "contract/store_contract.hpp"

#include <stdexcept>

namespace tenure::contract {

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreContract);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreRemoveContract);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreRecoverContract);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreWatchContract);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreOperatorContract);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreStallContract);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StoreDurableContract);

void StoreFixture::eraseRecord(const LeaseKey&) { throw std::logic_error{"this fixture has no eraseRecord()"}; }
void StoreFixture::eraseCounter(const LeaseKey&) { throw std::logic_error{"this fixture has no eraseCounter()"}; }
void StoreFixture::corruptRecord(const LeaseKey&) { throw std::logic_error{"this fixture has no corruptRecord()"}; }
void StoreFixture::setToken(const LeaseKey&, std::uint64_t) {
  throw std::logic_error{"this fixture has no setToken()"};
}
std::shared_ptr<void> StoreFixture::stall() { throw std::logic_error{"this fixture has no stall()"}; }

void StoreContract::SetUp() {
  fixture_ = GetParam().make();
  handles_.emplace_back(fixture_->open(), ledger_);
  store().ensureSchema();
  handles_.emplace_back(fixture_->open(), ledger_);
}

void StoreContract::TearDown() {
  handles_.clear();
  for (const std::string& fault : ledger_->faults()) ADD_FAILURE() << fault;
  fixture_.reset();
}

}  // namespace tenure::contract
