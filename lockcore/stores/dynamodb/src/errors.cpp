#include "errors.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

namespace tenure::dynamodb_store {
namespace {

using boost::json::object;

constexpr std::string_view noTable =
    "create the table (`tenure check --connect` does, where the configuration allows it), or check its name, the "
    "region "
    "and the account of the credentials";
constexpr std::string_view notAllowed = "allow the action for this table in the IAM policy of these credentials";
constexpr std::string_view noCredentials = "check the credentials; they may be wrong, expired or of another account";
constexpr std::string_view slowDown = "the table or the account is at its limit; raise the capacity or use on-demand";
constexpr std::string_view refusedText =
    "the table is probably not as tenure needs it, or a record is too large for DynamoDB (400 KB)";
constexpr std::string_view clock = "check this machine's clock";

constexpr auto transient = ErrorClass::transient;
constexpr auto throttled = ErrorClass::throttled;
constexpr auto credentials = ErrorClass::credentials;
constexpr auto misconfigured = ErrorClass::misconfigured;

/// Sorted by name. Client errors prove that nothing was applied; server errors do not (an applied write may be answered
/// with a 500).
constexpr std::array rules{
    ErrorRule{"AccessDenied", credentials, false, notAllowed},
    ErrorRule{"AccessDeniedException", credentials, false, notAllowed},
    ErrorRule{"BackupInUseException", transient, false, ""},
    ErrorRule{"ConditionalCheckFailedException", transient, false, ""},
    ErrorRule{"ContinuousBackupsUnavailableException", transient, false, ""},
    ErrorRule{"DuplicateItemException", transient, false, ""},
    ErrorRule{"ExpiredToken", credentials, false, noCredentials},
    ErrorRule{"ExpiredTokenException", credentials, false, noCredentials},
    ErrorRule{"IdempotentParameterMismatchException", transient, true, ""},
    ErrorRule{"IncompleteSignature", credentials, false, noCredentials},
    ErrorRule{"IncompleteSignatureException", credentials, false, noCredentials},
    ErrorRule{"InternalFailure", transient, true, ""},
    ErrorRule{"InternalServerError", transient, true, ""},
    ErrorRule{"InternalServerErrorException", transient, true, ""},
    ErrorRule{"InvalidAccessKeyId", credentials, false, noCredentials},
    ErrorRule{"InvalidAction", misconfigured, false, ""},
    ErrorRule{"InvalidClientTokenId", credentials, false, noCredentials},
    ErrorRule{"InvalidEndpointException", transient, false, ""},
    ErrorRule{"InvalidSignatureException", credentials, false, noCredentials},
    ErrorRule{"ItemCollectionSizeLimitExceededException", throttled, false, "the item collection is full"},
    ErrorRule{"LimitExceededException", throttled, false, slowDown},
    ErrorRule{"MalformedQueryString", misconfigured, false, ""},
    ErrorRule{"MissingAuthenticationToken", credentials, false, noCredentials},
    ErrorRule{"MissingAuthenticationTokenException", credentials, false, noCredentials},
    ErrorRule{"NotAuthorized", credentials, false, notAllowed},
    ErrorRule{"OptInRequired", credentials, false, "the account is not subscribed to the service in this region"},
    ErrorRule{"ProvisionedThroughputExceededException", throttled, false, slowDown},
    ErrorRule{"ReplicatedWriteConflictException", transient, false, ""},
    ErrorRule{"RequestEntityTooLarge", misconfigured, false, refusedText},
    ErrorRule{"RequestExpired", credentials, false, clock},
    ErrorRule{"RequestInTheFuture", credentials, false, clock},
    ErrorRule{"RequestLimitExceeded", throttled, false, slowDown},
    ErrorRule{"RequestTimeTooSkewed", credentials, false, clock},
    ErrorRule{"RequestTimeout", transient, true, ""},
    ErrorRule{"RequestTimeoutException", transient, true, ""},
    ErrorRule{"ResourceInUseException", transient, false, ""},
    ErrorRule{"ResourceNotFoundException", misconfigured, false, noTable},
    ErrorRule{"SerializationException", misconfigured, false, ""},
    ErrorRule{"ServiceUnavailable", transient, true, ""},
    ErrorRule{"ServiceUnavailableException", transient, true, ""},
    ErrorRule{"SignatureDoesNotMatch", credentials, false, noCredentials},
    ErrorRule{"SlowDown", throttled, false, slowDown},
    ErrorRule{"TableInUseException", transient, false, ""},
    ErrorRule{"TableNotFoundException", misconfigured, false, noTable},
    ErrorRule{"Throttling", throttled, false, slowDown},
    ErrorRule{"ThrottlingException", throttled, false, slowDown},
    ErrorRule{"TooManyRequestsException", throttled, false, slowDown},
    ErrorRule{"TransactionCanceledException", transient, false, ""},
    ErrorRule{"TransactionConflictException", transient, false, ""},
    ErrorRule{"TransactionInProgressException", transient, true, ""},
    ErrorRule{"UnknownOperationException", misconfigured, false,
              "the endpoint is not DynamoDB, or it is an old emulator"},
    ErrorRule{"UnrecognizedClientException", credentials, false, noCredentials},
    ErrorRule{"ValidationException", misconfigured, false, refusedText},
};

std::string textMember(const object& body, std::string_view member) {
  const auto* value = body.if_contains(member);
  const auto* text = value != nullptr ? value->if_string() : nullptr;
  return text != nullptr ? std::string{text->data(), text->size()} : std::string{};
}

/// "com.amazonaws.dynamodb.v20120810#ThrottlingException" -> "ThrottlingException"; some front ends add ":http://..."
std::string nameIn(const object& body) {
  std::string type = textMember(body, "__type");
  if (const auto hash = type.rfind('#'); hash != std::string::npos) type.erase(0, hash + 1);
  return type.substr(0, type.find(':'));
}

ErrorClass classOfStatus(int status) noexcept {
  if (status == 401 || status == 403 || status == 407) return credentials;
  if (status == 429) return throttled;
  if (status == 408 || status >= 500) return transient;
  return misconfigured;
}

/// The service's own message: one line, not too long.
std::string messageIn(const object& body) {
  std::string message = textMember(body, "message");
  if (message.empty()) message = textMember(body, "Message");
  std::replace_if(
      message.begin(), message.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }, ' ');
  constexpr std::size_t longest = 400;
  if (message.size() > longest) {
    std::size_t end = longest;
    while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xC0U) == 0x80U) --end;
    message.replace(end, std::string::npos, "...");
  }
  return message;
}

Fault faultOf(const std::string& what, const aws::JsonReply& reply, object body) {
  Fault fault;
  fault.name = nameIn(body);
  const ErrorRule* rule = ruleOf(fault.name);
  fault.error.errorClass = rule != nullptr ? rule->errorClass : classOfStatus(reply.status);
  // Without an error name of DynamoDB's, something between us and the service may have answered after passing the
  // request on. A server error never proves that nothing was applied, whatever name it gives. A success that names an
  // error contradicts itself, so neither of the two is believed.
  fault.maybeApplied =
      reply.status >= 500 || reply.status == 200 || (rule != nullptr ? rule->maybeApplied : fault.name.empty());
  std::string& message = fault.error.message;
  message = what + ": " + (fault.name.empty() ? "an answer that is not DynamoDB's" : fault.name);
  message += " (HTTP " + std::to_string(reply.status);
  if (!reply.requestId.empty()) message += ", request " + reply.requestId;
  message += ')';
  if (const std::string words = messageIn(body); !words.empty()) message += ": " + words;
  if (rule != nullptr && !rule->advice.empty()) message += "; " + std::string{rule->advice};
  fault.body = std::move(body);
  fault.copiesOut = reply.copiesOut;
  return fault;
}

}  // namespace

const ErrorRule* ruleOf(std::string_view name) noexcept {
  const auto* found =
      std::lower_bound(rules.begin(), rules.end(), name,
                       [](const ErrorRule& rule, std::string_view wanted) { return rule.name < wanted; });
  return found != rules.end() && found->name == name ? found : nullptr;
}

void throw_exception_from_error(const Fault& fault, const boost::source_location&) {
  throw std::runtime_error{fault.error.message};
}

std::string CallName::text() const {
  std::string out = where + ": ";
  out += doing;
  if (lease != nullptr) out += " lease " + toString(*lease);
  return out;
}

ParsedReply parseReply(const CallName& call, const aws::JsonOutcome& outcome) {
  if (outcome.has_error()) {
    const aws::JsonCallError& fault = outcome.error();
    return Fault{"", {fault.error.errorClass, call.text() + ": " + fault.error.message}, fault.maybeSent, {}};
  }
  boost::system::error_code invalid;
  // One block for all its values, which live as long as the object.
  boost::json::value parsed = boost::json::parse(
      outcome->body, invalid, boost::json::make_shared_resource<boost::json::monotonic_resource>(768));
  object* body = invalid.failed() ? nullptr : parsed.if_object();
  const bool names = body != nullptr && body->contains("__type");
  if (outcome->status != 200 || names)
    return faultOf(call.text(), *outcome, body != nullptr ? std::move(*body) : object{});
  if (body != nullptr) return std::move(*body);
  return Fault{
      "",
      {transient,
       call.text() + ": the answer is not JSON; check whether a proxy between here and DynamoDB answers in its place"},
      true,
      {}};
}

}  // namespace tenure::dynamodb_store
