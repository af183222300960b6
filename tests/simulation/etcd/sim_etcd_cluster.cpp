#include "simulation/etcd/sim_etcd_cluster.hpp"

#include <algorithm>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include "lockcore/port/json_text.hpp"

namespace tenure::test {
namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;

std::string textIn(const object& from, std::string_view name) {
  const value* found = from.if_contains(name);
  return found != nullptr && found->is_string() ? std::string{found->get_string()} : std::string{};
}

std::string bytesIn(const object& from, std::string_view name) {
  return bytesFromBase64(textIn(from, name)).value_or(std::string{});
}

/// The gateway takes a 64-bit number as text and as number.
std::int64_t numberIn(const object& from, std::string_view name) {
  const std::string text = textIn(from, name);
  return text.empty() ? 0 : std::stoll(text);
}

std::string encoded(const std::string& bytes) {
  std::string out;
  appendBase64(out, bytes);
  return out;
}

array listIn(const object& from, std::string_view name) {
  const value* found = from.if_contains(name);
  return found != nullptr && found->is_array() ? found->get_array() : array{};
}

object entryOf(const std::string& key, const EtcdCluster::Entry& entry) {
  object out{{"key", encoded(key)},
             {"create_revision", std::to_string(entry.created)},
             {"mod_revision", std::to_string(entry.changed)},
             {"version", std::to_string(entry.version)}};
  if (!entry.value.empty()) out["value"] = encoded(entry.value);
  return out;
}

}  // namespace

EtcdAnswer EtcdCluster::error(int status, int code, const std::string& message) {
  return {status, boost::json::serialize(object{{"error", message}, {"message", message}, {"code", code}})};
}

object EtcdCluster::header() const {
  return {{"cluster_id", "10144879847569953045"},
          {"member_id", "12428976124636271536"},
          {"revision", std::to_string(revision_)},
          {"raft_term", "2"}};
}

EtcdAnswer EtcdCluster::txn(const std::string& body, std::size_t old) {
  boost::system::error_code fault;
  const value parsed = boost::json::parse(body, fault);
  if (fault || !parsed.is_object()) return error(400, 3, "invalid character");
  const object& request = parsed.get_object();
  const array compares = listIn(request, "compare");
  const bool good = std::all_of(compares.begin(), compares.end(),
                                [&](const value& one) { return one.is_object() && holds(one.get_object()); });
  const array operations = listIn(request, good ? "success" : "failure");
  const bool tooOld = std::any_of(operations.begin(), operations.end(),
                                  [&](const value& one) { return one.is_object() && refuses(one.get_object()); });
  if (tooOld) return error(400, 11, "etcdserver: mvcc: required revision has been compacted");
  const bool writes = std::any_of(operations.begin(), operations.end(), [](const value& one) {
    return one.is_object() && !one.get_object().contains("request_range");
  });
  std::vector<Change> changes;
  if (writes) ++revision_;
  array responses;
  for (const value& one : operations) responses.push_back(run(one.get_object(), old, changes));
  if (writes && changes.empty()) --revision_;
  if (!changes.empty()) tell(changes);
  object reply{{"header", header()}};
  if (good) reply["succeeded"] = true;
  if (!responses.empty()) reply["responses"] = std::move(responses);
  return {200, boost::json::serialize(reply)};
}

bool EtcdCluster::holds(const object& compare) const {
  const auto found = keys_.find(bytesIn(compare, "key"));
  if (textIn(compare, "result") != "EQUAL") return false;
  if (textIn(compare, "target") == "VALUE") {
    return found != keys_.end() && found->second.value == bytesIn(compare, "value");
  }
  if (textIn(compare, "target") != "MOD") return false;
  return (found == keys_.end() ? 0 : found->second.changed) == numberIn(compare, "mod_revision");
}

bool EtcdCluster::refuses(const object& operation) const {
  const value* range = operation.if_contains("request_range");
  if (range == nullptr || !range->is_object()) return false;
  const std::int64_t at = numberIn(range->get_object(), "revision");
  return at > revision_ || (at != 0 && at < compacted_);
}

object EtcdCluster::run(const object& operation, std::size_t old, std::vector<Change>& changes) {
  const object inner{{"revision", std::to_string(revision_)}};
  if (const value* put = operation.if_contains("request_put")) {
    const std::string key = bytesIn(put->get_object(), "key");
    Entry& entry = keys_[key];
    entry = {bytesIn(put->get_object(), "value"), entry.version == 0 ? revision_ : entry.created, revision_,
             entry.version + 1};
    changes.push_back({key, false});
    return {{"response_put", object{{"header", inner}}}};
  }
  if (const value* erased = operation.if_contains("request_delete_range")) {
    const std::string key = bytesIn(erased->get_object(), "key");
    object answer{{"header", inner}};
    if (keys_.erase(key) > 0) {
      answer["deleted"] = "1";
      changes.push_back({key, true});
    }
    return {{"response_delete_range", std::move(answer)}};
  }
  return {{"response_range", range(operation.at("request_range").get_object(), old)}};
}

object EtcdCluster::range(const object& request, std::size_t old) const {
  const value* serializable = request.if_contains("serializable");
  const bool weak = serializable != nullptr && serializable->is_bool() && serializable->get_bool();
  std::int64_t at = numberIn(request, "revision");
  if (weak && at == 0) at = std::max<std::int64_t>(1, revision_ - static_cast<std::int64_t>(old));
  const Keys& keys = at == 0 || at >= revision_ ? keys_ : past_[static_cast<std::size_t>(at)];
  const std::string first = bytesIn(request, "key");
  const std::string end = bytesIn(request, "range_end");
  const auto limit = static_cast<std::size_t>(numberIn(request, "limit"));
  array found;
  std::size_t count = 0;
  for (auto entry = keys.lower_bound(first); entry != keys.end(); ++entry) {
    if (end.empty() ? entry->first != first : entry->first >= end) break;
    ++count;
    if (limit == 0 || found.size() < limit) found.push_back(entryOf(entry->first, entry->second));
  }
  object answer{{"header", object{{"revision", std::to_string(revision_)}}}};
  if (found.size() < count) answer["more"] = true;
  if (!found.empty()) answer["kvs"] = std::move(found);
  if (count > 0) answer["count"] = std::to_string(count);
  return answer;
}

void EtcdCluster::tell(const std::vector<Change>& changes) {
  past_.resize(static_cast<std::size_t>(revision_) + 1);
  past_[static_cast<std::size_t>(revision_)] = keys_;
  const auto watches = watches_;
  for (const auto& [number, watch] : watches) {
    array events;
    for (const Change& change : changes) {
      if (change.key < watch.first || change.key >= watch.end) continue;
      if (change.erased) {
        events.push_back(
            object{{"type", "DELETE"},
                   {"kv", object{{"key", encoded(change.key)}, {"mod_revision", std::to_string(revision_)}}}});
      } else {
        events.push_back(object{{"kv", entryOf(change.key, keys_.at(change.key))}});
      }
    }
    if (events.empty()) continue;
    watch.line(boost::json::serialize(object{{"result", object{{"header", header()}, {"events", std::move(events)}}}}));
  }
}

std::uint64_t EtcdCluster::watch(const std::string& body, std::function<void(std::string)> line) {
  const value parsed = boost::json::parse(body);
  const object& request = parsed.at("create_request").get_object();
  watches_[++lastWatch_] = {bytesIn(request, "key"), bytesIn(request, "range_end"), line};
  line(boost::json::serialize(object{{"result", object{{"header", header()}, {"created", true}}}}));
  return lastWatch_;
}

void EtcdCluster::breakWatches(const std::string& line) {
  for (const auto& [number, watch] : std::exchange(watches_, {})) watch.line(line);
}

void EtcdCluster::put(const std::string& key, const std::string& text) {
  ++revision_;
  Entry& entry = keys_[key];
  entry = {text, entry.version == 0 ? revision_ : entry.created, revision_, entry.version + 1};
  tell({{key, false}});
}

void EtcdCluster::erase(const std::string& key) {
  if (keys_.erase(key) == 0) return;
  ++revision_;
  tell({{key, true}});
}

}  // namespace tenure::test
