#include "store.hpp"

#include <cstddef>
#include <utility>

#include "hints.hpp"
#include "lockcore/kubernetes/replies.hpp"
#include "lockcore/port/json_text.hpp"
#include "lockcore/stored/register_store.hpp"
#include "state.hpp"

namespace tenure::kubernetes_store {
namespace {

/// All annotations of an object have room for 256 KiB. What is left is for the others: names, holder, and what other
/// programs add.
constexpr std::size_t mostOfAnnotations = std::size_t{224} << 10U;

std::size_t sizeAsBase64(std::size_t bytes) { return (bytes + 2) / 3 * 4; }

/// What the user lacks; empty: nothing is known to be missing.
std::string missingIn(const Rights& rights) {
  std::string missing;
  for (const char* verb : {"get", "update"}) {
    if (!rights.has(verb)) missing += (missing.empty() ? "" : ", ") + std::string{verb};
  }
  return rights.complete ? missing : std::string{};
}

/// A Lease object for each lease. A swap is an update that requires the object's resourceVersion.
class KubernetesRegister final : public stored::Register, public stored::RegisterExtras {
 public:
  explicit KubernetesRegister(CorePtr core) : core_{std::move(core)} {}

  [[nodiscard]] const std::string& where() const noexcept override { return core_->where; }

  /// There is no schema. One request tells whether the server answers, knows the user, and lets it read and write. A
  /// server that does not tell has at least shown that it knows the user.
  void prepare(const CallDeadline& deadline, StatusHandler handler) override {
    send(core_, core_->requests.rules(), deadline,
         [core = core_, handler = std::move(handler)](const Outcome& outcome) {
           const CallName call{core->where, "asking for the user's rights"};
           const bool untold = outcome && (outcome->status == 403 || outcome->status == 404);
           if (untold && !statusFrom(outcome->body).reason.empty()) return handler(StoreStatus{});
           if (auto fault = faultIn(call, outcome)) return handler(std::move(fault->error));
           const auto rights = rightsFrom(outcome->body);
           if (rights.has_error()) return handler(notUnderstood(call, rights.error().what));
           const std::string missing = missingIn(*rights);
           if (missing.empty()) return handler(StoreStatus{});
           handler(StoreError{ErrorClass::credentials,
                              call.text() + ": the user may not " + missing +
                                  " leases (coordination.k8s.io) there. Bind a Role with the verbs get, create, "
                                  "update, list and watch on leases in this namespace"});
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
    return kubernetes_store::tokensOf(*core_, key, static_cast<const State&>(lease));
  }

  [[nodiscard]] OptionFaults faultsOfPayload(const std::string& data,
                                             const std::map<std::string, std::string>& attributes) const override {
    std::size_t size = sizeAsBase64(data.size());
    if (!attributes.empty()) size += attributesToJson(attributes).value_or(std::string{}).size();
    if (size <= mostOfAnnotations) return {};
    return {{"data", "with the attributes it takes " + std::to_string(size) +
                         " bytes of annotations, and an object of Kubernetes has room for " +
                         std::to_string(mostOfAnnotations)}};
  }

  [[nodiscard]] stored::LoadedLease shown(const LeaseKey& key) override {
    auto object = core_->watched.find(key, core_->scheduler->now());
    if (!object) return nullptr;
    return std::make_shared<const State>(stateOf(core_->where, key, *std::move(object)));
  }

  /// Where another process holds it, the watch tells of its heartbeats from now on.
  void loadedWatched(const LeaseKey& key, const stored::StoredLease& lease) override {
    const bool held = lease.record.has_value() && *lease.record && !(*lease.record)->record.released;
    if (!held) return core_->watched.forget(key);
    core_->watched.asked(key, *static_cast<const State&>(lease).object, (*lease.record)->record.leaseDuration,
                         core_->scheduler->now());
  }

  void forgetShown(const LeaseKey& key) override { core_->watched.forget(key); }

 private:
  const CorePtr core_;
};

}  // namespace

std::shared_ptr<LeaseStore> makeStore(const Settings& settings, StoreParts parts) {
  auto core = std::make_shared<Core>(
      settings, "Kubernetes at " + parts.gateway->describe() + ", namespace " + settings.inNamespace, parts.logger,
      parts.scheduler, parts.gateway);
  auto hints = parts.watches ? std::make_shared<LeaseHints>(core) : nullptr;
  auto leases = std::make_shared<KubernetesRegister>(std::move(core));
  return stored::makeRegisterStore({leases, std::move(parts.scheduler), std::move(hints), std::move(parts.logger),
                                    std::move(parts.gateway), leases});
}

}  // namespace tenure::kubernetes_store
