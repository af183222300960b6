// A store in etcd: any number of machines, over the JSON gateway of the members (`/v3`), without gRPC.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_options.hpp>
#include <tenure/lockcore/logger.hpp>

namespace tenure {

class LeaseStore;

struct EtcdStoreOptions {
  /// The members' client URLs, `https://etcd1:2379`; all of one cluster, and all with TLS or none. Calls go to one of
  /// them, and to the next when it does not answer in time.
  std::vector<std::string> endpoints{"http://127.0.0.1:2379"};
  /// Every key of the store begins with it. Candidates that compete must have the same.
  std::string prefix{"/tenure"};
  std::string user{};          ///< empty: no authentication
  std::string passwordFile{};  ///< path of a file whose first line is the password; read again after a rejection
  std::string caFile{};        ///< path of a PEM file; empty: the system's trust store
  std::string certificate{};   ///< path of the client's certificate (PEM); empty: none
  std::string key{};           ///< path of its key

  friend bool operator==(const EtcdStoreOptions&, const EtcdStoreOptions&) = default;
};

/// Every fault of the options, each with its field. Looks nothing up and sends no request.
[[nodiscard]] TENURE_API OptionFaults faultsOf(const EtcdStoreOptions& options);

/// Makes the store without connecting. All candidates of a process should share one store object. Throws
/// std::invalid_argument for options with faults, std::runtime_error if a certificate cannot be read.
[[nodiscard]] TENURE_API std::shared_ptr<LeaseStore> makeEtcdStore(const EtcdStoreOptions& options, Logger logger = {});

}  // namespace tenure
