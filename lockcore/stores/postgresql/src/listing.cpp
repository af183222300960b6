#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "calls.hpp"
#include "lockcore/port/key_place.hpp"

namespace tenure::postgresql_store {
namespace {

ListedLease listed(StoredLease lease, const Row& row) {
  StoreResult<LeaseRecord> record = std::move(*lease.record);
  std::string warning = record.has_value() ? disagreementIn(tokensFrom(row)) : std::string{};
  return {std::move(lease.key), std::move(record), std::move(warning)};
}

/// All rows of the answer. A row that is not understood is reported beside the good ones.
PageOutcome pageFrom(const StoreCore& core, const JobReply& reply) {
  const Call call = core.call("listing leases");
  if (auto fault = faultOfRead(call, reply)) return std::move(*fault);
  ListPage page;
  if (reply.rows.empty()) return page;
  for (const Row& row : reply.rows.front()) {
    auto lease = leaseFrom(core.place(), row);
    if (lease.has_error()) return lease.error();
    if (lease->record) page.leases.push_back(listed(std::move(*lease), row));
  }
  return page;
}

/// A listing of all, page by page. One statement for all would keep a connection, and a snapshot of the table, for as
/// long as the table is big.
struct Listing {
  CorePtr core;
  std::string prefix;
  Deadline deadline;
  ListHandler handler;
  std::vector<ListedLease> found{};
};

void nextPage(const std::shared_ptr<Listing>& listing, const std::string& from) {
  listPage(listing->core, listing->prefix, from, listing->deadline, [listing](PageOutcome page) {
    if (page.has_error()) return listing->handler(page.error());
    std::move(page->leases.begin(), page->leases.end(), std::back_inserter(listing->found));
    if (page->next.empty()) return listing->handler(std::move(listing->found));
    nextPage(listing, page->next);
  });
}

}  // namespace

void listLeases(const CorePtr& core, const std::string& prefix, const Deadline& deadline, ListHandler handler) {
  nextPage(std::make_shared<Listing>(Listing{core, prefix, deadline, std::move(handler)}), "");
}

void listPage(const CorePtr& core, const std::string& prefix, const std::string& from, const Deadline& deadline,
              PageHandler handler) {
  const auto first = from.empty() ? LeaseKey{prefix, ""} : keyAt(from);
  if (!first) {
    return core->post(std::move(handler),
                      PageOutcome{StoreError{ErrorClass::misconfigured,
                                             core->where() + ": \"" + from +
                                                 "\" is not a place in a listing; give the `next` of a page"}});
  }
  // One more than a page has, where the next one begins.
  StoreCore::run(core, Jobs::list(prefix, *first, leasesOfAPage + 1), deadline,
                 [core, handler = std::move(handler)](const JobReply& reply) {
                   PageOutcome page = pageFrom(*core, reply);
                   if (page.has_value() && page->leases.size() > leasesOfAPage) {
                     page->next = placeOf(page->leases.back().key);
                     page->leases.pop_back();
                   }
                   handler(std::move(page));
                 });
}

}  // namespace tenure::postgresql_store
