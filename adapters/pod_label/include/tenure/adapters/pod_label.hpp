// The pod of the leader has a label, by which a Service of Kubernetes routes requests to it.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>

#include <tenure/adapters/fenced_writer.hpp>
#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_options.hpp>
#include <tenure/lockcore/logger.hpp>
#include <tenure/lockcore/register.hpp>
#include <tenure/lockcore/stores/kubernetes_store.hpp>

namespace tenure {

struct PodLabelOptions {
  /// Server, namespace and user, as for the store; `labels` and `watches` say nothing here. The user needs the verbs
  /// get, list and patch on pods in the namespace.
  KubernetesStoreOptions cluster{};
  /// The name of the pod in which this process runs. The downward API gives it (metadata.name).
  std::string pod{};
  /// Finds all pods that may lead, by equality: `app=scheduler`. It is the selector of the Service without the role.
  /// Groups in one namespace need selectors that find different pods.
  std::string selector{};
  /// How often a leader looks at the pods: about once a lease. 100 ms .. 24 h.
  std::chrono::milliseconds lookEvery{10'000};
  std::chrono::milliseconds timeout{5'000};  ///< of one request; 10 ms .. 1 h
};

/// Every fault of the options, each with its field; those of the cluster with "cluster." before it. Sends no request.
[[nodiscard]] TENURE_API OptionFaults faultsOf(const PodLabelOptions& options);

/// While this process leads, its pod has the label `tenure.dev/role=leader`, and no other pod of the selector has it.
/// It is routing, not a fence: a former leader may have the label for a moment, and connections that are open stay.
///
/// At the election, and then every `lookEvery`, it finds the pods with the label, removes it from the others, and gives
/// it to its own. The next check corrects late writes of a former leader and changes by hand. At the
/// end of the term it removes the label from its own pod. After a crash the successor removes the label.
///
/// With the label there is the annotation `tenure.dev/token` with the fencing token of the term that wrote last. A pod
/// with a higher one belongs to a later term: then nothing is written, and the log says so. Each write names the
/// resourceVersion that was seen, so what has changed since is not overwritten.
///
/// Errors never end the term. Each kind is logged once, and so is the recovery. If a permission is missing, the
/// line names it.
///
/// Threads: a thread of this object does all the work; neither elections nor renewals wait for it. All functions may be
/// called from any thread. In a forked child it does nothing.
class TENURE_API PodLabel {
 public:
  /// Throws std::invalid_argument for options with faults, std::runtime_error as makeKubernetesStore() does, and
  /// std::system_error if no thread can be started. Sends no request before the first call.
  explicit PodLabel(const PodLabelOptions& options, Logger logger = {});
  /// Removes the label from its own pod if it has it, and waits at most a second for that. Destroy the elector
  /// first; the lease is then released before this.
  ~PodLabel();
  PodLabel(const PodLabel&) = delete;
  PodLabel& operator=(const PodLabel&) = delete;

  /// For onElected: until `stop` is requested or the term is no longer valid. Returns at once. A term that is over
  /// is replaced by the next one.
  void elected(const FencedTerm& term, std::stop_token stop);
  /// Of a Leadership.
  template <TermOfALease Term>
  void elected(const Term& term) {
    elected(FencedTerm{term}, term.stopToken());
  }

  /// Asks the server for the rights of the user on pods; the error names those that are missing. It blocks for at most
  /// `timeout`.
  [[nodiscard]] StoreStatus checkRights() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace tenure
