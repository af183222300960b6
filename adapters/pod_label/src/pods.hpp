// Pods as the API server shows them, and which of them a leader changes. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tenure/lockcore/lease_record.hpp>

#include "lockcore/kubernetes/gateway.hpp"
#include "lockcore/kubernetes/lease_object.hpp"

namespace tenure::pod_label {

/// What is known of a pod.
struct Pod {
  std::string name{};
  std::string resourceVersion{};
  bool leads{false};     ///< it has the label of the leader
  FencingToken token{};  ///< of the term that wrote last; none: there is no annotation, or it is no token

  friend bool operator==(const Pod&, const Pod&) = default;
};

/// The label is set or removed, if the pod is still as it was seen.
struct Change {
  std::string pod{};
  std::string resourceVersion{};
  bool leads{false};

  friend bool operator==(const Change&, const Change&) = default;
};

struct Plan {
  std::optional<Pod> later{};  ///< a pod of a later term: whoever sees it leads no more, so nothing is changed
  std::vector<Change> changes{};
};

/// What the leader of this term changes. The others come first, so that a Service does not have two pods for it.
/// `labelled`: the pods that have the label, with or without the own one.
[[nodiscard]] Plan planFor(const Pod& own, const std::vector<Pod>& labelled, FencingToken token);

/// What the leader of this term changes at its end. Empty: nothing, also if a later term has written to the pod.
[[nodiscard]] std::optional<Change> withdrawalFor(const Pod& own, FencingToken token);

/// The requests that are about pods of one namespace.
class PodRequests {
 public:
  explicit PodRequests(const std::string& inNamespace);

  [[nodiscard]] kubernetes_store::Request get(std::string_view pod) const;
  /// Those of the user's selector that have the label.
  [[nodiscard]] kubernetes_store::Request labelled(std::string_view selector) const;
  [[nodiscard]] kubernetes_store::Request patch(const Change& change, FencingToken token) const;

 private:
  std::string pods_;  ///< the path of all of them
};

[[nodiscard]] kubernetes_store::Read<Pod> podFrom(std::string_view body, std::string_view name);
[[nodiscard]] kubernetes_store::Read<std::vector<Pod>> podsFrom(std::string_view body);

}  // namespace tenure::pod_label
