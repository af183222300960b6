
#include <utility>

#include <tenure/lockcore/lease_store.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "quoted_text.hpp"

namespace tenure {

OptionFaults LeaseStore::faultsOfPayload(const LeaseKey& /*key*/, const std::string& /*data*/,
                                         const std::map<std::string, std::string>& attributes) const {
  OptionFaults faults;
  for (const auto& [name, text] : attributes) {
    if (!name.empty() && isPlainText(name) && isPlainText(text)) continue;
    faults.push_back({"attributes", "name and text must be UTF-8 without NUL, and the name not empty"});
  }
  return faults;
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): stores that do remove keep them
void LeaseStore::remove(const LeaseKey& /*key*/, RecordVersion /*version*/, CallOptions /*options*/,
                        WriteHandler handler) {
  const StoreError cannot{ErrorClass::misconfigured, describe() + ": this store does not delete records"};
  sharedScheduler()->post([handler = std::move(handler), cannot] { handler(Rejected{cannot}); });
}

void LeaseStore::readTokens(const LeaseKey& /*key*/, CallOptions /*options*/, TokensHandler handler) {
  const StoreError cannot{ErrorClass::misconfigured, describe() + ": this store does not show what it stores"};
  sharedScheduler()->post([handler = std::move(handler), cannot] { handler(cannot); });
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): stores that do set tokens keep them
void LeaseStore::setTokens(const LeaseKey& /*key*/, StoredTokens /*expected*/, FencingToken /*token*/,
                           CallOptions /*options*/, WriteHandler handler) {
  const StoreError cannot{ErrorClass::misconfigured, describe() + ": this store does not set tokens"};
  sharedScheduler()->post([handler = std::move(handler), cannot] { handler(Rejected{cannot}); });
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): stores that do page keep it
void LeaseStore::listPage(std::string prefix, std::string /*from*/, CallOptions options, PageHandler handler) {
  list(std::move(prefix), options, [handler = std::move(handler)](ListOutcome all) {
    if (all.has_error()) return handler(all.error());
    handler(ListPage{std::move(*all), {}});
  });
}

void LeaseStore::listName(std::string name, CallOptions options, ListHandler handler) {
  list(name, options, [name, handler = std::move(handler)](ListOutcome all) {
    if (all.has_value()) std::erase_if(*all, [&](const ListedLease& lease) { return lease.key.name != name; });
    handler(std::move(all));
  });
}

std::string disagreementIn(const StoredTokens& tokens) {
  if (tokens.copy.empty() || tokens.copy == tokens.counter) return {};
  if (tokens.announced) {
    return "the term with token " + tokens.copy +
           " is over: a candidate has waited out its lease and has announced that "
           "it takes over, and transactions of writers that hold the lease's row keep it out. If this stays, look for "
           "a "
           "transaction that holds the row for long";
  }
  const std::string counter = tokens.counter.empty() ? "which is missing" : tokens.counter;
  return "the record's token " + tokens.copy + " is not that of the fencing counter, " + counter +
         ": one of them was changed by hand, or an older copy was put back; the next term's token is above both";
}

}  // namespace tenure
