// One look at the pods, and the writes that follow from it. It knows neither threads nor time: the requests are
// answered by a function that may block.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tenure/lockcore/lease_store.hpp>
#include <tenure/lockcore/store_error.hpp>

#include "pods.hpp"

namespace tenure::pod_label {

/// What came out of a look.
struct Report {
  std::vector<Change> done{};
  std::optional<StoreError> error{};  ///< the first one
};

struct KeeperSettings {
  std::string where{};  ///< describes the server and the namespace, for messages
  std::string inNamespace{};
  std::string pod{};  ///< the own one
  std::string selector{};
};

class PodKeeper {
 public:
  using Ask = std::function<kubernetes_store::Outcome(const kubernetes_store::Request& request)>;

  PodKeeper(KeeperSettings settings, Ask ask);

  /// The own pod gets the label, and no other pod keeps it. `leads` is asked before each write; once it says no,
  /// nothing more is written.
  [[nodiscard]] Report keep(FencingToken token, const std::function<bool()>& leads) const;

  /// The own pod has the label no more, unless a later term gave it to it.
  [[nodiscard]] Report withdraw(FencingToken token) const;

  /// An error that names the verbs on pods that the user does not have, as far as the server tells.
  [[nodiscard]] StoreStatus checkRights() const;

 private:
  /// What a look has shown.
  struct Seen {
    Pod own;
    std::vector<Pod> labelled{};
  };
  enum class Written { done, changedMeanwhile, failed, refused };  ///< failed: a later attempt may succeed

  [[nodiscard]] StoreResult<Pod> ownPod() const;
  [[nodiscard]] StoreResult<Seen> look() const;
  [[nodiscard]] bool selectorFinds(const Seen& seen) const;
  /// False: a pod has changed since it was seen, so that another look is due.
  [[nodiscard]] bool carryOut(const Plan& plan, FencingToken token, const std::function<bool()>& leads,
                              Report& report) const;
  [[nodiscard]] Written write(const Change& change, FencingToken token, Report& report) const;

  /// What an answer means that is no success. `verb`: the right that the request needs.
  [[nodiscard]] StoreError errorIn(const std::string& doing, std::string_view verb,
                                   const kubernetes_store::Outcome& outcome) const;
  [[nodiscard]] StoreError errorOf(ErrorClass errorClass, const std::string& what) const;

  const KeeperSettings settings_;
  const PodRequests requests_;
  const Ask ask_;
};

}  // namespace tenure::pod_label
