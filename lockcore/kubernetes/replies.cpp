#include "replies.hpp"

#include <algorithm>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/string.hpp>

namespace tenure::kubernetes_store {
namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;

Status statusIn(const object& from) {
  Status out{textIn(from, "reason"), textIn(from, "message")};
  if (const auto* code = from.if_contains("code"); code != nullptr && code->is_int64()) {
    out.code = static_cast<int>(std::clamp<std::int64_t>(code->get_int64(), 0, 999));
  }
  if (const object* details = objectIn(from, "details")) {
    out.kind = textIn(*details, "kind");
    out.name = textIn(*details, "name");
  }
  if (const object* metadata = objectIn(from, "metadata")) out.next = textIn(*metadata, "continue");
  return out;
}

const array* arrayIn(const object& from, std::string_view name) {
  const auto* found = from.if_contains(name);
  return found != nullptr ? found->if_array() : nullptr;
}

/// Whether the list has one of these texts.
bool names(const object& from, std::string_view list, std::initializer_list<std::string_view> wanted) {
  const array* all = arrayIn(from, list);
  if (all == nullptr) return false;
  return std::any_of(all->begin(), all->end(), [&](const value& one) {
    const auto* text = one.if_string();
    return text != nullptr && std::find(wanted.begin(), wanted.end(), viewOf(*text)) != wanted.end();
  });
}

void takeVerbs(const object& rule, const Resource& of, std::vector<std::string>& out) {
  if (!names(rule, "apiGroups", {of.group, "*"}) || !names(rule, "resources", {of.name, "*"})) return;
  const array* verbs = arrayIn(rule, "verbs");
  if (verbs == nullptr) return;
  for (const value& one : *verbs) {
    if (const auto* text = one.if_string()) out.emplace_back(viewOf(*text));
  }
}

/// The type of an event, and how it is called.
std::optional<WatchEvent::Kind> kindFrom(std::string_view type) {
  if (type == "ADDED" || type == "MODIFIED") return WatchEvent::Kind::changed;
  if (type == "DELETED") return WatchEvent::Kind::deleted;
  if (type == "BOOKMARK") return WatchEvent::Kind::bookmark;
  if (type == "ERROR") return WatchEvent::Kind::failed;
  return std::nullopt;
}

Read<WatchEvent> objectEvent(WatchEvent::Kind kind, value&& shown) {
  auto read = leaseObjectFrom(std::move(shown));
  if (read.has_error()) return read.error();
  WatchEvent event{kind, read->resourceVersion};
  event.object = std::move(*read);
  return event;
}

}  // namespace

Status statusFrom(std::string_view body) {
  const value read = jsonFrom(body);
  const object* all = read.if_object();
  // Some of its own time-outs have no kind.
  if (all == nullptr || textIn(*all, "status") != "Failure") return {};
  return statusIn(*all);
}

bool saysAbsent(const Reply& reply, std::string_view name) {
  if (reply.status != 404) return false;
  const Status status = statusFrom(reply.body);
  return status.reason == "NotFound" && status.kind == "leases" && status.name == name;
}

bool saysConflict(const Reply& reply) {
  if (reply.status != 409) return false;
  const std::string reason = statusFrom(reply.body).reason;
  return reason == "Conflict" || reason == "AlreadyExists";
}

Read<LeaseObject> leaseFrom(std::string_view body, std::string_view name) {
  value read = jsonFrom(body);
  const object* all = read.if_object();
  if (all == nullptr || textIn(*all, "kind") != "Lease") return Misunderstood{"the answer is not a Lease"};
  auto lease = leaseObjectFrom(std::move(read));
  if (lease.has_value() && lease->name != name) return Misunderstood{"the answer is another Lease than was asked for"};
  return lease;
}

Read<LeasePage> pageFrom(std::string_view body) {
  value read = jsonFrom(body);
  object* all = read.if_object();
  const object* metadata = all != nullptr ? objectIn(*all, "metadata") : nullptr;
  if (metadata == nullptr || textIn(*all, "kind") != "LeaseList") return Misunderstood{"the answer is not a LeaseList"};
  LeasePage page{textIn(*metadata, "resourceVersion"), textIn(*metadata, "continue")};
  if (!revisionFrom(page.resourceVersion)) return Misunderstood{"the answer's resourceVersion is not a number"};
  value& items = (*all)["items"];
  if (items.is_null()) return page;
  if (!items.is_array()) return Misunderstood{"the answer's items are no list"};
  for (value& one : items.get_array()) {
    auto lease = leaseObjectFrom(std::move(one));
    if (lease.has_error()) return lease.error();
    page.items.push_back(std::move(*lease));
  }
  return page;
}

Read<WatchEvent> eventFrom(std::string_view line) {
  value read = jsonFrom(line);
  object* all = read.if_object();
  const auto kind = all != nullptr ? kindFrom(textIn(*all, "type")) : std::nullopt;
  value* shown = kind ? all->if_contains("object") : nullptr;
  if (shown == nullptr || !shown->is_object()) return Misunderstood{"a line of the watch is not understood"};
  if (kind == WatchEvent::Kind::failed) {
    WatchEvent event{*kind};
    event.status = statusIn(shown->get_object());
    return event;
  }
  if (kind != WatchEvent::Kind::bookmark) return objectEvent(*kind, std::move(*shown));
  const object* metadata = objectIn(shown->get_object(), "metadata");
  WatchEvent event{*kind, metadata != nullptr ? textIn(*metadata, "resourceVersion") : std::string{}};
  if (!revisionFrom(event.resourceVersion)) return Misunderstood{"a bookmark of the watch has no resourceVersion"};
  return event;
}

bool saysGone(int status, const Status& said) { return status == 410 || said.code == 410; }

bool Rights::has(std::string_view verb) const {
  return std::any_of(verbs.begin(), verbs.end(), [&](const std::string& one) { return one == verb || one == "*"; });
}

Read<Rights> rightsFrom(std::string_view body, const Resource& of) {
  const value read = jsonFrom(body);
  const object* all = read.if_object();
  const object* status = all != nullptr ? objectIn(*all, "status") : nullptr;
  if (status == nullptr || textIn(*all, "kind") != "SelfSubjectRulesReview") {
    return Misunderstood{"the answer does not have the user's rights"};
  }
  Rights rights;
  const auto* incomplete = status->if_contains("incomplete");
  rights.complete = incomplete != nullptr && incomplete->is_bool() && !incomplete->get_bool();
  if (const array* rules = arrayIn(*status, "resourceRules")) {
    for (const value& one : *rules) {
      if (const object* rule = one.if_object()) takeVerbs(*rule, of, rights.verbs);
    }
  }
  return rights;
}

}  // namespace tenure::kubernetes_store
