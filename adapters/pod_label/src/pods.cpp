#include "pods.hpp"

#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "lockcore/kubernetes/annotations.hpp"
#include "lockcore/kubernetes/requests.hpp"
#include "lockcore/port/ascii_text.hpp"

namespace tenure::pod_label {
namespace {

using boost::json::object;
using boost::json::value;
using kubernetes_store::jsonFrom;
using kubernetes_store::leaderRole;
using kubernetes_store::Misunderstood;
using kubernetes_store::objectIn;
using kubernetes_store::Read;
using kubernetes_store::Request;
using kubernetes_store::roleLabel;
using kubernetes_store::textIn;

constexpr std::string_view tokenAnnotation = kubernetes_store::annotation::token;

/// Of labels or annotations; empty: it is not there.
std::string textAt(const object& metadata, std::string_view map, std::string_view name) {
  const object* all = objectIn(metadata, map);
  return all != nullptr ? textIn(*all, name) : std::string{};
}

/// Whoever wrote a text that is no token has not led.
FencingToken tokenFrom(std::string_view text) {
  const FencingToken token{numberFrom<std::uint64_t>(text).value_or(0)};
  return token > maxFencingToken ? FencingToken{} : token;
}

std::optional<Pod> podIn(const value& shown) {
  const object* whole = shown.if_object();
  const object* metadata = whole != nullptr ? objectIn(*whole, "metadata") : nullptr;
  if (metadata == nullptr) return std::nullopt;
  Pod pod{textIn(*metadata, "name"), textIn(*metadata, "resourceVersion"),
          textAt(*metadata, "labels", roleLabel) == leaderRole,
          tokenFrom(textAt(*metadata, "annotations", tokenAnnotation))};
  if (pod.name.empty() || pod.resourceVersion.empty()) return std::nullopt;
  return pod;
}

}  // namespace

Plan planFor(const Pod& own, const std::vector<Pod>& labelled, FencingToken token) {
  Plan plan;
  if (own.token > token) return {own, {}};
  for (const Pod& pod : labelled) {
    if (pod.token > token) return {pod, {}};
    if (pod.name != own.name) plan.changes.push_back({pod.name, pod.resourceVersion, false});
  }
  if (!own.leads || own.token != token) plan.changes.push_back({own.name, own.resourceVersion, true});
  return plan;
}

std::optional<Change> withdrawalFor(const Pod& own, FencingToken token) {
  if (!own.leads || own.token > token) return std::nullopt;
  return Change{own.name, own.resourceVersion, false};
}

PodRequests::PodRequests(const std::string& inNamespace) : pods_{"/api/v1/namespaces/" + inNamespace + "/pods"} {}

Request PodRequests::get(std::string_view pod) const { return {"GET", pods_ + '/' + std::string{pod}, {}, false}; }

Request PodRequests::labelled(std::string_view selector) const {
  std::string whole{selector};
  whole.append(",").append(roleLabel).append("=").append(leaderRole);
  return {"GET", pods_ + "?labelSelector=" + kubernetes_store::escaped(whole), {}, true};
}

/// A merge patch: null removes, and all that is not named stays as it is.
Request PodRequests::patch(const Change& change, FencingToken token) const {
  object labels;
  labels[roleLabel] = change.leads ? value(leaderRole) : value(nullptr);
  object annotations;
  annotations[tokenAnnotation] = toString(token);
  object metadata;
  metadata["resourceVersion"] = change.resourceVersion;
  metadata["labels"] = std::move(labels);
  metadata["annotations"] = std::move(annotations);
  object whole;
  whole["metadata"] = std::move(metadata);
  return {"PATCH", pods_ + '/' + change.pod, boost::json::serialize(whole), false, "application/merge-patch+json"};
}

Read<Pod> podFrom(std::string_view body, std::string_view name) {
  const value read = jsonFrom(body);
  auto pod = podIn(read);
  if (!pod || textIn(read.get_object(), "kind") != "Pod") return Misunderstood{"the answer is not a Pod"};
  if (pod->name != name) return Misunderstood{"the answer is another Pod than was asked for"};
  return *std::move(pod);
}

Read<std::vector<Pod>> podsFrom(std::string_view body) {
  const value read = jsonFrom(body);
  const object* all = read.if_object();
  if (all == nullptr || textIn(*all, "kind") != "PodList") return Misunderstood{"the answer is not a PodList"};
  std::vector<Pod> pods;
  const auto* items = all->if_contains("items");
  if (items == nullptr || items->is_null()) return pods;
  if (!items->is_array()) return Misunderstood{"the answer's items are no list"};
  for (const value& one : items->get_array()) {
    auto pod = podIn(one);
    if (!pod) return Misunderstood{"an item of the answer is not a Pod"};
    pods.push_back(*std::move(pod));
  }
  return pods;
}

}  // namespace tenure::pod_label
