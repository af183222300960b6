#include <string>

#include "lockcore/net/http_client.hpp"
#include "probe.hpp"

#ifdef TENURE_HAS_AWS
#include "lockcore/aws/text.hpp"
#endif

namespace tenure::cli::doctor {
namespace {

/// The text of a member of a flat JSON object that holds no escapes; empty: it is not there.
std::string memberOf(const std::string& json, const std::string& name) {
  const std::size_t at = json.find('"' + name + '"');
  const std::size_t begin = at == std::string::npos ? at : json.find('"', at + name.size() + 2);
  const std::size_t end = begin == std::string::npos ? begin : json.find('"', begin + 1);
  return end == std::string::npos ? std::string{} : json.substr(begin + 1, end - begin - 1);
}

}  // namespace

ServerFacts factsIn(const net::HttpResponse& reply, std::chrono::milliseconds now) {
  ServerFacts facts;
#ifdef TENURE_HAS_AWS
  // A Date says whole seconds, so on average it is half a second behind.
  if (const auto date = aws::parseHttpDate(reply.header("Date"))) {
    facts.skew = std::chrono::round<std::chrono::seconds>(*date + std::chrono::milliseconds{500} - now);
  }
#else
  static_cast<void>(now);
#endif
  if (reply.status != 200) return facts;
  if (const std::string etcd = memberOf(reply.body, "etcdserver"); !etcd.empty()) facts.version = "etcd " + etcd;
  if (const std::string kubernetes = memberOf(reply.body, "gitVersion"); !kubernetes.empty()) {
    facts.version = "Kubernetes " + kubernetes;
  }
  return facts;
}

}  // namespace tenure::cli::doctor
