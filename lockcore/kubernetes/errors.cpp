#include "errors.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "lockcore/port/quoted_text.hpp"
#include "replies.hpp"

namespace tenure::kubernetes_store {
namespace {

using enum ErrorClass;

struct Rule {
  int status;
  ErrorClass errorClass;
  bool maybeApplied;
  std::string_view advice;
};

/// It names the user, the verb and the object.
constexpr std::size_t longestTold = 300;

constexpr std::string_view signIn =
    "The API server does not accept the token or the certificate. Is it of this cluster, and still valid? A token file "
    "is read again at each rejection";
constexpr std::string_view roleToBind =
    "Bind a Role with the verbs get, create, update, list and watch on leases (coordination.k8s.io) in this namespace. "
    "Without create, the Lease must be there already";
constexpr std::string_view otherPath =
    "Does the namespace exist, is the server an API server of Kubernetes 1.14 or newer, and does nothing between here "
    "and there change the path?";
constexpr std::string_view tooLarge = "An object's annotations have room for 256 KiB";

constexpr std::array rulesByStatus{
    Rule{400, misconfigured, false, ""},        Rule{401, credentials, false, signIn},
    Rule{403, credentials, false, roleToBind},  Rule{404, misconfigured, false, otherPath},
    Rule{405, misconfigured, false, otherPath}, Rule{409, transient, false, ""},
    Rule{413, misconfigured, false, tooLarge},  Rule{415, misconfigured, false, otherPath},
    Rule{422, misconfigured, false, ""},        Rule{429, throttled, false, ""},
};

constexpr Rule unknown{0, transient, true, ""};

const Rule& ruleOf(int status) {
  const auto* const found =
      std::find_if(rulesByStatus.begin(), rulesByStatus.end(), [&](const Rule& rule) { return rule.status == status; });
  return found != rulesByStatus.end() ? *found : unknown;
}

}  // namespace

std::optional<Fault> faultIn(const CallName& call, const Outcome& outcome) {
  if (outcome.has_error()) {
    const CallFault& fault = outcome.error();
    return Fault{{fault.error.errorClass, call.text() + ": " + fault.error.message}, fault.maybeSent};
  }
  if (outcome->status == 200 || outcome->status == 201) return std::nullopt;
  const Rule& rule = ruleOf(outcome->status);
  const Status said = statusFrom(outcome->body);
  // Only the server's own words prove that it has refused: what stands in its place may have passed the request on.
  const bool isOfServer = !said.message.empty() || !said.reason.empty();
  std::string message = said.message;
  if (message.empty()) message = outcome->body;
  std::string text = call.text() + ": the server answered " + std::to_string(outcome->status);
  if (!message.empty()) text += ": " + inQuotes(message, longestTold);
  if (!rule.advice.empty()) text.append(". ").append(rule.advice);
  return Fault{{rule.errorClass, std::move(text)}, rule.maybeApplied || !isOfServer};
}

StoreError notUnderstood(const CallName& call, const std::string& what) {
  return {transient, call.text() + ": " + what +
                         "; check that the server is an API server of Kubernetes and that nothing answers for it"};
}

}  // namespace tenure::kubernetes_store
