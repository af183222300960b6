#include <utility>
#include <vector>

#include "lockcore/port/stored_key.hpp"
#include "record_codec.hpp"
#include "replies.hpp"
#include "requests.hpp"
#include "state.hpp"

namespace tenure::etcd_store {
namespace {

struct Page {
  CorePtr core;
  CallDeadline deadline;
  stored::ScanHandler handler;
  ListPage page{};
  std::vector<KeyValue> records{};  ///< of page.leases
};
using PagePtr = std::shared_ptr<Page>;

CallName nameOf(const Core& core) { return {core.where, "listing leases"}; }

/// The entries of one range, or why there are none.
StoreResult<TxnReply> rangesIn(const Core& core, const Outcome& outcome, std::size_t parts) {
  const CallName call = nameOf(core);
  if (auto fault = faultIn(call, outcome)) return std::move(fault->error);
  auto reply = txnReplyFrom(outcome->body);
  if (reply.has_error()) return notUnderstood(call, outcome->member, reply.error().what);
  bool good = reply->succeeded && reply->parts.size() == parts;
  for (const Part& part : reply->parts) good = good && part.kind == Part::Kind::read;
  if (!good) return notUnderstood(call, outcome->member, "the answer does not have what was asked for");
  return std::move(*reply);
}

/// Where the counter disagrees with the record. The counters are as they were when the records were read, so an
/// acquisition between the two requests is no disagreement.
void compareCounters(Page& page, const TxnReply& reply) {
  for (std::size_t at = 0; at < reply.parts.size(); ++at) {
    ListedLease& lease = page.page.leases[at];
    const auto& found = reply.parts[at].found;
    if (lease.record.has_error() || found.size() > 1) continue;
    const auto tokens = tokensFrom({page.core->where, lease.key, page.records[at].key}, page.records[at].value,
                                   found.empty() ? std::nullopt : std::optional{found.front().value});
    if (tokens.has_value()) lease.warning = disagreementIn(*tokens);
  }
}

/// The warnings are an extra: a revision that was compacted in between costs them, and not the listing.
void readCounters(const PagePtr& page, std::int64_t revision) {
  if (page->page.leases.empty()) return page->handler(std::move(page->page));
  Txn txn;
  for (const ListedLease& lease : page->page.leases) txn.read(page->core->keys.counterOf(lease.key), revision);
  send(page->core, txn.body(), page->deadline, Gateway::Repeat::yes, [page](const Outcome& outcome) {
    const auto reply = rangesIn(*page->core, outcome, page->page.leases.size());
    if (reply.has_value()) compareCounters(*page, *reply);
    page->handler(std::move(page->page));
  });
}

void takeRecords(const PagePtr& page, const Outcome& outcome) {
  auto reply = rangesIn(*page->core, outcome, 1);
  if (reply.has_error()) return page->handler(reply.error());
  for (KeyValue& entry : reply->parts.front().found) {
    auto key = page->core->keys.leaseAtRecord(entry.key);
    if (!key) return page->handler(notUnderstood(nameOf(*page->core), outcome->member, "the answer has a foreign key"));
    if (page->page.leases.size() == leasesOfAPage) {
      page->page.next = placeOf(*key);
      break;
    }
    auto stored = recordFrom({page->core->where, *key, entry.key}, entry.value);
    StoreResult<LeaseRecord> record =
        stored.has_error() ? StoreResult<LeaseRecord>{stored.error()} : std::move(stored->record);
    page->page.leases.push_back({std::move(*key), std::move(record)});
    page->records.push_back(std::move(entry));
  }
  readCounters(page, reply->revision);
}

}  // namespace

void scanLeases(const CorePtr& core, const std::string& prefix, const std::string& from, const CallDeadline& deadline,
                stored::ScanHandler handler) {
  const auto first = from.empty() ? std::nullopt : keyAt(from);
  if (!from.empty() && !first) {
    return core->post(std::move(handler),
                      PageOutcome{StoreError{
                          ErrorClass::misconfigured,
                          core->where + ": \"" + from + "\" is not a place in a listing; give the `next` of a page"}});
  }
  const std::string all = core->keys.recordsFrom(prefix);
  Txn txn;
  // One more than a page has, where the next one begins.
  txn.readRange(first ? core->keys.recordOf(*first) : all, endOf(all), leasesOfAPage + 1);
  const auto page = std::make_shared<Page>(Page{core, deadline, std::move(handler)});
  send(core, txn.body(), deadline, Gateway::Repeat::yes,
       [page](const Outcome& outcome) { takeRecords(page, outcome); });
}

}  // namespace tenure::etcd_store
