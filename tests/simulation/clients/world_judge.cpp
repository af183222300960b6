// The rules that apply to everything that happens; each actor has the rules for its kind of object.
#include <algorithm>

#include "simulation/clients/world.hpp"

namespace tenure::test {

void World::note(std::string_view who, const std::string& what) {
  for (const char c : what) report_.digest = (report_.digest ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  if (options_.trace) report_.trace += std::to_string(now_.count()) + ' ' + std::string{who} + ' ' + what + '\n';
}

void World::broke(std::string_view oracle, const std::string& what) {
  over_ = true;
  if (!report_.oracle.empty() || leaving_) return;
  report_.oracle = oracle;
  report_.text = "at " + std::to_string(now_.count()) + " ns: " + what;
  note("BROKE", report_.oracle + ": " + what);
}

WriteOutcome World::apply(Life& life, const WriteRequest& request, std::set<std::string>* allowed) {
  const auto before = recordOf(request.key);
  const WriteOutcome outcome = table_.change(
      request.key, [&](const stored::StoredLease& lease) { return decideWrite("memory", request, lease); });
  const auto* applied = std::get_if<Applied>(&outcome);
  const bool acquires = request.purpose == WriteRequest::Purpose::acquire;
  constexpr std::string_view verbs[] = {"acquires ", "renews ", "releases "};
  note(life.name, std::string{verbs[static_cast<int>(request.purpose)]} + request.key.name + " as " +
                      request.record.holder + (applied != nullptr ? ": token " + toString(applied->token) : ": no"));
  if (applied == nullptr) return outcome;
  versions_.insert(request.record.version.text());
  if (before && before->holder == request.record.holder) overwritten_.insert(before->version.text());
  if (allowed != nullptr) {
    const bool lawful = before && allowed->count(before->version.text()) != 0;
    if (!lawful) broke("superseded", "a token without power wrote: " + request.record.holder);
    allowed->insert(request.record.version.text());
  }
  FencingToken& highest = highest_[request.key];
  if (acquires && applied->token <= highest)
    broke("token", "an acquisition got " + toString(applied->token) + " after " + toString(highest));
  highest = std::max(highest, applied->token);
  if (acquires) met(before && !before->released ? "takenOver" : "acquired");
  for (const auto& actor : life.actors) {
    if (life.alive) actor->applied(request, applied->token);
  }
  return outcome;
}

/// After each event: a holder that believes in a term is the only one, and the record belongs to it.
void World::judge() {
  if (over_) return;
  judging_ = true;
  std::erase_if(handles_, [](const Handle& handle) { return !handle.life->alive; });
  std::map<LeaseKey, const Handle*> found;
  for (const Handle& handle : handles_) {
    const bool valid = handle.valid();
    if (handle.leads() && !valid) broke("leads", handle.holder + " leads without a valid lease");
    if (!valid) continue;
    const auto [other, isFirst] = found.emplace(handle.key, &handle);
    if (!isFirst && (other->second->token != handle.token || other->second->holder != handle.holder)) {
      broke("overlap", handle.holder + " with token " + toString(handle.token) + " beside " + other->second->holder +
                           " with token " + toString(other->second->token) + ", both valid, for " + handle.key.name);
    }
    const auto record = recordOf(handle.key);
    const bool gone = !record || record->vanished;  // the record was erased; that gives nobody else the lease
    // A candidate whose work was told to stop, and has stopped, may take its own lease again before its validity ends.
    const bool again = record && record->holder == handle.holder && record->token > handle.token && !handle.leads();
    if (!gone && !again && (record->holder != handle.holder || record->token != handle.token || record->released)) {
      broke("taken", handle.holder + " is valid with token " + toString(handle.token) + ", and the record is of " +
                         record->holder + " with token " + toString(record->token) +
                         (record->released ? ", released" : ""));
    }
  }
  judging_ = false;
}

/// Each group has one leader, and the sharded electors have distributed the shards evenly.
void World::checkCalm() {
  if (over_) return;
  std::multiset<std::string> led;
  std::map<std::string, std::vector<std::size_t>> shares;
  for (const Life* const life : present_) {
    for (const auto& actor : life->actors) {
      const std::string keys = actor->leads();
      if (keys.starts_with("shards ")) {
        const auto many = static_cast<std::size_t>(std::count(keys.begin(), keys.end(), '/'));
        shares["shards"].push_back(many);
      } else if (!keys.empty()) {
        led.insert(keys);
      }
    }
  }
  for (unsigned i = 0; i < plan_.electors; ++i) {
    const std::string group = "lead" + std::to_string(i);
    if (led.count(group) != 1) broke("liveness", std::to_string(led.count(group)) + " leaders of " + group);
  }
  for (const auto& [group, counts] : shares) {
    std::size_t all = 0;
    for (const std::size_t count : counts) all += count;
    const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
    if (all != 5 || *most - *least > 1)
      broke("balance", std::to_string(all) + " of 5 shards are led, by shares from " + std::to_string(*least) + " to " +
                           std::to_string(*most));
    met("balanced");
  }
}

}  // namespace tenure::test
