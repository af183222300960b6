#include "listing.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "errors.hpp"
#include "replies.hpp"
#include "requests.hpp"

namespace tenure::dynamodb_store {
namespace {

/// A listing page by page, within the time of one call.
struct Listing {
  CorePtr core;
  std::string what;  ///< the prefix or the name
  Deadline deadline;
  ListHandler handler;
  std::shared_ptr<ScanPrice> price{};  ///< null: a query
  Instant start{};
  std::vector<ListedLease> leases{};
  std::optional<double> cost{0.0};  ///< empty: a page did not tell
};
using ListingPtr = std::shared_ptr<Listing>;

void finish(Listing& listing) {
  // A scan's order is that of the keys' hashes, and a query's may differ in the lease without a sort key.
  std::sort(listing.leases.begin(), listing.leases.end(),
            [](const ListedLease& a, const ListedLease& b) { return a.key < b.key; });
  if (listing.price) listing.price->listed(listing.what, listing.start, listing.cost);
  listing.handler(std::move(listing.leases));
}

void nextPage(const ListingPtr& listing, std::string_view startKey) {
  const Layout& layout = listing->core->layout;
  const bool scans = listing->price != nullptr;
  send(listing->core, scans ? "Scan" : "Query",
       scans ? listRequest(layout, listing->what, startKey) : queryRequest(layout, listing->what, startKey),
       listing->deadline, [listing, scans](const aws::JsonOutcome& outcome) {
         const Core& core = *listing->core;
         const auto reply = parseReply({core.where, "listing leases"}, outcome);
         if (reply.has_error()) return listing->handler(reply.error().error);
         PageOutcome page = scans ? pageIn(core.layout, core.where, *reply)
                                  : pageOfNameIn(core.layout, core.where, listing->what, *reply);
         if (page.has_error()) return listing->handler(page.error());
         const std::optional<double> cost = costIn(*reply);
         listing->cost = listing->cost && cost ? std::optional{*listing->cost + *cost} : std::nullopt;
         std::move(page->leases.begin(), page->leases.end(), std::back_inserter(listing->leases));
         page->next.empty() ? finish(*listing) : nextPage(listing, page->next);
       });
}

}  // namespace

void listPage(const CorePtr& core, std::string_view prefix, std::string_view startKey, const Deadline& deadline,
              PageHandler handler) {
  send(core, "Scan", listRequest(core->layout, prefix, startKey), deadline,
       [core, handler = std::move(handler)](const aws::JsonOutcome& outcome) {
         const auto reply = parseReply({core->where, "listing leases"}, outcome);
         if (reply.has_error()) return handler(reply.error().error);
         handler(pageIn(core->layout, core->where, *reply));
       });
}

void listLeases(const CorePtr& core, const std::shared_ptr<ScanPrice>& price, std::string prefix,
                const Deadline& deadline, ListHandler handler) {
  const Instant start = core->scheduler->now();
  nextPage(std::make_shared<Listing>(Listing{core, std::move(prefix), deadline, std::move(handler), price, start}), "");
}

void listLeasesOfName(const CorePtr& core, std::string name, const Deadline& deadline, ListHandler handler) {
  nextPage(std::make_shared<Listing>(Listing{core, std::move(name), deadline, std::move(handler)}), "");
}

}  // namespace tenure::dynamodb_store
