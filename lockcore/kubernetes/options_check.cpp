#include <algorithm>
#include <string_view>
#include <utility>

#include "annotations.hpp"
#include "http_gateway.hpp"
#include "lockcore/net/http_client.hpp"
#include "lockcore/net/proxy.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "lockcore/port/store_checks.hpp"
#include "lockcore/runtime/regular_file.hpp"
#include "names.hpp"

namespace tenure {
namespace {

using kubernetes_store::isLabelName;
using kubernetes_store::isLabelValue;
using kubernetes_store::isObjectName;
using kubernetes_store::longestLabel;

/// Of a namespace: an RFC 1123 label.
bool isNamespace(std::string_view text) {
  return text.size() <= longestLabel && isObjectName(text) && text.find('.') == std::string_view::npos;
}

void checkServer(const KubernetesStoreOptions& options, OptionFaults& faults) {
  if (options.server.empty()) return;
  const auto url = net::parseUrl(options.server);
  if (!url) return faults.push_back({"server", url.error().message});
  if (url->target.find('?') != std::string::npos)
    faults.push_back({"server", inQuotes(options.server) + " has a query"});
  if (url->origin.tls) return;
  for (const auto& [field, text] : {std::pair{"caFile", &options.caFile},
                                    {"caCertificates", &options.caCertificates},
                                    {"serverName", &options.serverName},
                                    {"tokenFile", &options.tokenFile},
                                    {"token", &options.token},
                                    {"certificate", &options.certificate},
                                    {"certificateText", &options.certificateText}}) {
    if (!text->empty()) faults.push_back({field, "needs TLS, but the server begins with http://"});
  }
}

void checkServerName(const std::string& name, OptionFaults& faults) {
  if (name.empty()) return;
  const auto url = net::parseUrl("https://" + (name.find(':') == std::string::npos ? name : '[' + name + ']'));
  if (!url || url->target != "/") faults.push_back({"serverName", inQuotes(name) + " is not a host name"});
}

void checkProxy(const std::string& text, OptionFaults& faults) {
  if (text.empty()) return;
  const auto proxy = net::parseProxy(text);
  if (!proxy) {
    faults.push_back({"proxy", proxy.error().message});
  } else if (text.find("://") == std::string::npos) {
    faults.push_back({"proxy", "the proxy's URL must begin with http:// or https://"});
  }
}

void checkNamespace(const KubernetesStoreOptions& options, OptionFaults& faults) {
  const std::string& name = options.inNamespace;
  if (name.empty() && !options.server.empty()) {
    faults.push_back({"inNamespace", "is missing; only in a pod it is known without"});
  } else if (!name.empty() && !isNamespace(name)) {
    faults.push_back(
        {"inNamespace", inQuotes(name) + " is not a namespace: up to 63 lower-case letters, digits and hyphens"});
  }
}

void checkOneOf(const char* field, const std::string& one, const char* other, const std::string& two,
                OptionFaults& faults) {
  if (!one.empty() && !two.empty()) faults.push_back({field, std::string{"is given, and so is "} + other});
}

void checkTogether(const KubernetesStoreOptions& options, OptionFaults& faults) {
  checkOneOf("caCertificates", options.caCertificates, "caFile", options.caFile, faults);
  checkOneOf("certificateText", options.certificateText, "certificate", options.certificate, faults);
  const auto pair = [&](const char* first, const std::string& one, const char* second, const std::string& two) {
    if (!one.empty() && two.empty()) faults.push_back({second, "is missing; the certificate needs its key"});
    if (one.empty() && !two.empty()) faults.push_back({first, "is missing; the key belongs to one"});
  };
  pair("certificate", options.certificate, "key", options.key);
  pair("certificateText", options.certificateText, "keyText", options.keyText);
}

void checkLabels(const KubernetesStoreOptions& options, OptionFaults& faults) {
  for (const auto& [name, text] : options.labels) {
    if (name == kubernetes_store::managedBy) {
      faults.push_back({"labels", inQuotes(name) + " is the store's own, by which it lists its Leases"});
    } else if (!isLabelName(name) || !isLabelValue(text)) {
      faults.push_back({"labels", inQuotes(name) + ": " + inQuotes(text) + " is not a Kubernetes label"});
    }
  }
}

void checkTexts(const KubernetesStoreOptions& options, OptionFaults& faults) {
  for (const auto& [field, path] : {std::pair{"caFile", &options.caFile},
                                    {"tokenFile", &options.tokenFile},
                                    {"certificate", &options.certificate},
                                    {"key", &options.key}}) {
    if (std::string fault = faultOfPath(*path); !fault.empty()) faults.push_back({field, std::move(fault)});
  }
  if (!isPlainText(options.serviceAccount)) {
    faults.push_back({"serviceAccount", "is not UTF-8 text without NUL"});
  }
  const std::string& token = options.token;
  if (!std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < '\x7f'; })) {
    faults.push_back({"token", "has white space or other characters that no token has"});
  }
}

}  // namespace

OptionFaults faultsOf(const KubernetesStoreOptions& options) {
  OptionFaults faults;
  checkServer(options, faults);
  checkServerName(options.serverName, faults);
  checkProxy(options.proxy, faults);
  checkNamespace(options, faults);
  checkTogether(options, faults);
  checkLabels(options, faults);
  checkTexts(options, faults);
  return faults;
}

void kubernetes_store::checkOptions(const KubernetesStoreOptions& options) {
  throwIfFaulty("Kubernetes store", faultsOf(options));
}

}  // namespace tenure
