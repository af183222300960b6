#include "lease_call.hpp"

#include <algorithm>

#include "requests.hpp"

namespace tenure::dynamodb_store {
namespace {

/// A listing page by page, within the time of one call.
struct Listing {
  CorePtr core;
  std::string prefix;
  Deadline deadline;
  ListHandler handler;
  std::vector<ListedLease> leases{};
};

void nextPage(const std::shared_ptr<Listing>& listing, std::string_view startKey) {
  listPage(listing->core, listing->prefix, startKey, listing->deadline, [listing](PageOutcome page) {
    if (page.has_error()) return listing->handler(page.error());
    std::move(page->leases.begin(), page->leases.end(), std::back_inserter(listing->leases));
    if (!page->next.empty()) return nextPage(listing, page->next);
    // A scan goes by hash of the key.
    std::sort(listing->leases.begin(), listing->leases.end(),
              [](const ListedLease& a, const ListedLease& b) { return a.key < b.key; });
    listing->handler(std::move(listing->leases));
  });
}

// The condition did not hold for the request that was answered. Only the record tells whether a copy of that request
// came before it, so a record that is not understood leaves the write unknown.
void answerState(const LeaseCall& call, StoredOutcome state) {
  if (state.has_error() && call.leavesVersion) return call.handler(Unknown{state.error()});
  if (state.has_error()) return call.handler(Rejected{state.error()});
  std::optional<LeaseRecord> current;
  if (*state) current = std::move((*state)->record);
  call.handler(Conflict{std::move(current)});
}

}  // namespace

void readLease(const CorePtr& core, const LeaseKey& key, const Deadline& deadline, ReadHandler handler) {
  send(core, "GetItem", readRequest(core->layout, key), deadline,
       [core, key, handler = std::move(handler)](const aws::JsonOutcome& outcome) {
         const auto reply = parseReply({core->where, "reading", &key}, outcome);
         if (reply.has_error()) return handler(reply.error().error);
         auto found = itemIn({core->layout, core->where, key}, *reply);
         if (found.has_error()) return handler(found.error());
         if (!*found) return handler(std::optional<LeaseRecord>{});
         handler(std::optional{std::move((*found)->record)});
       });
}

void listLeases(const CorePtr& core, std::string prefix, const Deadline& deadline, ListHandler handler) {
  nextPage(std::make_shared<Listing>(Listing{core, std::move(prefix), deadline, std::move(handler)}), "");
}

void listPage(const CorePtr& core, std::string_view prefix, std::string_view startKey, const Deadline& deadline,
              PageHandler handler) {
  send(core, "Scan", listRequest(core->layout, prefix, startKey), deadline,
       [core, handler = std::move(handler)](const aws::JsonOutcome& outcome) {
         const auto reply = parseReply({core->where, "listing leases"}, outcome);
         if (reply.has_error()) return handler(reply.error().error);
         handler(pageIn(core->layout, core->where, *reply));
       });
}

void askToStepDown(const LeaseCallPtr& call, FencingToken token) {
  send(call->core, "UpdateItem", stepDownRequest(call->core->layout, call->key, token), call->deadline,
       [call, token](const aws::JsonOutcome& outcome) {
         const auto reply = parseReply(call->name(), outcome);
         if (reply.has_error()) return answerFault(call, reply.error());
         call->handler(Applied{token, true});
       });
}

void answerConflict(const LeaseCallPtr& call, const std::optional<boost::json::object>& image) {
  if (image) return answerState(*call, itemIn(call->subject(), {{"Item", *image}}));
  // Either there is no item, or the server does not tell images (servers from before June 2023, some emulators).
  send(call->core, "GetItem", readRequest(call->core->layout, call->key), call->deadline,
       [call](const aws::JsonOutcome& outcome) {
         const auto reply = parseReply(call->name(), outcome);
         if (reply.has_error()) return call->handler(Conflict{});
         answerState(*call, itemIn(call->subject(), *reply));
       });
}

void answerFault(const LeaseCallPtr& call, const Fault& fault) {
  if (fault.maybeApplied) return call->handler(Unknown{fault.error});
  Refusal refusal = refusalIn(call->name(), fault);
  if (refusal.kind == Refusal::Kind::condition) return answerConflict(call, refusal.image);
  call->handler(Rejected{std::move(refusal.error)});
}

}  // namespace tenure::dynamodb_store
