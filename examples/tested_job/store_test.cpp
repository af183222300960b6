// A store of one's own: a register, judged by the suite that the library's own stores pass. Yours talks to a server;
// here the pairs lie in a map, as a server would keep them.
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <tenure/lockcore/register.hpp>
#include <tenure/testing/simulation.hpp>

#include <contract/store_contract.hpp>

namespace {

using tenure::StoreResult;
using tenure::stored::LoadedLease;
using tenure::stored::StoredLease;

/// What the server keeps of a lease: the pair, and how often it was written.
struct VersionedLease : StoredLease {
  std::uint64_t writes{0};
};

class MyRegister final : public tenure::stored::Register {
 public:
  const std::string& where() const noexcept override { return where_; }

  void prepare(const tenure::CallDeadline& /*deadline*/, tenure::StatusHandler handler) override {
    answer(std::move(handler), tenure::StoreStatus{});
  }

  void load(const tenure::stored::RegisterCall& call, tenure::stored::LoadHandler handler) override {
    const std::lock_guard lock{mutex_};
    answer(std::move(handler), StoreResult<LoadedLease>{at(call.key)});
  }

  /// Only where nothing was written since `seen` was loaded.
  void swap(const tenure::stored::RegisterCall& call, const LoadedLease& seen, tenure::stored::Change change,
            tenure::stored::SwapHandler handler) override {
    const std::lock_guard lock{mutex_};
    const auto now = at(call.key);
    const auto& loaded = static_cast<const VersionedLease&>(*seen);
    if (loaded.writes != now->writes) {
      return answer(std::move(handler), tenure::stored::SwapOutcome{tenure::stored::Differs{now}});
    }
    auto next = std::make_shared<VersionedLease>(*now);
    apply(std::move(change), *next);
    ++next->writes;
    leases_[call.key] = next;
    answer(std::move(handler), tenure::stored::SwapOutcome{tenure::stored::Swapped{next}});
  }

  void scan(const std::string& prefix, const std::string& /*from*/, const tenure::CallDeadline& /*deadline*/,
            tenure::stored::ScanHandler handler) override {
    const std::lock_guard lock{mutex_};
    tenure::ListPage page;
    for (const auto& [key, lease] : leases_) {
      if (key.name.starts_with(prefix) && *lease->record) page.leases.push_back({key, (*lease->record)->record});
    }
    answer(std::move(handler), StoreResult<tenure::ListPage>{std::move(page)});
  }

 private:
  [[nodiscard]] std::shared_ptr<const VersionedLease> at(const tenure::LeaseKey& key) const {
    const auto found = leases_.find(key);
    if (found != leases_.end()) return found->second;
    auto absent = std::make_shared<VersionedLease>();
    absent->nothing = true;
    return absent;
  }

  /// Never inside the call.
  template <class Answer>
  static void answer(std::function<void(Answer)> handler, Answer with) {
    tenure::sharedScheduler()->post(
        [handler = std::move(handler), with = std::move(with)]() mutable { handler(std::move(with)); });
  }

  const std::string where_{"my register"};
  std::mutex mutex_;
  std::map<tenure::LeaseKey, std::shared_ptr<const VersionedLease>> leases_{};  ///< guarded by mutex_
};

class MyFixture final : public tenure::contract::StoreFixture {
 public:
  /// A separate store for each handle on the same data, as each process has one.
  std::shared_ptr<tenure::LeaseStore> open() override { return tenure::makeLeaseStore(leases_); }

 private:
  const std::shared_ptr<MyRegister> leases_ = std::make_shared<MyRegister>();
};

// Lost requests, late answers, processes that freeze and die, for 100 leases of virtual time under each seed.
TEST(MyStore, KeepsEveryRuleInSimulatedElections) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    MyFixture fixture;
    const auto report = tenure::test::simulate([&] { return fixture.open(); }, {.seed = seed, .leases = 100});
    EXPECT_EQ(report.violation, "") << "seed " << seed;
    EXPECT_GT(report.terms, 5U);
  }
}

}  // namespace

namespace tenure::contract {
const StoreUnderTest mine{"Mine", [] { return std::make_unique<MyFixture>(); }};
INSTANTIATE_TEST_SUITE_P(Mine, StoreContract, testing::Values(mine), storeName);
INSTANTIATE_TEST_SUITE_P(Mine, StoreRemoveContract, testing::Values(mine), storeName);
}  // namespace tenure::contract
