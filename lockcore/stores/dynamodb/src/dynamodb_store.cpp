#include <stdexcept>
#include <utility>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/stores/dynamodb_store.hpp>

#include "lease_call.hpp"
#include "listing.hpp"
#include "lockcore/port/extended_store.hpp"
#include "lockcore/port/store_checks.hpp"
#include "options_check.hpp"
#include "retry_quota.hpp"
#include "shared_schema.hpp"
#include "store.hpp"
#include "table_check.hpp"

namespace tenure {
namespace dynamodb_store {
namespace {

ReadHandler counted(const std::shared_ptr<RetryQuota>& quota, const LeaseKey& key, ReadHandler handler) {
  return [quota, key, handler = std::move(handler)](ReadOutcome outcome) {
    outcome.has_error() ? quota->failed(key, outcome.error()) : quota->served(key);
    handler(std::move(outcome));
  };
}

WriteHandler counted(const std::shared_ptr<RetryQuota>& quota, const LeaseKey& key, WriteHandler handler) {
  return [quota, key, handler = std::move(handler)](WriteOutcome outcome) {
    if (const auto* rejected = std::get_if<Rejected>(&outcome)) {
      quota->failed(key, rejected->error);
    } else if (const auto* unknown = std::get_if<Unknown>(&outcome)) {
      quota->failed(key, unknown->error);
    } else {
      quota->served(key);
    }
    handler(std::move(outcome));
  };
}

/// A thin shell: calls become requests. A call under way lives in its handlers, so it is answered even when the store
/// is gone.
class DynamoDbStore final : public ExtendedStore {
 public:
  DynamoDbStore(DynamoDbStoreOptions options, Surroundings surroundings)
      : client_{std::move(surroundings.client)},
        core_{coreFrom(std::move(options), surroundings, client_)},
        check_{std::make_shared<TableCheck>(core_)},
        schema_{std::make_shared<SharedSchema>(core_, check_)} {}

  [[nodiscard]] std::string describe() const override { return core_->where; }

  void ensureSchema(CallOptions options, StatusHandler handler) override {
    schema_->ensure(deadlineOf(options), std::move(handler));
  }

  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override {
    auto refused = errorOfKey(key);
    if (!refused) refused = quotaErrorOf(key);
    if (refused) return post(std::move(handler), ReadOutcome{*std::move(refused)});
    readLease(core_, key, deadlineOf(options), counted(quota_, key, std::move(handler)));
  }

  [[nodiscard]] OptionFaults faultsOfPayload(const LeaseKey& key, const std::string& data,
                                             const std::map<std::string, std::string>& attributes) const override {
    OptionFaults faults = ExtendedStore::faultsOfPayload(key, data, attributes);
    for (OptionFault& fault : core_->layout.faultsOf(key, data, attributes)) faults.push_back(std::move(fault));
    return faults;
  }
  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    auto refused = errorOf(request);
    if (!refused) refused = core_->layout.errorOf(request);
    const bool canWait = request.purpose == WriteRequest::Purpose::acquire;
    if (!refused && canWait) refused = quotaErrorOf(request.key);
    if (refused) return post(std::move(handler), WriteOutcome{Rejected{*std::move(refused)}});
    const auto call = std::make_shared<LeaseCall>(LeaseCall{core_, request.key, deadlineOf(options),
                                                            counted(quota_, request.key, std::move(handler)),
                                                            doing(request.purpose)});
    check_->pass(call->deadline, [call, request = std::move(request)](std::optional<StoreError> unusable) mutable {
      if (unusable) return call->handler(Rejected{*std::move(unusable)});
      writeLease(call, std::move(request));
    });
  }

  void list(std::string prefix, CallOptions options, ListHandler handler) override {
    if (auto refused = errorOfPrefix(prefix)) return post(std::move(handler), ListOutcome{*std::move(refused)});
    listLeases(core_, price_, std::move(prefix), deadlineOf(options), std::move(handler));
  }

  void listName(std::string name, CallOptions options, ListHandler handler) override {
    if (auto refused = errorOf(LeaseKey{name})) return post(std::move(handler), ListOutcome{*std::move(refused)});
    listLeasesOfName(core_, std::move(name), deadlineOf(options), std::move(handler));
  }

  [[nodiscard]] bool keepsGroupsTogether() const noexcept override { return core_->layout.hasSortKey(); }

  void listPage(std::string prefix, std::string from, CallOptions options, PageHandler handler) override {
    if (auto refused = errorOfPrefix(prefix)) return post(std::move(handler), PageOutcome{*std::move(refused)});
    dynamodb_store::listPage(core_, prefix, from, deadlineOf(options), std::move(handler));
  }

  void requestStepDownFor(const LeaseKey& key, StepDownRequest request, CallOptions options,
                          WriteHandler handler) override {
    auto refused = errorOfKey(key);
    if (!refused) refused = errorOf(key, request);
    if (refused) return post(std::move(handler), WriteOutcome{Rejected{*std::move(refused)}});
    askToStepDown(std::make_shared<LeaseCall>(LeaseCall{core_, key, deadlineOf(options), std::move(handler),
                                                        "asking for a step-down of", false}),
                  request);
  }

  void remove(const LeaseKey& key, RecordVersion version, CallOptions options, WriteHandler handler) override {
    if (auto refused = errorOfKey(key)) {
      return post(std::move(handler), WriteOutcome{Rejected{*std::move(refused)}});
    }
    removeLease(std::make_shared<LeaseCall>(
                    LeaseCall{core_, key, deadlineOf(options), std::move(handler), "removing the record of", false}),
                std::move(version));
  }

  void readTokens(const LeaseKey& key, CallOptions options, TokensHandler handler) override {
    if (auto refused = errorOfKey(key)) return post(std::move(handler), StoreResult<StoredTokens>{*refused});
    dynamodb_store::readTokens(core_, key, deadlineOf(options), std::move(handler));
  }

  void setTokens(const LeaseKey& key, StoredTokens expected, FencingToken token, CallOptions options,
                 WriteHandler handler) override {
    auto refused = errorOfRecovery(key, token);
    if (!refused) refused = core_->layout.errorOf(key);
    if (refused) return post(std::move(handler), WriteOutcome{Rejected{*std::move(refused)}});
    dynamodb_store::setTokens(std::make_shared<LeaseCall>(LeaseCall{core_, key, deadlineOf(options), std::move(handler),
                                                                    "setting the tokens of", false}),
                              expected, token);
  }

 private:
  static CorePtr coreFrom(DynamoDbStoreOptions options, Surroundings& surroundings,
                          const std::shared_ptr<aws::JsonClient>& client) {
    Layout layout{options};
    std::string where = "dynamodb table " + options.table + " (" + client->describe() + ')';
    return std::make_shared<const Core>(Core{std::move(options), std::move(layout), std::move(where),
                                             std::move(surroundings.logger), std::move(surroundings.scheduler), client,
                                             std::move(surroundings.epochSeconds)});
  }

  [[nodiscard]] Deadline deadlineOf(CallOptions options) const { return {core_->scheduler->clock(), options.timeout}; }

  [[nodiscard]] std::optional<StoreError> errorOfKey(const LeaseKey& key) const {
    auto refused = errorOf(key);
    return refused ? refused : core_->layout.errorOf(key);
  }

  [[nodiscard]] std::optional<StoreError> errorOfPrefix(const std::string& prefix) const {
    if (isUtf8(prefix)) return std::nullopt;
    return StoreError{ErrorClass::misconfigured, core_->where + ": the prefix is not UTF-8 text"};
  }

  [[nodiscard]] std::optional<StoreError> quotaErrorOf(const LeaseKey& key) const {
    auto refused = quota_->errorOf(key, core_->scheduler->now());
    if (refused) refused->message = core_->where + ": " + refused->message;
    return refused;
  }

  template <class Outcome>
  void post(std::function<void(Outcome)> handler, Outcome outcome) {
    core_->scheduler->post(
        [handler = std::move(handler), outcome = std::move(outcome)]() mutable { handler(std::move(outcome)); });
  }

  const std::shared_ptr<aws::JsonClient> client_;
  const CorePtr core_;
  const std::shared_ptr<TableCheck> check_;
  const std::shared_ptr<SharedSchema> schema_;
  const std::shared_ptr<RetryQuota> quota_{std::make_shared<RetryQuota>()};
  const std::shared_ptr<ScanPrice> price_{
      std::make_shared<ScanPrice>(core_->where, core_->logger, !core_->layout.hasSortKey())};
};

}  // namespace

std::shared_ptr<LeaseStore> makeStore(DynamoDbStoreOptions options, Surroundings surroundings) {
  checkOptions(options);
  if (!surroundings.client) throw std::invalid_argument{"DynamoDB store: there is no client"};
  return std::make_shared<DynamoDbStore>(std::move(options), std::move(surroundings));
}

}  // namespace dynamodb_store

std::shared_ptr<LeaseStore> makeDynamoDbStore(DynamoDbStoreOptions options, std::shared_ptr<aws::JsonClient> client,
                                              Logger logger) {
  return dynamodb_store::makeStore(std::move(options), {std::move(client), std::move(logger), sharedScheduler(),
                                                        [] { return wallClockMillisForDisplay() / 1'000; }});
}

}  // namespace tenure
