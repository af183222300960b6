#include "listing.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "record_codec.hpp"
#include "replies.hpp"

namespace tenure::kubernetes_store {
namespace {

struct Listing {
  CorePtr core;
  std::string prefix;
  CallDeadline deadline;
  ListHandler handler;
  std::vector<ListedLease> leases{};
};

CallName nameOf(const Core& core) { return {core.where, "listing leases"}; }

/// Empty: it has no record.
std::optional<ListedLease> listed(const Core& core, const LeaseObject& object) {
  const LeaseKey key = leaseIn(object).value_or(LeaseKey{object.name});
  const Place place{core.where, key};
  const stored::StoredLease lease = storedIn(place, object);
  if (lease.record.has_error()) return ListedLease{key, lease.record.error()};
  if (!*lease.record) return std::nullopt;
  ListedLease out{key, (*lease.record)->record};
  if (const auto tokens = tokensIn(place, object)) out.warning = disagreementIn(*tokens);
  return out;
}

void takePage(const Core& core, const std::string& prefix, const Outcome& outcome, const PageHandler& handler) {
  // The page's moment has been forgotten. The server then says where the same order goes on now.
  if (outcome && outcome->status == 410) {
    std::string next = statusFrom(outcome->body).next;
    if (!next.empty()) return handler(ListPage{{}, std::move(next)});
  }
  if (auto fault = faultIn(nameOf(core), outcome)) return handler(std::move(fault->error));
  auto read = pageFrom(outcome->body);
  if (read.has_error()) return handler(notUnderstood(nameOf(core), read.error().what));
  ListPage page{{}, std::move(read->next)};
  for (const LeaseObject& object : read->items) {
    auto lease = listed(core, object);
    if (lease && lease->key.name.starts_with(prefix)) page.leases.push_back(std::move(*lease));
  }
  handler(std::move(page));
}

void nextPage(const std::shared_ptr<Listing>& listing, const std::string& from) {
  listPage(listing->core, listing->prefix, from, listing->deadline, [listing](PageOutcome page) {
    if (page.has_error()) return listing->handler(page.error());
    std::move(page->leases.begin(), page->leases.end(), std::back_inserter(listing->leases));
    if (!page->next.empty()) return nextPage(listing, page->next);
    std::sort(listing->leases.begin(), listing->leases.end(),
              [](const ListedLease& a, const ListedLease& b) { return a.key < b.key; });
    listing->handler(std::move(listing->leases));
  });
}

}  // namespace

void listLeases(const CorePtr& core, const std::string& prefix, const CallDeadline& deadline, ListHandler handler) {
  nextPage(std::make_shared<Listing>(Listing{core, prefix, deadline, std::move(handler)}), "");
}

void listPage(const CorePtr& core, const std::string& prefix, const std::string& from, const CallDeadline& deadline,
              PageHandler handler) {
  send(core, core->requests.list({}, leasesOfAPage, from), deadline,
       [core, prefix, handler = std::move(handler)](const Outcome& outcome) {
         takePage(*core, prefix, outcome, handler);
       });
}

}  // namespace tenure::kubernetes_store
