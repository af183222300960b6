// The contract of tenure::LeaseStore as a test suite, for our stores and for yours.
//
// To test a store of your own, write one file and link it with `tenure::store_contract` and gtest_main:
//
//   #include "contract/store_contract.hpp"
//
//   class MyFixture final : public tenure::contract::StoreFixture {
//    public:
//     std::shared_ptr<tenure::LeaseStore> open() override { return makeMyStore(table_); }
//    private:
//     MyTable table_ = makeFreshTable();
//   };
//
//   namespace tenure::contract {
//   const StoreUnderTest mine{"Mine", [] { return std::make_unique<MyFixture>(); }};
//   INSTANTIATE_TEST_SUITE_P(Mine, StoreContract, testing::Values(mine), storeName);
//   }
//
// StoreContract is what every store must keep. The suites below test features that only some stores offer. Instantiate
// those that apply, and override the parts of StoreFixture that they need. Each test gets a new fixture, so no test
// sees the leases of another. For every call of any test it is checked that it is answered exactly once and never
// inside the call, even if the test is about something else.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "contract/store_calls.hpp"
#include "lockcore/port/lease_store.hpp"

namespace tenure::contract {

/// Fresh, empty data for one test, and ways to access it. Created and used on the test's thread only.
class StoreFixture {
 public:
  virtual ~StoreFixture() = default;

  /// A store on this fixture's data. Each call returns another handle, as another process would have it: if the store
  /// can do so, nothing is shared in memory. A store for one process returns the same object each time.
  [[nodiscard]] virtual std::shared_ptr<LeaseStore> open() = 0;

  /// StoreOperatorContract: what an operator, a clean-up job or a foreign program may do to the data without the store.
  /// The record and the fencing counter of a lease are deleted separately.
  virtual void eraseRecord(const LeaseKey& key);
  virtual void eraseCounter(const LeaseKey& key);
  /// StoreOperatorContract: changes the stored record so that the store must not understand it.
  virtual void corruptRecord(const LeaseKey& key);
  /// StoreOperatorContract: writes this number, whatever it is, over the record's token and over the counter.
  virtual void setToken(const LeaseKey& key, std::uint64_t token);

  /// Whether a new token is the next one. Else the store has a floor of its own, such as a revision of the whole
  /// database.
  [[nodiscard]] virtual bool countsByOne() const { return true; }

  /// StoreWatchContract: whether renewals are told too. They free no lease, so a store may save the cost.
  [[nodiscard]] virtual bool hintsOfRenewals() const { return true; }

  /// StoreStallContract: no write is served while the returned handle lives (a foreign process holds the write lock,
  /// the server does not answer).
  [[nodiscard]] virtual std::shared_ptr<void> stall();
};

struct StoreUnderTest {
  std::string name;  ///< letters and digits
  std::function<std::unique_ptr<StoreFixture>()> make;

  friend std::ostream& operator<<(std::ostream& out, const StoreUnderTest& store) { return out << store.name; }
};

/// Names the instances of a suite.
[[nodiscard]] inline std::string storeName(const testing::TestParamInfo<StoreUnderTest>& info) {
  return info.param.name;
}

class StoreContract : public testing::TestWithParam<StoreUnderTest> {
 protected:
  void SetUp() override;
  /// Drops all handles and checks the answers of every call that was made.
  void TearDown() override;

  [[nodiscard]] StoreFixture& fixture() { return *fixture_; }
  /// Whether `token` is what the term after the one with `last` may have.
  [[nodiscard]] bool isNextToken(FencingToken token, FencingToken last) {
    return fixture_->countsByOne() ? token == last.next() : token > last;
  }
  /// The first handle; the schema is in place.
  [[nodiscard]] StoreCalls& store() { return handles_.at(0); }
  /// The second handle on the same data.
  [[nodiscard]] StoreCalls& other() { return handles_.at(1); }
  /// One more handle that this test may drop on its own; its calls are checked like all others.
  [[nodiscard]] StoreCalls openMore() { return StoreCalls{fixture_->open(), ledger_}; }
  /// Releases store() and other(); they must not be used any more.
  void dropHandles() { handles_.clear(); }

 private:
  std::shared_ptr<CallLedger> ledger_ = std::make_shared<CallLedger>();
  std::unique_ptr<StoreFixture> fixture_;
  std::vector<StoreCalls> handles_;
};

/// Stores that offer remove().
class StoreRemoveContract : public StoreContract {};

/// Stores that offer readTokens() and setTokens().
class StoreRecoverContract : public StoreContract {};

/// Stores whose watch() gives hints.
class StoreWatchContract : public StoreContract {};

/// Stores whose data others can access: eraseRecord(), eraseCounter(), corruptRecord(), setToken(); they offer
/// remove().
class StoreOperatorContract : public StoreContract {};

/// Stores that can be blocked: stall().
class StoreStallContract : public StoreContract {};

/// Stores whose data outlives all handles.
class StoreDurableContract : public StoreContract {};

}  // namespace tenure::contract
