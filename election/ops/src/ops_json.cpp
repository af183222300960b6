#include <tenure/lockcore/candidate_id.hpp>
#include <tenure/lockcore/clock.hpp>
#include <tenure/ops/snapshot.hpp>

#include "answers.hpp"
#include "lockcore/port/json_text.hpp"

namespace tenure::ops {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// Writes one object, member by member.
class JsonObject {
 public:
  explicit JsonObject(std::string& out) : out_{out} { out_ += '{'; }
  ~JsonObject() { out_ += '}'; }
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;

  std::string& key(std::string_view name) {
    if (!first_) out_ += ',';
    first_ = false;
    appendQuoted(out_, name);
    out_ += ':';
    return out_;
  }
  void text(std::string_view name, std::string_view value) { key(name) += jsonString(value); }
  void textOrNull(std::string_view name, std::string_view value) { key(name) += jsonStringOrNull(value); }
  void flag(std::string_view name, bool value) { key(name) += value ? "true" : "false"; }
  void number(std::string_view name, std::uint64_t value) { key(name) += std::to_string(value); }
  void millis(std::string_view name, nanoseconds value) {
    appendInteger(key(name), std::chrono::duration_cast<milliseconds>(value).count());
  }
  /// Null if it is negative.
  void age(std::string_view name, nanoseconds value) {
    if (value.count() < 0) {
      key(name) += "null";
    } else {
      millis(name, value);
    }
  }
  void time(std::string_view name, std::int64_t unixMillis) {
    textOrNull(name, unixMillis == 0 ? std::string{} : wallClockTextForDisplay(unixMillis));
  }
  void token(std::string_view name, FencingToken value) {
    key(name) += value.isNone() ? std::string{"null"} : toString(value);
  }

 private:
  std::string& out_;
  bool first_{true};
};

template <class Items, class Write>
void appendList(std::string& out, const Items& items, const Write& write) {
  out += '[';
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += ',';
    first = false;
    write(out, item);
  }
  out += ']';
}

void addStanding(JsonObject& object, const LeaderStanding& standing) {
  object.flag("leads", standing.leads);
  object.token("fencing_token", standing.token);
  object.millis("remaining_ms", standing.remaining);
}

void appendLeader(std::string& out, const std::optional<LeaderInfo>& leader) {
  if (!leader) {
    out += "null";
    return;
  }
  JsonObject object{out};
  object.text("name", nameOf(leader->holder));
  object.text("id", leader->holder);
  object.token("fencing_token", leader->token);
  object.textOrNull("address", leader->address);
  object.flag("self", leader->self);
}

void appendError(std::string& out, const LeaseStatus& lease) {
  if (!lease.lastError) {
    out += "null";
    return;
  }
  JsonObject object{out};
  object.text("class", toString(lease.lastError->errorClass));
  object.text("message", lease.lastError->message);
  object.age("ago_ms", lease.lastErrorAgo);
}

void appendCounts(std::string& out, const LeaseCounts& counts) {
  JsonObject object{out};
  object.number("terms", counts.terms);
  {
    JsonObject reasons{object.key("revocations")};
    for (std::size_t i = 0; i < revokeReasons; ++i)
      reasons.number(toString(static_cast<RevokeReason>(i)), counts.revocations[i]);
  }
  {
    JsonObject outcomes{object.key("renewals")};
    for (std::size_t i = 0; i < renewalOutcomes; ++i)
      outcomes.number(toString(static_cast<RenewalOutcome>(i)), counts.renewals[i]);
  }
  object.number("doubts", counts.doubts);
  object.number("fence_refusals", counts.refusals);
}

/// Of how many renewals the time was at most so long, and longer than the bound before; the last number has no bound.
void appendRenewalTimes(std::string& out, const LeaseCounts& counts) {
  const auto append = [](std::string& to, auto number) { to += std::to_string(number); };
  JsonObject object{out};
  appendList(object.key("le_ms"), renewalTimeBounds, append);
  appendList(object.key("counts"), counts.renewalTimes, append);
  object.millis("sum_ms", counts.renewalTimeSum);
}

void appendElector(std::string& out, const Snapshot& from) {
  JsonObject object{out};
  object.text("group", from.group);
  object.text("candidate", from.candidate);
  object.text("store", from.store);
  object.flag("observes", from.observes);
  object.text("state", toString(from.lease.state));
  addStanding(object, from.standing);
  object.time("elected_at", from.electedAtMillis);
  object.millis("lease_duration_ms", from.leaseDuration);
  object.flag("in_doubt", from.standing.leads && from.lease.inDoubt);
  object.flag("ready", from.lease.ready);
  appendLeader(object.key("leader"), from.lease.leader);
  object.age("leader_seen_ago_ms", from.lease.leaderSeenAgo.count() < 0 ? from.lease.leaderSeenAgo
                                                                        : from.lease.leaderSeenAgo + from.leaseAge);
  object.millis("heartbeat_lag_ms", from.lease.heartbeatLag);
  object.millis("worst_heartbeat_lag_ms", from.lease.worstHeartbeatLag);
  object.millis("overdue_ms", from.overdue);
  appendCounts(object.key("counts"), from.counts);
  appendRenewalTimes(object.key("renewal_times"), from.counts);
  appendError(object.key("last_error"), from.lease);
  object.age("status_age_ms", from.leaseAge);
  object.time("taken_at", from.takenAtMillis);
}

void appendEvent(std::string& out, const TermEvent& event) {
  JsonObject object{out};
  object.time("at", event.atMillis);
  appendInteger(object.key("at_ms"), event.atMillis);
  object.text("event", toString(event.kind));
  object.token("fencing_token", event.token);
  object.textOrNull("reason", event.reason ? toString(*event.reason) : std::string_view{});
  object.textOrNull("detail", event.detail);
}

}  // namespace

std::string leaderEventJson(const Snapshot& elector) {
  std::string out;
  {
    JsonObject object{out};
    object.text("group", elector.group);
    object.text("candidate", elector.candidate);
    object.flag("leads", elector.standing.leads);
    object.token("fencing_token", elector.standing.token);
    appendLeader(object.key("leader"), elector.lease.leader);
  }
  return out;
}

std::string leaderJson(const std::string& group, const std::string& candidate, const LeaderStanding& standing) {
  std::string out;
  {
    JsonObject object{out};
    object.text("group", group);
    object.text("candidate", candidate);
    addStanding(object, standing);
  }
  return out += '\n';
}

std::string statusJson(const std::vector<Snapshot>& electors) {
  std::string out{"{\"electors\":"};
  appendList(out, electors, appendElector);
  return out += "}\n";
}

std::string historyJson(const std::vector<GroupEvents>& groups) {
  std::string out{"{\"groups\":"};
  appendList(out, groups, [](std::string& to, const GroupEvents& group) {
    JsonObject object{to};
    object.text("group", group.group);
    appendList(object.key("events"), group.events, appendEvent);
  });
  return out += "}\n";
}

}  // namespace tenure::ops
