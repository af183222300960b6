#include "kubernetes/api_hand.hpp"

#include <chrono>
#include <cstdlib>
#include <future>
#include <stdexcept>
#include <unistd.h>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "lockcore/kubernetes/http_gateway.hpp"

namespace tenure::test {

using kubernetes_store::Reply;

std::string kubernetesVariable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  if (value == nullptr)
    throw std::runtime_error{std::string{name} + " is not set; run this by scripts/kubernetes_local"};
  return value;
}

KubernetesStoreOptions adminOptions(const std::string& inNamespace) {
  KubernetesStoreOptions options;
  options.server = kubernetesVariable("TENURE_TEST_KUBERNETES_URL");
  options.caFile = kubernetesVariable("TENURE_TEST_KUBERNETES_CA");
  options.token = kubernetesVariable("TENURE_TEST_KUBERNETES_ADMIN");
  options.inNamespace = inNamespace;
  return options;
}

std::string ApiHand::freshNamespace() {
  static int made = 0;
  return "contract-" + std::to_string(getpid()) + '-' + std::to_string(++made);
}

ApiHand::ApiHand(const std::string& inNamespace)
    : namespace_{inNamespace}, gateway_{kubernetes_store::makeHttpGateway(adminOptions(inNamespace))} {
  const Reply reply = ask("POST", "/api/v1/namespaces", R"({"metadata":{"name":")" + inNamespace + "\"}}");
  if (reply.status != 201 && reply.status != 409) throw std::runtime_error{"no namespace: " + reply.body};
}

Reply ApiHand::ask(const std::string& method, const std::string& target, const std::string& body) const {
  std::promise<kubernetes_store::Outcome> answer;
  gateway_->call({method, target, body}, std::chrono::seconds{30},
                 [&](kubernetes_store::Outcome outcome) { answer.set_value(std::move(outcome)); });
  kubernetes_store::Outcome outcome = answer.get_future().get();
  if (!outcome) throw std::runtime_error{outcome.error().error.message};
  return std::move(*outcome);
}

std::string ApiHand::pathOf(const std::string& name) const {
  const std::string all = "/apis/coordination.k8s.io/v1/namespaces/" + namespace_ + "/leases";
  return name.empty() ? all : all + '/' + name;
}

boost::json::object ApiHand::lease(const std::string& name) const {
  const Reply reply = ask("GET", pathOf(name));
  if (reply.status == 404) return {};
  if (reply.status != 200) throw std::runtime_error{reply.body};
  return boost::json::parse(reply.body).get_object();
}

void ApiHand::edit(const std::string& name, const std::function<void(boost::json::object&)>& change) const {
  for (int tries = 0; tries < 10; ++tries) {
    boost::json::object object = lease(name);
    if (object.empty()) return;
    change(object);
    const Reply reply = ask("PUT", pathOf(name), boost::json::serialize(object));
    if (reply.status == 200) return;
    if (reply.status != 409) throw std::runtime_error{reply.body};
  }
  throw std::runtime_error{"somebody else changes " + name + " all the time"};
}

void ApiHand::erase(const std::string& name) const { static_cast<void>(ask("DELETE", pathOf(name))); }

boost::json::object& annotationsOf(boost::json::object& lease) {
  boost::json::value& all = lease["metadata"].get_object()["annotations"];
  if (!all.is_object()) all.emplace_object();
  return all.get_object();
}

}  // namespace tenure::test
