#include "store.hpp"

#include <cstddef>
#include <utility>

#include <tenure/lockcore/store_checks.hpp>

#include "changes.hpp"
#include "hints.hpp"
#include "listing.hpp"
#include "lockcore/port/attributes_json.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "lockcore/port/random_draws.hpp"
#include "lockcore/port/write_purpose.hpp"
#include "lockcore/runtime/system_random.hpp"
#include "lockcore/stored/hint_watcher.hpp"
#include "replies.hpp"

namespace tenure::kubernetes_store {
namespace {

using stored::HintWatcher;

/// All annotations of an object have room for 256 KiB. What is left is for the others: names, holder, and what other
/// programs add.
constexpr std::size_t mostPayload = std::size_t{224} << 10U;

std::size_t sizeAsBase64(std::size_t bytes) { return (bytes + 2) / 3 * 4; }

/// What the user lacks; empty: nothing is known to be missing.
std::string missingIn(const Rights& rights) {
  std::string missing;
  for (const char* verb : {"get", "update"}) {
    if (!rights.has(verb)) missing += (missing.empty() ? "" : ", ") + std::string{verb};
  }
  return rights.complete ? missing : std::string{};
}

/// A thin shell: calls become requests. A call under way lives in its handlers, so it is answered even when the store
/// is gone.
class KubernetesStore final : public LeaseStore {
 public:
  KubernetesStore(const Settings& settings, StoreParts parts)
      : gateway_{std::move(parts.gateway)},
        watches_{parts.watches},
        core_{std::make_shared<Core>(settings,
                                     "Kubernetes at " + gateway_->describe() + ", namespace " + settings.inNamespace,
                                     std::move(parts.logger), std::move(parts.scheduler), gateway_)},
        watcher_{std::make_shared<HintWatcher>(std::make_shared<LeaseHints>(core_), core_->scheduler, core_->logger,
                                               core_->where)} {}
  ~KubernetesStore() override { watcher_->close(); }
  KubernetesStore(const KubernetesStore&) = delete;
  KubernetesStore& operator=(const KubernetesStore&) = delete;

  [[nodiscard]] std::string describe() const override { return core_->where; }

  /// There is no schema. One request tells whether the server answers, knows the user, and lets it read and write. A
  /// server that does not tell has at least shown that it knows the user.
  void ensureSchema(CallOptions options, StatusHandler handler) override {
    send(
        core_, core_->requests.rules(), core_->deadline(options),
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
                                 " leases (coordination.k8s.io) there. Bind a Role with the verbs get, create, update, "
                                 "list and watch on leases in this namespace"});
        });
  }

  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override {
    if (auto refused = refusalOf(key)) return core_->post(std::move(handler), ReadOutcome{*std::move(refused)});
    // A holder that reads is in doubt, and has as little time as for a renewal.
    const auto known = core_->terms.find(key);
    const bool holds = known && known->clock;
    if (auto shown = holds ? std::nullopt : core_->watched.find(key, core_->scheduler->now())) {
      State state = stateOf(*core_, key, *std::move(shown));
      ReadOutcome told = state.told();
      keepSeen(*core_, key, std::move(state));
      return core_->post(std::move(handler), std::move(told));
    }
    readState(core_, key, {"reading", !holds}, core_->deadline(options),
              [core = core_, watcher = watcher_, key, handler = std::move(handler)](const StoreResult<State>& state) {
                if (state.has_error()) return handler(state.error());
                if (watcher->watches(key)) {
                  noteAsked(*core, key, *state);
                  keepSeen(*core, key, *state);
                }
                handler(state->told());
              });
  }

  [[nodiscard]] OptionFaults faultsOfPayload(const LeaseKey& key, const std::string& data,
                                             const std::map<std::string, std::string>& attributes) const override {
    OptionFaults faults = LeaseStore::faultsOfPayload(key, data, attributes);
    std::size_t size = sizeAsBase64(data.size());
    if (!attributes.empty()) size += attributesToJson(attributes).value_or(std::string{}).size();
    if (size > mostPayload) {
      faults.push_back({"data", "with the attributes it takes " + std::to_string(size) +
                                    " bytes of annotations, and an object of Kubernetes has room for " +
                                    std::to_string(mostPayload)});
    }
    return faults;
  }

  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    if (auto refused = refusalOf(request)) return refuse(std::move(handler), *std::move(refused));
    const LeaseKey key = request.key;
    const std::string_view doing = tenure::doing(request.purpose);
    auto decide = [where = core_->where, request = std::move(request)](const State& state) {
      return stored::decideWrite(where, request, state);
    };
    change(key, doing, options, std::move(decide), std::move(handler), true);
  }

  void list(std::string prefix, CallOptions options, ListHandler handler) override {
    if (auto refused = refusalOfPrefix(prefix)) return core_->post(std::move(handler), ListOutcome{*refused});
    listLeases(core_, prefix, core_->deadline(options), std::move(handler));
  }

  void listPage(std::string prefix, std::string from, CallOptions options, PageHandler handler) override {
    if (auto refused = refusalOfPrefix(prefix)) return core_->post(std::move(handler), PageOutcome{*refused});
    kubernetes_store::listPage(core_, prefix, from, core_->deadline(options), std::move(handler));
  }

  void requestStepDown(const LeaseKey& key, FencingToken token, CallOptions options, WriteHandler handler) override {
    if (auto refused = refusalOf(key)) return refuse(std::move(handler), *std::move(refused));
    change(
        key, "asking for a step-down of", options,
        [token](const State& state) { return stored::decideStepDown(token, state); }, std::move(handler));
  }

  void remove(const LeaseKey& key, RecordVersion version, CallOptions options, WriteHandler handler) override {
    if (auto refused = refusalOf(key)) return refuse(std::move(handler), *std::move(refused));
    change(
        key, "removing the record of", options,
        [version = std::move(version)](const State& state) { return stored::decideRemoval(version, state); },
        std::move(handler));
  }

  void readTokens(const LeaseKey& key, CallOptions options, TokensHandler handler) override {
    if (auto refused = refusalOf(key)) return core_->post(std::move(handler), StoreResult<StoredTokens>{*refused});
    readState(core_, key, {"reading the tokens of"}, core_->deadline(options),
              [core = core_, key, handler = std::move(handler)](const StoreResult<State>& state) {
                if (state.has_error()) return handler(state.error());
                handler(tokensOf(*core, key, *state));
              });
  }

  void setTokens(const LeaseKey& key, StoredTokens expected, FencingToken token, CallOptions options,
                 WriteHandler handler) override {
    if (auto refused = refusalOfRecovery(key, token)) return refuse(std::move(handler), *std::move(refused));
    SystemRandom random;
    change(
        key, "setting the tokens of", options,
        [core = core_, key, expected = std::move(expected), token, version = uuid4(random)](const State& state) {
          return stored::decideTokens(tokensOf(*core, key, state), expected, token, version);
        },
        std::move(handler));
  }

  [[nodiscard]] std::shared_ptr<void> watch(const LeaseKey& key, std::function<void()> hint) override {
    auto watching = watches_ ? watcher_->watch(key, std::move(hint)) : nullptr;
    if (!watching) return nullptr;
    return {watching.get(), [core = core_, key, watching](void*) mutable {
              watching.reset();
              forgetSeen(*core, key);
            }};
  }

  [[nodiscard]] std::shared_ptr<void> watchLoss(std::function<void()> hint) override {
    return watches_ ? watcher_->watchLoss(std::move(hint)) : nullptr;
  }

 private:
  /// Of a lease that is watched: its acquisition is one request then.
  static void keepSeen(Core& core, const LeaseKey& key, State state) {
    if (state.record.has_error() || !*state.record) return;
    const auto held = core.terms.find(key);
    if (held && held->clock && isTermOf(*held, (*state.record)->record)) state.clock = held->clock;
    core.terms.keep(key, std::make_shared<const State>(std::move(state)));
  }

  /// Where somebody else holds it, the watch tells of its heartbeats from now on.
  static void noteAsked(Core& core, const LeaseKey& key, const State& state) {
    const bool held = state.record.has_value() && *state.record && !(*state.record)->record.released;
    if (!held) return core.watched.forget(key);
    core.watched.asked(key, *state.object, (*state.record)->record.leaseDuration, core.scheduler->now());
  }

  /// Not of a lease that the process holds by now.
  static void forgetSeen(Core& core, const LeaseKey& key) {
    core.watched.forget(key);
    const auto seen = core.terms.find(key);
    if (seen && !seen->clock) core.terms.forget(key);
  }

  void change(const LeaseKey& key, std::string_view doing, CallOptions options,
              std::function<Decision(const State&)> decide, WriteHandler handler, bool own = false) {
    perform(std::make_shared<WriteCall>(
        WriteCall{core_, key, doing, core_->deadline(options), std::move(decide), std::move(handler), own}));
  }

  void refuse(WriteHandler handler, StoreError error) const {
    core_->post(std::move(handler), WriteOutcome{Rejected{std::move(error)}});
  }

  [[nodiscard]] std::optional<StoreError> refusalOfPrefix(const std::string& prefix) const {
    if (isPlainText(prefix)) return std::nullopt;
    return StoreError{ErrorClass::misconfigured, core_->where + ": the prefix is not UTF-8 text without NUL"};
  }

  const std::shared_ptr<Gateway> gateway_;
  const bool watches_;
  const CorePtr core_;
  const std::shared_ptr<HintWatcher> watcher_;
};

}  // namespace

std::shared_ptr<LeaseStore> makeStore(const Settings& settings, StoreParts parts) {
  return std::make_shared<KubernetesStore>(settings, std::move(parts));
}

}  // namespace tenure::kubernetes_store
