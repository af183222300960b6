// The contract over the smallest register, and over three that are wrong on purpose: TENURE_WRONG_REGISTER names one,
// and ctest looks for the case that refuses it.
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <tenure/lockcore/register.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "contract/store_contract.hpp"

namespace tenure::contract {
namespace {

using stored::LoadedLease;
using stored::StoredLease;

/// What an object stands for is not changed, so the object itself is what a swap compares.
class TestRegister final : public stored::Register {
 public:
  explicit TestRegister(std::string_view wrong) : wrong_{wrong} {}

  [[nodiscard]] const std::string& where() const noexcept override { return where_; }
  void prepare(const CallDeadline&, StatusHandler handler) override { post(std::move(handler), StoreStatus{}); }
  void load(const stored::RegisterCall& call, stored::LoadHandler handler) override {
    const std::lock_guard lock{mutex_};
    const auto& leases = wrong_ == "showsAnOldState" ? before_ : leases_;
    post(std::move(handler), StoreResult<LoadedLease>{at(leases, call.key)});
  }
  void swap(const stored::RegisterCall& call, const LoadedLease& seen, stored::Change change,
            stored::SwapHandler handler) override {
    const std::lock_guard lock{mutex_};
    const LoadedLease now = at(leases_, call.key);
    if (now != seen && wrong_ != "swapsWithoutLooking") {
      return post(std::move(handler), stored::SwapOutcome{stored::Differs{now}});
    }
    if (wrong_ == "forgetsTheCounter") change.counter.reset();
    const auto next = std::make_shared<StoredLease>(*seen);
    apply(std::move(change), *next);
    before_[call.key] = now;
    leases_[call.key] = next;
    post(std::move(handler), stored::SwapOutcome{stored::Swapped{next}});
  }
  void scan(const std::string& prefix, const std::string&, const CallDeadline&, stored::ScanHandler handler) override {
    const std::lock_guard lock{mutex_};
    ListPage found;
    for (const auto& [key, lease] : leases_) {
      if (key.name.starts_with(prefix) && *lease->record) found.leases.push_back({key, (*lease->record)->record});
    }
    post(std::move(handler), StoreResult<ListPage>{std::move(found)});
  }

 private:
  using Leases = std::map<LeaseKey, LoadedLease>;

  [[nodiscard]] LoadedLease at(const Leases& leases, const LeaseKey& key) const {
    const auto found = leases.find(key);
    return found == leases.end() ? absent_ : found->second;
  }
  template <class Answer>
  void post(std::function<void(Answer)> handler, Answer answer) const {
    sharedScheduler()->post(
        [handler = std::move(handler), answer = std::move(answer)]() mutable { handler(std::move(answer)); });
  }

  const std::string_view wrong_;
  const std::string where_{"a register of the test"};
  const LoadedLease absent_{std::make_shared<const StoredLease>()};
  std::mutex mutex_;
  Leases leases_{};  ///< guarded by mutex_, as the next one
  Leases before_{};  ///< what was there before the last change of each
};

class RegisterFixture final : public StoreFixture {
 public:
  /// A store of its own for each handle, as each process has one.
  std::shared_ptr<LeaseStore> open() override { return makeLeaseStore(leases_); }

 private:
  static std::string_view wrong() {
    const char* text = std::getenv("TENURE_WRONG_REGISTER");
    return text == nullptr ? std::string_view{} : std::string_view{text};
  }

  std::shared_ptr<stored::Register> leases_ = std::make_shared<TestRegister>(wrong());
};

const StoreUnderTest reg{"Register", [] { return std::make_unique<RegisterFixture>(); }};

INSTANTIATE_TEST_SUITE_P(Register, StoreContract, testing::Values(reg), storeName);
INSTANTIATE_TEST_SUITE_P(Register, StoreRemoveContract, testing::Values(reg), storeName);
INSTANTIATE_TEST_SUITE_P(Register, StoreRecoverContract, testing::Values(reg), storeName);

}  // namespace
}  // namespace tenure::contract
