
#include "extended_store.hpp"

#include <utility>

#include <tenure/lockcore/runtime.hpp>

#include "quoted_text.hpp"
#include "successor_text.hpp"

namespace tenure {

OptionFaults ExtendedStore::faultsOfPayload(const LeaseKey& /*key*/, const std::string& /*data*/,
                                            const std::map<std::string, std::string>& attributes) const {
  OptionFaults faults;
  for (const auto& [name, text] : attributes) {
    if (name == successorAttribute) {
      faults.push_back({"attributes", '"' + name + "\" would be taken for a part of the record itself"});
    } else if (name.empty() || !isPlainText(name) || !isPlainText(text)) {
      faults.push_back({"attributes", "name and text must be UTF-8 without NUL, and the name not empty"});
    }
  }
  return faults;
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): stores that do remove keep them
void LeaseStore::remove(const LeaseKey& /*key*/, RecordVersion /*version*/, CallOptions /*options*/,
                        WriteHandler handler) {
  const StoreError cannot{ErrorClass::misconfigured, describe() + ": this store does not delete records"};
  sharedScheduler()->post([handler = std::move(handler), cannot] { handler(Rejected{cannot}); });
}

void ExtendedStore::readTokens(const LeaseKey& /*key*/, CallOptions /*options*/, TokensHandler handler) {
  const StoreError cannot{ErrorClass::misconfigured, describe() + ": this store does not show what it stores"};
  sharedScheduler()->post([handler = std::move(handler), cannot] { handler(cannot); });
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): stores that do set tokens keep them
void ExtendedStore::setTokens(const LeaseKey& /*key*/, StoredTokens /*expected*/, FencingToken /*token*/,
                              CallOptions /*options*/, WriteHandler handler) {
  const StoreError cannot{ErrorClass::misconfigured, describe() + ": this store does not set tokens"};
  sharedScheduler()->post([handler = std::move(handler), cannot] { handler(Rejected{cannot}); });
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): stores that do page keep it
void ExtendedStore::listPage(std::string prefix, std::string /*from*/, CallOptions options, PageHandler handler) {
  list(std::move(prefix), options, [handler = std::move(handler)](ListOutcome all) {
    if (all.has_error()) return handler(all.error());
    handler(ListPage{std::move(*all), {}});
  });
}

void ExtendedStore::listName(std::string name, CallOptions options, ListHandler handler) {
  list(name, options, [name, handler = std::move(handler)](ListOutcome all) {
    if (all.has_value()) std::erase_if(*all, [&](const ListedLease& lease) { return lease.key.name != name; });
    handler(std::move(all));
  });
}

namespace {

/// A user's store. What it does not have is that of `Extras`.
template <class Extras>
class UserStore final : public Extras {
 public:
  template <class... Behind>
  explicit UserStore(std::shared_ptr<LeaseStore> store, Behind&&... behind)
      : Extras{std::forward<Behind>(behind)...}, store_{std::move(store)} {}

  [[nodiscard]] std::string describe() const override { return store_->describe(); }
  void ensureSchema(CallOptions options, StatusHandler handler) override {
    store_->ensureSchema(options, std::move(handler));
  }
  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override {
    store_->read(key, options, std::move(handler));
  }
  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    store_->write(std::move(request), options, std::move(handler));
  }
  void list(std::string prefix, CallOptions options, ListHandler handler) override {
    store_->list(std::move(prefix), options, std::move(handler));
  }
  void requestStepDownFor(const LeaseKey& key, StepDownRequest request, CallOptions options,
                          WriteHandler handler) override {
    if (request.successor.name.empty()) return store_->requestStepDown(key, request.token, options, std::move(handler));
    const StoreError cannot{ErrorClass::misconfigured, describe() + ": this store cannot name a successor"};
    sharedScheduler()->post([handler = std::move(handler), cannot] { handler(Rejected{cannot}); });
  }
  void remove(const LeaseKey& key, RecordVersion version, CallOptions options, WriteHandler handler) override {
    store_->remove(key, std::move(version), options, std::move(handler));
  }
  [[nodiscard]] std::shared_ptr<void> watch(const LeaseKey& key, std::function<void()> hint) override {
    return store_->watch(key, std::move(hint));
  }

 private:
  const std::shared_ptr<LeaseStore> store_;
};

}  // namespace

std::shared_ptr<ExtendedStore> extended(std::shared_ptr<LeaseStore> store) {
  if (!store) return nullptr;
  if (auto own = std::dynamic_pointer_cast<ExtendedStore>(store)) return own;
  auto behind = store->behind();
  if (!behind) return std::make_shared<UserStore<ExtendedStore>>(std::move(store));
  return std::make_shared<UserStore<ForwardingStore>>(std::move(store), std::move(behind));
}

std::string disagreementIn(const StoredTokens& tokens) {
  if (tokens.copy.empty() || tokens.copy == tokens.counter) return {};
  if (tokens.announced) {
    return "the term with token " + tokens.copy +
           " is over: a candidate has waited out its lease and has announced that it takes over, and transactions of "
           "writers that hold the lease's row keep it out. If this stays, look for a transaction that holds the row "
           "for long";
  }
  const std::string counter = tokens.counter.empty() ? "which is missing" : tokens.counter;
  return "the record's token " + tokens.copy + " is not that of the fencing counter, " + counter +
         ": one of them was changed by hand, or an older copy was put back; the next term's token is above both";
}

}  // namespace tenure
