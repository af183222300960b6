#include "store.hpp"

#include <cstddef>
#include <utility>

#include "hints.hpp"
#include "lockcore/port/json_text.hpp"
#include "lockcore/stored/register_store.hpp"
#include "requests.hpp"
#include "state.hpp"

namespace tenure::etcd_store {
namespace {

/// A member takes a request of 1.5 MB (--max-request-bytes). A renewal has the record as it was and as it shall be,
/// with the data as base64 and the attributes as texts of JSON.
constexpr std::size_t largestPayload = std::size_t{500} << 10U;
constexpr std::size_t largestText = std::size_t{700} << 10U;

const State& stateOf(const stored::StoredLease& lease) { return static_cast<const State&>(lease); }

/// Two keys for each lease. A swap is a transaction.
class EtcdRegister final : public stored::Register, public stored::RegisterExtras {
 public:
  explicit EtcdRegister(CorePtr core) : core_{std::move(core)} {}

  [[nodiscard]] const std::string& where() const noexcept override { return core_->where; }

  /// There is no schema. One request tells whether the cluster answers, speaks this protocol, lets the user read and
  /// write, and has room.
  void prepare(const CallDeadline& deadline, StatusHandler handler) override {
    send(core_, probeOfWrites(core_->keys.recordsFrom(""), core_->keys.countersFrom("")), deadline,
         Gateway::Repeat::yes, [core = core_, handler = std::move(handler)](const Outcome& outcome) {
           const CallName call{core->where, "examining the cluster"};
           if (auto fault = faultIn(call, outcome)) return handler(std::move(fault->error));
           const auto reply = txnReplyFrom(outcome->body);
           if (reply.has_error()) return handler(notUnderstood(call, outcome->member, reply.error().what));
           if (reply->succeeded)
             return handler(notUnderstood(call, outcome->member, "it wrote what must not be written"));
           handler(StoreStatus{});
         });
  }

  void load(const stored::RegisterCall& call, stored::LoadHandler handler) override {
    loadState(core_, call, std::move(handler));
  }

  void swap(const stored::RegisterCall& call, const stored::LoadedLease& seen, Change change,
            stored::SwapHandler handler) override {
    swapState(core_, call, std::static_pointer_cast<const State>(seen), std::move(change), std::move(handler));
  }

  void scan(const std::string& prefix, const std::string& from, const CallDeadline& deadline,
            stored::ScanHandler handler) override {
    scanLeases(core_, prefix, from, deadline, std::move(handler));
  }

  [[nodiscard]] StoreResult<StoredTokens> tokensOf(const LeaseKey& key,
                                                   const stored::StoredLease& lease) const override {
    return tokensIn(*core_, key, stateOf(lease));
  }

  [[nodiscard]] std::size_t mostPayload() const noexcept override { return largestPayload; }

  [[nodiscard]] OptionFaults faultsOfPayload(const std::string& data,
                                             const std::map<std::string, std::string>& attributes) const override {
    std::string text;
    for (const auto& [name, value] : attributes) {
      appendQuoted(text, name);
      appendQuoted(text, value);
    }
    const std::size_t size = text.size() + data.size() / 3 * 4;
    if (size <= largestText) return {};
    return {{"data", "with the attributes it takes " + std::to_string(size) +
                         " bytes of JSON, and a record in etcd has room for " + std::to_string(largestText)}};
  }

 private:
  const CorePtr core_;
};

}  // namespace

std::shared_ptr<LeaseStore> makeStore(const std::string& prefix, StoreParts parts) {
  auto core = std::make_shared<Core>(Keys{prefix}, "etcd at " + parts.gateway->describe() + ", keys " + prefix,
                                     parts.scheduler, parts.gateway);
  auto hints = std::make_shared<EtcdHints>(core->gateway, core->keys, core->where);
  auto leases = std::make_shared<EtcdRegister>(std::move(core));
  return stored::makeRegisterStore({leases, std::move(parts.scheduler), std::move(hints), std::move(parts.logger),
                                    std::move(parts.gateway), leases});
}

}  // namespace tenure::etcd_store
