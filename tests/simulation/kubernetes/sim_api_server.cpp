#include "simulation/kubernetes/sim_api_server.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

namespace tenure::test {
namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;

constexpr std::size_t longestPast = 40;
constexpr std::size_t longestHistory = 5'000;
constexpr std::size_t mostAnnotations = 262'144;

std::string textIn(const object& from, std::string_view name) {
  const value* found = from.if_contains(name);
  return found != nullptr && found->is_string() ? std::string{found->get_string()} : std::string{};
}

object objectIn(const object& from, std::string_view name) {
  const value* found = from.if_contains(name);
  return found != nullptr && found->is_object() ? found->get_object() : object{};
}

int hexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : c - 'a' + 10;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    out += static_cast<char>(hexDigit(text[i + 1]) * 16 + hexDigit(text[i + 2]));
    i += 2;
  }
  return out;
}

std::string parameter(const std::string& target, const std::string& name) {
  std::size_t at = target.find('?');
  while (at != std::string::npos) {
    const std::size_t end = target.find('&', at + 1);
    const std::string one = target.substr(at + 1, end == std::string::npos ? end : end - at - 1);
    if (one.starts_with(name + '=')) return unescaped(one.substr(name.size() + 1));
    at = end;
  }
  return {};
}

bool isNameOfObject(const std::string& name) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'; };
  const auto solid = [](char c) { return c != '-' && c != '.'; };
  return !name.empty() && name.size() <= 253 && std::all_of(name.begin(), name.end(), fits) && solid(name.front()) &&
         solid(name.back());
}

/// `2026-11-26T08:00:00.123456Z` and nothing else.
bool isMicroTime(const std::string& text) {
  constexpr std::string_view pattern = "0000-00-00T00:00:00.000000Z";
  if (text.size() != pattern.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (pattern[i] == '0' ? !digit : text[i] != pattern[i]) return false;
  }
  return true;
}

/// Only what the server knows; null is absent. Empty: a value has the wrong type.
std::optional<object> specOf(const object& from) {
  const object given = objectIn(from, "spec");
  object out;
  for (const char* name : {"holderIdentity", "acquireTime", "renewTime", "strategy", "preferredHolder"}) {
    const value* found = given.if_contains(name);
    if (found == nullptr || found->is_null()) continue;
    if (!found->is_string()) return std::nullopt;
    const bool isTime = std::string_view{name}.ends_with("Time");
    if (isTime && !isMicroTime(std::string{found->get_string()})) return std::nullopt;
    out[name] = *found;
  }
  for (const char* name : {"leaseDurationSeconds", "leaseTransitions"}) {
    const value* found = given.if_contains(name);
    if (found == nullptr || found->is_null()) continue;
    if (!found->is_int64() || found->get_int64() > 2'147'483'647) return std::nullopt;
    out[name] = *found;
  }
  return out;
}

std::string faultIn(const object& lease) {
  const object spec = objectIn(lease, "spec");
  const value* seconds = spec.if_contains("leaseDurationSeconds");
  if (seconds != nullptr && seconds->get_int64() <= 0) return "spec.leaseDurationSeconds: must be greater than 0";
  const value* transitions = spec.if_contains("leaseTransitions");
  if (transitions != nullptr && transitions->get_int64() < 0) return "spec.leaseTransitions: must not be negative";
  if (!textIn(spec, "preferredHolder").empty() && textIn(spec, "strategy").empty()) {
    return "spec.preferredHolder: may only be specified if `strategy` is defined";
  }
  const object metadata = objectIn(lease, "metadata");
  std::size_t size = 0;
  for (const auto& one : objectIn(metadata, "annotations")) size += one.key().size() + one.value().as_string().size();
  if (size > mostAnnotations) return "metadata.annotations: Too long: may not be more than 262144 bytes";
  return isNameOfObject(textIn(metadata, "name")) ? std::string{} : "metadata.name: a lowercase RFC 1123 subdomain";
}

/// The parts of the metadata that a client may set.
object metadataOf(const object& from) {
  const object given = objectIn(from, "metadata");
  object out;
  for (const char* name : {"name", "labels", "annotations", "ownerReferences", "finalizers"}) {
    const value* found = given.if_contains(name);
    const bool empty = found == nullptr || found->is_null() || (found->is_object() && found->get_object().empty());
    if (!empty) out[name] = *found;
  }
  return out;
}

std::string eventLine(const std::string& type, object shown) {
  return boost::json::serialize(object{{"type", type}, {"object", std::move(shown)}});
}

}  // namespace

bool ApiServer::Selection::takes(const std::string& name_, const object& lease) const {
  if (!name.empty() && name_ != name) return false;
  return label.empty() || textIn(objectIn(objectIn(lease, "metadata"), "labels"), label) == value;
}

ApiServer::Selection ApiServer::selectionIn(const std::string& target) {
  Selection out;
  const std::string field = parameter(target, "fieldSelector");
  constexpr std::string_view byName = "metadata.name=";
  if (field.starts_with(byName)) out.name = field.substr(byName.size());
  const std::string label = parameter(target, "labelSelector");
  out.label = label.substr(0, label.find('='));
  if (!label.empty()) out.value = label.substr(label.find('=') + 1);
  return out;
}

ApiAnswer ApiServer::failure(int status, const std::string& reason, const std::string& message, const std::string& name,
                             const std::string& kind) {
  object details{{"name", name}, {"group", "coordination.k8s.io"}, {"kind", kind}};
  return {status, boost::json::serialize(object{{"kind", "Status"},
                                                {"apiVersion", "v1"},
                                                {"metadata", object{}},
                                                {"status", "Failure"},
                                                {"message", message},
                                                {"reason", reason},
                                                {"details", std::move(details)},
                                                {"code", status}})};
}

ApiAnswer ApiServer::handle(const std::string& method, const std::string& target, const std::string& body) {
  const std::string path = target.substr(0, target.find('?'));
  if (path == "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews") return rights();
  const std::string leases = "/apis/coordination.k8s.io/v1/namespaces/" + namespace_ + "/leases";
  if (path == leases) return method == "POST" ? create(body) : list(target);
  if (!path.starts_with(leases + '/')) return {404, "404 page not found"};
  const std::string name = path.substr(leases.size() + 1);
  return method == "PUT" ? update(name, body) : get(name);
}

ApiAnswer ApiServer::get(const std::string& name) const {
  const auto found = leases_.find(name);
  if (found != leases_.end()) return {200, boost::json::serialize(*found->second)};
  return failure(404, "NotFound", "leases.coordination.k8s.io \"" + name + "\" not found", name);
}

ApiAnswer ApiServer::list(const std::string& target) const {
  const Selection selection = selectionIn(target);
  const std::string next = parameter(target, "continue");
  const std::size_t colon = next.find(':');
  std::uint64_t revision = next.empty() ? revision_ : std::stoull(next);
  const std::string from = next.empty() ? std::string{} : next.substr(colon + 1);
  if (revision != revision_ && revision != 0 && !past_.contains(revision)) {
    ApiAnswer gone = failure(410, "Expired", "The provided continue parameter is too old");
    object said = boost::json::parse(gone.body).get_object();
    said["metadata"] = object{{"continue", "0:" + from}};
    return {410, boost::json::serialize(said)};
  }
  if (revision == 0) revision = revision_;
  const Leases& shown = revision == revision_ ? leases_ : past_.at(revision);
  const std::string limit = parameter(target, "limit");
  const std::size_t most = limit.empty() ? shown.size() : std::stoul(limit);
  array items;
  std::string rest;
  for (auto one = shown.lower_bound(from); one != shown.end(); ++one) {
    if (!selection.takes(one->first, *one->second)) continue;
    if (items.size() == most) {
      rest = std::to_string(revision) + ':' + one->first;
      break;
    }
    object item = *one->second;
    item.erase("kind");
    item.erase("apiVersion");
    items.emplace_back(std::move(item));
  }
  object metadata{{"resourceVersion", std::to_string(revision)}};
  if (!rest.empty()) metadata["continue"] = rest;
  return {200, boost::json::serialize(object{{"kind", "LeaseList"},
                                             {"apiVersion", "coordination.k8s.io/v1"},
                                             {"metadata", std::move(metadata)},
                                             {"items", std::move(items)}})};
}

ApiAnswer ApiServer::create(const std::string& body) {
  const object asked = boost::json::parse(body).get_object();
  const std::string name = textIn(objectIn(asked, "metadata"), "name");
  if (leases_.contains(name)) {
    return failure(409, "AlreadyExists", "leases.coordination.k8s.io \"" + name + "\" already exists", name);
  }
  const auto spec = specOf(asked);
  if (!spec) return failure(400, "BadRequest", "Lease in version \"v1\" cannot be handled as a Lease");
  object lease{{"metadata", metadataOf(asked)}, {"spec", *spec}};
  lease["spec"].get_object().erase("strategy");
  lease["spec"].get_object().erase("preferredHolder");
  lease["metadata"].get_object()["uid"] = "uid-" + std::to_string(++uids_);
  lease["metadata"].get_object()["creationTimestamp"] = "2026-11-26T08:01:36Z";
  return store(201, name, std::move(lease));
}

ApiAnswer ApiServer::update(const std::string& name, const std::string& body) {
  const object asked = boost::json::parse(body).get_object();
  const object metadata = objectIn(asked, "metadata");
  const std::string uid = textIn(metadata, "uid");
  const auto found = leases_.find(name);
  const auto conflict = [&](const std::string& why) {
    return failure(409, "Conflict", "Operation cannot be fulfilled on leases \"" + name + "\": " + why, name);
  };
  if (found == leases_.end()) return uid.empty() ? create(body) : conflict("Precondition failed: UID in precondition");
  const object& before = *found->second;
  const object stored = objectIn(before, "metadata");
  if (!uid.empty() && uid != textIn(stored, "uid")) return conflict("Precondition failed: UID in precondition");
  const std::string version = textIn(metadata, "resourceVersion");
  if (version.empty() || version == "0") {
    return failure(422, "Invalid", "metadata.resourceVersion: must be specified for an update", name);
  }
  if (version != textIn(stored, "resourceVersion")) return conflict("the object has been modified");
  auto spec = specOf(asked);
  if (!spec) return failure(400, "BadRequest", "Lease in version \"v1\" cannot be handled as a Lease");
  for (const char* field : {"strategy", "preferredHolder"}) {
    if (!objectIn(before, "spec").contains(field)) spec->erase(field);
  }
  object lease{{"metadata", metadataOf(asked)}, {"spec", std::move(*spec)}};
  for (const char* field : {"uid", "creationTimestamp"}) {
    lease["metadata"].get_object()[field] = textIn(stored, field);
  }
  return store(200, name, std::move(lease));
}

ApiAnswer ApiServer::store(int status, const std::string& name, object lease) {
  if (const std::string fault = faultIn(lease); !fault.empty()) return failure(422, "Invalid", fault, name);
  lease["kind"] = "Lease";
  lease["apiVersion"] = "coordination.k8s.io/v1";
  object& metadata = lease["metadata"].get_object();
  metadata["namespace"] = namespace_;
  metadata["managedFields"] = array{object{{"manager", "tenure"}, {"operation", "Update"}}};
  if (const auto found = leases_.find(name); found != leases_.end()) {
    metadata["resourceVersion"] = objectIn(*found->second, "metadata").at("resourceVersion");
    if (lease == *found->second) return {status, boost::json::serialize(lease)};
  }
  metadata["resourceVersion"] = std::to_string(revision_ + 1);
  auto kept = std::make_shared<const object>(std::move(lease));
  commit(name, kept);
  return {status, boost::json::serialize(*kept)};
}

void ApiServer::commit(const std::string& name, Lease after) {
  past_[revision_] = leases_;
  if (past_.size() > longestPast) past_.erase(past_.begin());
  Event event{++revision_, name, nullptr, after};
  if (const auto found = leases_.find(name); found != leases_.end()) event.before = found->second;
  if (after) {
    leases_[name] = std::move(after);
  } else {
    leases_.erase(name);
  }
  events_.push_back(event);
  if (events_.size() > longestHistory) {
    forgotten_ = events_.front().revision;
    events_.pop_front();
  }
  // A listener may end its watch.
  std::map<std::uint64_t, Watch> watches = watches_;
  for (const auto& [number, watch] : watches) tell(watch, event);
}

void ApiServer::tell(const Watch& watch, const Event& event) const {
  const bool was = event.before && watch.selection.takes(event.name, *event.before);
  const bool is = event.after && watch.selection.takes(event.name, *event.after);
  if (!was && !is) return;
  object shown = is ? *event.after : event.after ? *event.after : *event.before;
  shown["metadata"].get_object()["resourceVersion"] = std::to_string(event.revision);
  watch.line(eventLine(!is ? "DELETED" : was ? "MODIFIED" : "ADDED", std::move(shown)));
}

std::uint64_t ApiServer::watch(const std::string& target, std::function<void(std::string)> line) {
  const Watch watch{selectionIn(target), std::move(line)};
  const std::uint64_t from = std::stoull(parameter(target, "resourceVersion"));
  if (from < forgotten_) {
    const ApiAnswer gone = failure(410, "Expired", "too old resource version");
    watch.line(eventLine("ERROR", boost::json::parse(gone.body).get_object()));
    return ++lastWatch_;
  }
  for (const Event& event : events_) {
    if (event.revision > from) tell(watch, event);
  }
  watches_[++lastWatch_] = watch;
  return lastWatch_;
}

void ApiServer::bookmark() {
  const object metadata{{"resourceVersion", std::to_string(revision_)}};
  const std::string line = eventLine(
      "BOOKMARK",
      {{"kind", "Lease"}, {"apiVersion", "coordination.k8s.io/v1"}, {"metadata", metadata}, {"spec", object{}}});
  std::map<std::uint64_t, Watch> watches = watches_;
  for (const auto& [number, watch] : watches) watch.line(line);
}

void ApiServer::forgetHistory() {
  events_.clear();
  past_.clear();
  forgotten_ = revision_;
}

void ApiServer::edit(const std::string& name, const std::function<void(object&)>& change) {
  const auto found = leases_.find(name);
  if (found == leases_.end()) return;
  object lease = *found->second;
  change(lease);
  lease["metadata"].get_object()["resourceVersion"] = std::to_string(revision_ + 1);
  commit(name, std::make_shared<const object>(std::move(lease)));
}

void ApiServer::erase(const std::string& name) {
  if (leases_.contains(name)) commit(name, nullptr);
}

ApiAnswer ApiServer::rights() const {
  return {201, R"({"kind":"SelfSubjectRulesReview","apiVersion":"authorization.k8s.io/v1","metadata":{},"spec":{},)"
               R"("status":{"resourceRules":[{"verbs":["create"],"apiGroups":["authorization.k8s.io"],)"
               R"("resources":["selfsubjectaccessreviews"]},{"verbs":[)" +
                   verbs_ + R"(],"apiGroups":["coordination.k8s.io"],"resources":["leases"]}],"nonResourceRules":[],)" +
                   R"("incomplete":)" + (incomplete_ ? "true" : "false") + "}}"};
}

}  // namespace tenure::test
