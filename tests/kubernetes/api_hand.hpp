// What an operator does at a real API server, by requests of its own: it knows Kubernetes, and not the store's code.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <boost/json/object.hpp>

#include <tenure/lockcore/stores/kubernetes_store.hpp>

#include "lockcore/kubernetes/gateway.hpp"

namespace tenure::test {

/// The value of a variable that scripts/kubernetes_local sets. Throws std::runtime_error without it.
[[nodiscard]] std::string kubernetesVariable(const char* name);

/// As an administrator of the server of this test run, in this namespace.
[[nodiscard]] KubernetesStoreOptions adminOptions(const std::string& inNamespace);

/// Throws std::runtime_error for what goes wrong.
class ApiHand {
 public:
  /// The namespace is made if it is missing.
  explicit ApiHand(const std::string& inNamespace);

  /// A namespace that no other test has.
  [[nodiscard]] static std::string freshNamespace();

  [[nodiscard]] kubernetes_store::Reply ask(const std::string& method, const std::string& target,
                                            const std::string& body = {}) const;
  /// The path of a Lease; without a name that of all.
  [[nodiscard]] std::string pathOf(const std::string& name) const;
  /// Empty: there is none.
  [[nodiscard]] boost::json::object lease(const std::string& name) const;
  /// Changes the Lease as `kubectl edit` does; nothing happens if there is none.
  void edit(const std::string& name, const std::function<void(boost::json::object&)>& change) const;
  void erase(const std::string& name) const;

 private:
  const std::string namespace_;
  const std::shared_ptr<kubernetes_store::Gateway> gateway_;
};

/// The annotations of a Lease; made if there are none.
[[nodiscard]] boost::json::object& annotationsOf(boost::json::object& lease);

}  // namespace tenure::test
