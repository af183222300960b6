#include "store.hpp"

#include <cstddef>
#include <utility>

#include <tenure/lockcore/store_checks.hpp>

#include "changes.hpp"
#include "hints.hpp"
#include "listing.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "lockcore/port/random_draws.hpp"
#include "lockcore/port/write_purpose.hpp"
#include "lockcore/runtime/system_random.hpp"
#include "lockcore/stored/hint_watcher.hpp"
#include "requests.hpp"

namespace tenure::etcd_store {
namespace {

using Purpose = WriteRequest::Purpose;

/// A member takes a request of 1.5 MB (--max-request-bytes). A renewal has the record as it was and as it shall be,
/// with the data as base64.
constexpr std::size_t mostPayload = std::size_t{500} << 10U;

/// A candidate that waits acquires it next.
bool isReleased(const State& state) {
  return state.record.has_value() && *state.record && (*state.record)->record.released;
}

/// A thin shell: calls become transactions. A call under way lives in its handlers, so it is answered even when the
/// store is gone.
class EtcdStore final : public LeaseStore {
 public:
  EtcdStore(const std::string& prefix, StoreParts parts)
      : gateway_{std::move(parts.gateway)},
        core_{std::make_shared<Core>(Keys{prefix}, "etcd at " + gateway_->describe() + ", keys " + prefix,
                                     std::move(parts.logger), std::move(parts.scheduler), gateway_)},
        watcher_{std::make_shared<stored::HintWatcher>(
            std::make_shared<EtcdHints>(core_->gateway, core_->keys, core_->where), core_->scheduler, core_->logger,
            core_->where)} {}
  ~EtcdStore() override { watcher_->close(); }
  EtcdStore(const EtcdStore&) = delete;
  EtcdStore& operator=(const EtcdStore&) = delete;

  [[nodiscard]] std::string describe() const override { return core_->where; }

  /// There is no schema. One request tells whether the cluster answers, speaks this protocol, lets the user read and
  /// write, and has room.
  void ensureSchema(CallOptions options, StatusHandler handler) override {
    send(core_, probeOfWrites(core_->keys.recordsFrom(""), core_->keys.countersFrom("")), core_->deadline(options),
         Gateway::Repeat::yes, [core = core_, handler = std::move(handler)](const Outcome& outcome) {
           const CallName call{core->where, "looking at the cluster"};
           if (auto fault = faultIn(call, outcome)) return handler(std::move(fault->error));
           const auto reply = txnReplyFrom(outcome->body);
           if (reply.has_error()) return handler(notUnderstood(call, outcome->member, reply.error().what));
           if (reply->succeeded)
             return handler(notUnderstood(call, outcome->member, "it wrote what must not be written"));
           handler(StoreStatus{});
         });
  }

  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override {
    if (auto refused = refusalOf(key)) return core_->post(std::move(handler), ReadOutcome{*std::move(refused)});
    readState(core_, key, "reading", core_->deadline(options),
              [core = core_, watcher = watcher_, key, handler = std::move(handler)](const StoreResult<State>& state) {
                if (state.has_error()) return handler(state.error());
                if (isReleased(*state) && watcher->watches(key)) {
                  core->terms.keep(key, std::make_shared<const State>(*state));
                }
                handler(state->told());
              });
  }

  [[nodiscard]] OptionFaults faultsOfPayload(const LeaseKey& key, const std::string& data,
                                             const std::map<std::string, std::string>& attributes) const override {
    OptionFaults faults = LeaseStore::faultsOfPayload(key, data, attributes);
    std::size_t size = data.size();
    for (const auto& [name, text] : attributes) size += name.size() + text.size();
    if (size > mostPayload) {
      faults.push_back({"data", "with the attributes it has " + std::to_string(size) +
                                    " bytes, and a request to etcd has room for " + std::to_string(mostPayload)});
    }
    return faults;
  }

  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    if (auto refused = refusalOf(request)) return refuse(std::move(handler), *std::move(refused));
    const LeaseKey key = request.key;
    const bool holds = request.purpose != Purpose::release;
    const std::string_view doing = tenure::doing(request.purpose);
    const auto decide = [where = core_->where, request = std::move(request)](const State& state) {
      return stored::decideWrite(where, request, state);
    };
    perform(callOf(key, doing, options, decide, std::move(handler), true, holds));
  }

  void list(std::string prefix, CallOptions options, ListHandler handler) override {
    if (auto refused = refusalOfPrefix(prefix)) return core_->post(std::move(handler), ListOutcome{*refused});
    listLeases(core_, prefix, core_->deadline(options), std::move(handler));
  }

  void listPage(std::string prefix, std::string from, CallOptions options, PageHandler handler) override {
    if (auto refused = refusalOfPrefix(prefix)) return core_->post(std::move(handler), PageOutcome{*refused});
    etcd_store::listPage(core_, prefix, from, core_->deadline(options), std::move(handler));
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
    readState(core_, key, "reading the tokens of", core_->deadline(options),
              [core = core_, key, handler = std::move(handler)](const StoreResult<State>& state) {
                if (state.has_error()) return handler(state.error());
                handler(tokensIn(*core, key, *state));
              });
  }

  void setTokens(const LeaseKey& key, StoredTokens expected, FencingToken token, CallOptions options,
                 WriteHandler handler) override {
    if (auto refused = refusalOfRecovery(key, token)) return refuse(std::move(handler), *std::move(refused));
    SystemRandom random;
    change(
        key, "setting the tokens of", options,
        [core = core_, key, expected = std::move(expected), token, version = uuid4(random)](const State& state) {
          return stored::decideTokens(tokensIn(*core, key, state), expected, token, version);
        },
        std::move(handler));
  }

  [[nodiscard]] std::shared_ptr<void> watch(const LeaseKey& key, std::function<void()> hint) override {
    auto watching = watcher_->watch(key, std::move(hint));
    if (!watching) return nullptr;
    return {watching.get(), [core = core_, key, watching](void*) mutable {
              watching.reset();
              core->terms.forget(key);
            }};
  }

  [[nodiscard]] std::shared_ptr<void> watchLoss(std::function<void()> hint) override {
    return watcher_->watchLoss(std::move(hint));
  }

 private:
  [[nodiscard]] WriteCallPtr callOf(const LeaseKey& key, std::string_view doing, CallOptions options,
                                    std::function<Decision(const State&)> decide, WriteHandler handler, bool repeats,
                                    bool holds) const {
    return std::make_shared<WriteCall>(
        WriteCall{core_, key, doing, core_->deadline(options), std::move(decide), std::move(handler), repeats, holds});
  }

  /// A change by somebody who need not be the holder. The record does not show whether a copy was carried out, so
  /// there are no copies.
  void change(const LeaseKey& key, std::string_view doing, CallOptions options,
              std::function<Decision(const State&)> decide, WriteHandler handler) {
    core_->terms.forget(key);
    perform(callOf(key, doing, options, std::move(decide), std::move(handler), false, false));
  }

  void refuse(WriteHandler handler, StoreError error) const {
    core_->post(std::move(handler), WriteOutcome{Rejected{std::move(error)}});
  }

  [[nodiscard]] std::optional<StoreError> refusalOfPrefix(const std::string& prefix) const {
    if (isPlainText(prefix)) return std::nullopt;
    return StoreError{ErrorClass::misconfigured, core_->where + ": the prefix is not UTF-8 text without NUL"};
  }

  const std::shared_ptr<Gateway> gateway_;
  const CorePtr core_;
  const std::shared_ptr<stored::HintWatcher> watcher_;
};

}  // namespace

std::shared_ptr<LeaseStore> makeStore(const std::string& prefix, StoreParts parts) {
  return std::make_shared<EtcdStore>(prefix, std::move(parts));
}

}  // namespace tenure::etcd_store
