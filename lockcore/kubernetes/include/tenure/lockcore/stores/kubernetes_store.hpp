// A store in Kubernetes: any number of machines, in the Lease objects of one namespace (coordination.k8s.io/v1), over
// the API server. `kubectl get lease` shows who leads, and candidates of client-go may compete for the same Lease.
#pragma once

#include <map>
#include <memory>
#include <string>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_options.hpp>
#include <tenure/lockcore/logger.hpp>

namespace tenure {

class LeaseStore;

/// If no `server` is given, the process runs in a pod: address, token, authority and namespace are those of its
/// service account. Outside of a pod all of them are given; a kubeconfig file is read by kubernetesOptionsFrom() of
/// <tenure/config/load_group.hpp>, which knows YAML.
///
/// A lease is kept in the Lease object of its name, if that is an RFC 1123 name and there is no sort key. Otherwise the
/// object's name has the characters that are allowed, and ends in a hyphen and eight hex digits of a hash; the real
/// name is in an annotation. A Lease with spec.strategy (coordinated leader election) is refused.
struct KubernetesStoreOptions {
  /// `https://10.0.0.1:6443`; a path is allowed. Empty: that of the cluster in which the process runs.
  std::string server{};
  /// The namespace of the Leases. Candidates that compete must have the same. Empty: that of the pod.
  std::string inNamespace{};

  std::string caFile{};          ///< path of a PEM file; empty, without the next one: the system's trust store
  std::string caCertificates{};  ///< the same as PEM text

  /// The name that the server's certificate must have, which is also sent ahead (SNI). Empty: the host of `server`.
  std::string serverName{};
  /// `http://[user:password@]host:port` or https://, a proxy for all requests; a secret if it has a password. Empty:
  /// what HTTPS_PROXY, HTTP_PROXY and NO_PROXY say when the store is made, as client-go reads them.
  std::string proxy{};

  /// The user's token: a path of a file that is read again each minute and after a rejection, or the token itself,
  /// which is also used while the file cannot be read.
  std::string tokenFile{};
  std::string token{};  ///< a secret

  std::string certificate{};      ///< path of the client's certificate (PEM); empty: none
  std::string key{};              ///< path of its key
  std::string certificateText{};  ///< instead of the two paths: the certificate as PEM text
  std::string keyText{};          ///< and its key; a secret

  /// Labels that the store sets on each Lease that it writes, with app.kubernetes.io/managed-by=tenure.
  std::map<std::string, std::string> labels{};

  /// One watch for the whole store reports hand-overs at once. Without it, or without permission to watch, candidates
  /// poll.
  bool watches{true};

  /// The directory that Kubernetes mounts into a pod, with the files token, ca.crt and namespace.
  std::string serviceAccount{"/var/run/secrets/kubernetes.io/serviceaccount"};

  friend bool operator==(const KubernetesStoreOptions&, const KubernetesStoreOptions&) = default;
};

/// Every fault of the options, each with its field. Looks nothing up and sends no request.
[[nodiscard]] TENURE_API OptionFaults faultsOf(const KubernetesStoreOptions& options);

/// Makes the store without connecting. All candidates of a process should share one store object: it has one watch.
/// Throws std::invalid_argument for options with faults; std::runtime_error if a certificate cannot be read, or if the
/// options leave to the pod what is not there (KUBERNETES_SERVICE_HOST, the files of the service account).
[[nodiscard]] TENURE_API std::shared_ptr<LeaseStore> makeKubernetesStore(const KubernetesStoreOptions& options,
                                                                         Logger logger = {});

}  // namespace tenure
