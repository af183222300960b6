#include "register_store.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "lockcore/port/extended_store.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "lockcore/port/random_draws.hpp"
#include "lockcore/port/store_checks.hpp"
#include "lockcore/runtime/system_random.hpp"
#include "register_write.hpp"

namespace tenure::stored {
namespace {

/// A hundred thousand leases as they usually are, or a thousand with as much data as they may have.
constexpr std::size_t mostBytesOfAListing = 256U << 20U;

struct Listing {
  RegisterCorePtr core;
  std::string prefix;
  CallDeadline deadline;
  ListHandler handler;
  std::vector<ListedLease> leases{};
  std::size_t bytes{0};  ///< of the answers so far
};

void nextPage(const std::shared_ptr<Listing>& listing, const std::string& from) {
  listing->core->leases->scan(listing->prefix, from, listing->deadline, [listing](StoreResult<ListPage> page) {
    if (page.has_error()) return listing->handler(page.error());
    listing->bytes += page->bytes;
    if (listing->bytes > mostBytesOfAListing) {
      return listing->handler(
          StoreError{ErrorClass::transient,
                     listing->core->leases->where() + ": listing leases: all answers have more than 256 MiB together"});
    }
    std::move(page->leases.begin(), page->leases.end(), std::back_inserter(listing->leases));
    if (!page->next.empty()) return nextPage(listing, page->next);
    std::sort(listing->leases.begin(), listing->leases.end(),
              [](const ListedLease& a, const ListedLease& b) { return a.key < b.key; });
    listing->handler(std::move(listing->leases));
  });
}

bool hasRecord(const StoredLease& lease) { return lease.record.has_value() && *lease.record; }

/// Its acquisition is one request then, and a holder in doubt learns which of its writes was the last.
void keepSeen(RegisterCore& core, const LeaseKey& key, const LoadedLease& lease) {
  const auto held = core.known.find(key);
  core.known.keep(key, {lease, held && held->own && isSameTerm(*held->lease, *lease)});
}

/// A call under way lives in its handlers, so it is answered even when the store is gone.
class RegisterStore final : public ExtendedStore {
 public:
  explicit RegisterStore(RegisterParts parts)
      : core_{std::make_shared<RegisterCore>(parts)}, connection_{std::move(parts.connection)} {}
  ~RegisterStore() override {
    if (core_->hints) core_->hints->close();
  }
  RegisterStore(const RegisterStore&) = delete;
  RegisterStore& operator=(const RegisterStore&) = delete;

  [[nodiscard]] std::string describe() const override { return core_->leases->where(); }

  [[nodiscard]] std::shared_ptr<DeathNotice> deathNotice() override { return core_->extras->deathNotice(); }

  void ensureSchema(CallOptions options, StatusHandler handler) override {
    core_->leases->prepare(deadline(options), std::move(handler));
  }

  void read(const LeaseKey& key, CallOptions options, ReadHandler handler) override {
    if (auto refused = errorOf(key)) return core_->post(std::move(handler), ReadOutcome{*std::move(refused)});
    // A holder that reads is in doubt, and has as little time as for a renewal.
    const auto known = core_->known.find(key);
    const bool holds = known && known->own;
    const bool mayBeLate = options.mayBeLate && !holds;
    if (const LoadedLease release = known && mayBeLate ? releaseOf(key, *known->lease) : nullptr) {
      keepSeen(*core_, key, release);
      return core_->post(std::move(handler), release->answer());
    }
    if (const LoadedLease shown = mayBeLate ? core_->extras->shown(key) : nullptr) {
      if (hasRecord(*shown)) keepSeen(*core_, key, shown);
      return core_->post(std::move(handler), shown->answer());
    }
    core_->leases->load({key, reading, deadline(options), holds},
                        [core = core_, key, handler = std::move(handler)](const StoreResult<LoadedLease>& loaded) {
                          if (loaded.has_error()) return handler(loaded.error());
                          if (core->hints && core->hints->watches(key)) {
                            core->extras->loadedWatched(key, **loaded);
                            if (hasRecord(**loaded)) keepSeen(*core, key, *loaded);
                          } else if (isWorthKeeping(*core, **loaded)) {
                            keepSeen(*core, key, *loaded);
                          }
                          handler((*loaded)->answer());
                        });
  }

  [[nodiscard]] OptionFaults faultsOfPayload(const LeaseKey& key, const std::string& data,
                                             const std::map<std::string, std::string>& attributes) const override {
    OptionFaults faults = ExtendedStore::faultsOfPayload(key, data, attributes);
    for (OptionFault& fault : core_->extras->faultsOfPayload(data, attributes)) faults.push_back(std::move(fault));
    std::size_t size = data.size();
    for (const auto& [name, text] : attributes) size += name.size() + text.size();
    if (const std::size_t most = core_->leases->mostPayload(); size > most) {
      faults.push_back({"data", "with the attributes it has " + std::to_string(size) +
                                    " bytes, and the store has room for " + std::to_string(most)});
    }
    return faults;
  }

  void write(WriteRequest request, CallOptions options, WriteHandler handler) override {
    if (auto refused = errorOf(request)) return refuse(std::move(handler), *std::move(refused));
    const StoreStatus begun = core_->extras->beforeWrite(request, handler);
    if (begun.has_error()) return refuse(std::move(handler), begun.error());
    if (core_->hints) core_->hints->wrote(request.key, request.record.holder);
    RegisterCall call{request.key, doing(request.purpose), deadline(options), true};
    change(
        std::move(call),
        [core = core_, request = std::move(request), refuted = false](const StoredLease& stored) mutable -> Decision {
          // The caller has waited for nothing then: it takes the lease from nobody, also by the very version.
          const bool acquires = request.purpose == WriteRequest::Purpose::acquire;
          if (acquires && core->hints && core->hints->isRefuted(request.key, stored)) refuted = true;
          if (refuted && isHeld(stored)) return Conflict{stored.answer().value()};
          return decideWrite(core->leases->where(), request, stored);
        },
        std::move(handler));
  }

  void list(std::string prefix, CallOptions options, ListHandler handler) override {
    if (auto refused = errorOfPrefix(prefix)) return core_->post(std::move(handler), ListOutcome{*refused});
    nextPage(std::make_shared<Listing>(Listing{core_, std::move(prefix), deadline(options), std::move(handler)}), "");
  }

  void listPage(std::string prefix, std::string from, CallOptions options, PageHandler handler) override {
    if (auto refused = errorOfPrefix(prefix)) return core_->post(std::move(handler), PageOutcome{*refused});
    core_->leases->scan(prefix, from, deadline(options), std::move(handler));
  }

  void requestStepDownFor(const LeaseKey& key, StepDownRequest request, CallOptions options,
                          WriteHandler handler) override {
    if (auto refused = errorOf(key, request)) return refuse(std::move(handler), *std::move(refused));
    change(
        {key, "asking for a step-down of", deadline(options)},
        [request = std::move(request)](const StoredLease& stored) { return decideStepDown(request, stored); },
        std::move(handler));
  }

  void remove(const LeaseKey& key, RecordVersion version, CallOptions options, WriteHandler handler) override {
    if (auto refused = errorOf(key)) return refuse(std::move(handler), *std::move(refused));
    change(
        {key, "removing the record of", deadline(options)},
        [version = std::move(version)](const StoredLease& stored) { return decideRemoval(version, stored); },
        std::move(handler));
  }

  void readTokens(const LeaseKey& key, CallOptions options, TokensHandler handler) override {
    if (auto refused = errorOf(key)) return core_->post(std::move(handler), StoreResult<StoredTokens>{*refused});
    core_->leases->load({key, "reading the tokens of", deadline(options)},
                        [core = core_, key, handler = std::move(handler)](const StoreResult<LoadedLease>& loaded) {
                          if (loaded.has_error()) return handler(loaded.error());
                          handler(core->extras->tokensOf(key, **loaded));
                        });
  }

  void setTokens(const LeaseKey& key, StoredTokens expected, FencingToken token, CallOptions options,
                 WriteHandler handler) override {
    if (auto refused = errorOfRecovery(key, token)) return refuse(std::move(handler), *std::move(refused));
    SystemRandom random;
    change(
        {key, "setting the tokens of", deadline(options)},
        [core = core_, key, expected = std::move(expected), token, version = uuid4(random)](const StoredLease& stored) {
          return decideTokens(core->extras->tokensOf(key, stored), expected, token, version);
        },
        std::move(handler));
  }

  [[nodiscard]] std::shared_ptr<void> watch(const LeaseKey& key, std::function<void()> hint) override {
    if (!core_->hints) return core_->leases->watch(key, std::move(hint));
    auto watching = core_->hints->watch(key, std::move(hint));
    if (!watching) return nullptr;
    return {watching.get(), [core = core_, key, watching](void*) mutable {
              watching.reset();
              core->extras->forgetShown(key);
              const auto known = core->known.find(key);
              if (known && !known->own) core->known.forget(key);
            }};
  }

  [[nodiscard]] std::shared_ptr<void> watchLoss(std::function<void()> hint) override {
    return core_->hints ? core_->hints->watchLoss(std::move(hint)) : nullptr;
  }

 private:
  /// Of a lease that is watched, as the stream has told it.
  [[nodiscard]] LoadedLease releaseOf(const LeaseKey& key, const StoredLease& loaded) const {
    return core_->hints ? core_->hints->takeRelease(key, loaded) : nullptr;
  }

  void change(RegisterCall call, Decide decide, WriteHandler handler) const {
    core_->extras->forgetShown(call.key);  // whoever writes looks at the server
    perform(
        std::make_shared<RegisterWrite>(RegisterWrite{core_, std::move(call), std::move(decide), std::move(handler)}));
  }

  void refuse(WriteHandler handler, StoreError error) const {
    core_->post(std::move(handler), WriteOutcome{Rejected{std::move(error)}});
  }

  [[nodiscard]] CallDeadline deadline(CallOptions options) const {
    return {core_->scheduler->clock(), options.timeout};
  }

  [[nodiscard]] std::optional<StoreError> errorOfPrefix(const std::string& prefix) const {
    if (isPlainText(prefix)) return std::nullopt;
    return StoreError{ErrorClass::misconfigured, core_->leases->where() + ": the prefix is not UTF-8 text without NUL"};
  }

  const RegisterCorePtr core_;
  const std::shared_ptr<void> connection_;
};

}  // namespace

StoreResult<StoredTokens> RegisterExtras::tokensOf(const LeaseKey& /*key*/, const StoredLease& lease) const {
  if (lease.record.has_error()) return lease.record.error();
  if (lease.counter.has_error()) return lease.counter.error();
  return stored::tokensOf(lease);
}

std::shared_ptr<LeaseStore> makeRegisterStore(RegisterParts parts) {
  return std::make_shared<RegisterStore>(std::move(parts));
}

}  // namespace tenure::stored

namespace tenure {

std::shared_ptr<LeaseStore> makeLeaseStore(std::shared_ptr<stored::Register> leases,
                                           std::shared_ptr<Scheduler> scheduler) {
  return stored::makeRegisterStore({std::move(leases), scheduler ? std::move(scheduler) : sharedScheduler()});
}

}  // namespace tenure
