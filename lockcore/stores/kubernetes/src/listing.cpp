#include <utility>

#include "lockcore/kubernetes/replies.hpp"
#include "lockcore/port/ascii_text.hpp"
#include "record_codec.hpp"
#include "state.hpp"

namespace tenure::kubernetes_store {
namespace {

/// Where a page begins: `next` of the page before. A server that lies might send pages without an end, so each has to
/// lead on: it begins after the last name of the page before.
struct PageStart {
  std::string last{};   ///< the last object's name so far; empty: there was none
  bool renewed{false};  ///< the server has just given a new `continue` for one that it had forgotten
  std::string next{};   ///< the server's own
};

/// No name has a space.
std::string textOf(const PageStart& place) { return place.last + (place.renewed ? " ~" : " ") + place.next; }

PageStart startFrom(std::string_view text) {
  if (text.empty()) return {};
  PageStart place{std::string{takeUpTo(text, ' ')}};
  place.renewed = text.starts_with('~');
  place.next = text.substr(place.renewed ? 1 : 0);
  return place;
}

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

/// Whether the page has objects, and they stand in the order of their names and behind that of the page before.
bool leadsOn(const LeasePage& page, const PageStart& from) {
  std::string_view last = from.last;
  for (const LeaseObject& object : page.items) {
    if (object.name <= last) return false;
    last = object.name;
  }
  return page.next.empty() || !page.items.empty();
}

PageOutcome pageIn(const Core& core, const std::string& prefix, const PageStart& from, const Outcome& outcome) {
  // The page's moment has been forgotten. The server then says where the same order goes on now.
  if (outcome && outcome->status == 410 && !from.renewed) {
    std::string next = statusFrom(outcome->body).next;
    if (!next.empty()) return ListPage{{}, textOf({from.last, true, std::move(next)})};
  }
  if (auto fault = faultIn(nameOf(core), outcome)) return std::move(fault->error);
  auto read = pageFrom(outcome->body);
  if (read.has_error()) return notUnderstood(nameOf(core), read.error().what);
  if (!leadsOn(*read, from)) return notUnderstood(nameOf(core), "the answer does not continue the one before");
  ListPage page;
  if (!read->next.empty()) page.next = textOf({read->items.back().name, false, std::move(read->next)});
  for (const LeaseObject& object : read->items) {
    auto lease = listed(core, object);
    if (lease && lease->key.name.starts_with(prefix)) page.leases.push_back(std::move(*lease));
  }
  return page;
}

}  // namespace

void scanLeases(const CorePtr& core, const std::string& prefix, const std::string& from, const CallDeadline& deadline,
                stored::ScanHandler handler) {
  PageStart place = startFrom(from);
  Request request = core->requests.list({}, leasesOfAPage, place.next);
  send(core, std::move(request), deadline,
       [core, prefix, place = std::move(place), handler = std::move(handler)](const Outcome& outcome) {
         auto page = pageIn(*core, prefix, place, outcome);
         if (page.has_error()) return handler(page.error());
         page->bytes = outcome ? outcome->body.size() : 0;
         handler(std::move(page));
       });
}

}  // namespace tenure::kubernetes_store
