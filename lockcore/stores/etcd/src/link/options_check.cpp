#include <set>

#include "http_gateway.hpp"
#include "lockcore/net/http_client.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "lockcore/port/store_checks.hpp"
#include "lockcore/runtime/regular_file.hpp"

namespace tenure {
namespace {

constexpr std::size_t maxPrefixBytes = 512;

void checkEndpoints(const std::vector<std::string>& endpoints, OptionFaults& faults) {
  const auto wrong = [&](const std::string& what) { faults.push_back({"endpoints", what}); };
  if (endpoints.empty()) return wrong("is empty; give the client URL of at least one member");
  std::set<net::Origin> origins;
  for (const std::string& endpoint : endpoints) {
    const auto url = net::parseUrl(endpoint);
    if (!url) {
      wrong(url.error().message);
    } else if (url->target != "/") {
      wrong(inQuotes(endpoint) + " has a path; give it as https://host:2379");
    } else if (!origins.insert(url->origin).second) {
      wrong("has " + inQuotes(endpoint) + " twice");
    }
  }
  if (!origins.empty() && origins.begin()->tls != origins.rbegin()->tls) {
    wrong("has https:// and http://; the members of a cluster have TLS or none of them has");
  }
}

void checkPrefix(const std::string& prefix, OptionFaults& faults) {
  if (prefix.empty() || prefix.size() > maxPrefixBytes || !isPlainText(prefix)) {
    faults.push_back({"prefix", "must be 1 to " + std::to_string(maxPrefixBytes) + " bytes of text"});
  } else if (!prefix.starts_with('/') || prefix.ends_with('/')) {
    // The store adds a slash: two spellings of one prefix would be two stores that do not see each other.
    faults.push_back({"prefix", inQuotes(prefix) + " must begin with a slash and not end in one, as /tenure"});
  } else if ((prefix + '/').find("/lease/") != std::string::npos ||
             (prefix + '/').find("/fence/") != std::string::npos) {
    // Such a store would lie among the leases of the one whose prefix is what stands before.
    faults.push_back(
        {"prefix", inQuotes(prefix) + " has a part /lease or /fence, below which a store keeps its leases"});
  }
}

void checkTogether(const EtcdStoreOptions& options, OptionFaults& faults) {
  if (!options.user.empty() && options.passwordFile.empty()) {
    faults.push_back({"passwordFile", "is missing; the user needs a password"});
  }
  if (options.user.empty() && !options.passwordFile.empty()) {
    faults.push_back({"user", "is missing; the password belongs to one"});
  }
  if (!options.certificate.empty() && options.key.empty()) {
    faults.push_back({"key", "is missing; the certificate needs its key"});
  }
  if (options.certificate.empty() && !options.key.empty()) {
    faults.push_back({"certificate", "is missing; the key belongs to one"});
  }
}

/// Somebody who gives certificates means TLS.
void checkTls(const EtcdStoreOptions& options, OptionFaults& faults) {
  const auto first = options.endpoints.empty() ? net::parseUrl("") : net::parseUrl(options.endpoints.front());
  if (!first || first->origin.tls) return;
  for (const auto& [field, path] :
       {std::pair{"caFile", &options.caFile}, {"certificate", &options.certificate}, {"key", &options.key}}) {
    if (!path->empty()) faults.push_back({field, "needs TLS, but the endpoints begin with http://"});
  }
}

void checkTexts(const EtcdStoreOptions& options, OptionFaults& faults) {
  if (!isPlainText(options.user)) faults.push_back({"user", "is not UTF-8 text without NUL"});
  for (const auto& [field, path] : {std::pair{"passwordFile", &options.passwordFile},
                                    {"caFile", &options.caFile},
                                    {"certificate", &options.certificate},
                                    {"key", &options.key}}) {
    if (std::string fault = faultOfPath(*path); !fault.empty()) faults.push_back({field, std::move(fault)});
  }
}

}  // namespace

OptionFaults faultsOf(const EtcdStoreOptions& options) {
  OptionFaults faults;
  checkEndpoints(options.endpoints, faults);
  checkPrefix(options.prefix, faults);
  checkTogether(options, faults);
  checkTls(options, faults);
  checkTexts(options, faults);
  return faults;
}

void etcd_store::checkOptions(const EtcdStoreOptions& options) { throwIfFaulty("etcd store", faultsOf(options)); }

}  // namespace tenure
