#include "sts.hpp"

#include <utility>

#include "endpoint.hpp"
#include "lockcore/port/ascii_text.hpp"
#include "sigv4.hpp"
#include "text.hpp"

namespace tenure::aws {
namespace {

StoreError fault(const RoleRequest& role, const std::string& what) {
  // A role's name may be as long as a key. A text that is no ARN may be a key in the wrong place.
  const bool isArn = role.roleArn.starts_with("arn:");
  const std::string shown = isArn ? oneLine(role.roleArn, 160) : forPeople(role.roleArn, 160);
  return {ErrorClass::credentials, role.who + ": role " + shown + ": " + what};
}

void addField(std::string& body, std::string_view name, std::string_view value) {
  if (!value.empty()) body.append("&").append(name).append("=").append(percentEncode(value, ""));
}

std::string formFor(std::string_view action, const RoleRequest& role) {
  std::string body = "Action=" + std::string{action} + "&Version=2011-06-15";
  addField(body, "RoleArn", role.roleArn);
  addField(body, "RoleSessionName", role.sessionName.empty() ? "tenure" : role.sessionName);
  return body;
}

/// The text of the first `<name>` in STS's XML, which has neither attributes nor CDATA where we look.
std::string element(std::string_view xml, const std::string& name) {
  const std::size_t begin = xml.find('<' + name + '>');
  if (begin == std::string_view::npos) return {};
  const std::string_view from = xml.substr(begin + name.size() + 2);
  const std::size_t end = from.find("</" + name + '>');
  if (end == std::string_view::npos) return {};
  std::string out;
  for (std::string_view rest = trimmed(from.substr(0, end)); !rest.empty();) {
    static constexpr std::pair<std::string_view, char> entities[]{
        {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}, {"&amp;", '&'}};
    std::size_t used = 1;
    char c = rest.front();
    for (const auto& [entity, meaning] : entities) {
      if (rest.starts_with(entity)) used = entity.size(), c = meaning;
    }
    out += c;
    rest.remove_prefix(used);
  }
  return out;
}

/// STS has an endpoint in each region, which is nearer and does not depend on us-east-1. Without a region the global
/// endpoint is used.
StoreResult<Place> stsPlace(const FetchContext& context) {
  const PlaceWishes wishes{"sts", {}, {}, context.profile};
  auto place =
      findPlace(context.environment, context.config, wishes, context.region.empty() ? "us-east-1" : context.region, "");
  if (place && context.region.empty() && place->endpoint.origin.host == "sts.us-east-1.amazonaws.com") {
    place->endpoint.origin.host = "sts.amazonaws.com";
  }
  return place;
}

bool meansWrongClock(std::string_view code) {
  return code == "SignatureDoesNotMatch" || code == "RequestExpired" || code == "InvalidSignatureException" ||
         code == "RequestTimeTooSkewed";
}

StoreResult<Credentials> readReply(const FetchContext& context, const RoleRequest& role, const net::HttpResponse& reply,
                                   const std::string& where) {
  if (reply.status != 200) {
    const std::string code = element(reply.body, "Code");
    std::string text = where + " refused: HTTP status " + std::to_string(reply.status);
    if (!code.empty()) text += ", " + forPeople(code, 80) + ": " + forPeople(element(reply.body, "Message"), 400);
    return fault(role, text);
  }
  Credentials out{
      {element(reply.body, "AccessKeyId"), element(reply.body, "SecretAccessKey"), element(reply.body, "SessionToken")},
      std::nullopt,
      role.who + ", role " + role.roleArn};
  const auto expiration = parseIsoTime(element(reply.body, "Expiration"));
  if (out.keys.accessKeyId.empty() || out.keys.secretAccessKey.empty() || out.keys.sessionToken.empty() ||
      !expiration) {
    return fault(role, where + " sent a reply without credentials (not shown: it may hold a secret); is it STS?");
  }
  out.lifetime = context.lifetimeUntil(*expiration, reply.header("Date"));
  if (out.lifetime->count() <= 0) return fault(role, where + " sent credentials that have expired already");
  return out;
}

/// `base`: none for the unsigned action.
StoreResult<Credentials> ask(FetchContext& context, const RoleRequest& role, const std::string& body,
                             const Keys* base) {
  const auto place = stsPlace(context);
  if (!place) return fault(role, place.error().message);
  const std::string where = "STS at " + net::toString(place->endpoint.origin);
  std::chrono::seconds offset{0};
  const auto send = [&] {
    const SigningClock::Reading time = context.clock.read();
    offset = time.offset;
    net::HttpRequest request{"POST", place->endpoint.target, {}, body};
    request.headers.push_back({"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"});
    request.headers.push_back({"Accept", "text/xml"});
    if (base != nullptr) {
      signRequest(request, place->endpoint.origin, *base, place->region, "sts", time.now);
    }
    return context.exchange(*context.http, place->endpoint.origin, std::move(request), context.limits.service);
  };
  net::HttpOutcome reply = send();
  const auto wasWrongClock = [&] {
    return base != nullptr && meansWrongClock(element(reply->body, "Code")) &&
           context.clock.correctBy(reply->header("Date"), offset) != SigningClock::Correction::none;
  };
  const bool again =
      reply ? reply->status >= 500 || wasWrongClock() : reply.error().kind == net::HttpError::Kind::closed;
  if (again && !context.stop.stop_requested()) reply = send();
  if (!reply) return fault(role, where + " was not reached: " + reply.error().message);
  return readReply(context, role, *reply, where);
}

}  // namespace

StoreResult<Credentials> assumeRole(FetchContext& context, const RoleRequest& role, const Keys& base) {
  std::string body = formFor("AssumeRole", role);
  addField(body, "ExternalId", role.externalId);
  addField(body, "DurationSeconds", role.durationSeconds);
  return ask(context, role, body, &base);
}

StoreResult<Credentials> assumeRoleWithWebIdentity(FetchContext& context, const RoleRequest& role,
                                                   const std::string& tokenFile) {
  const auto token = readSmallFile(tokenFile);
  if (!token) return fault(role, "the web identity token cannot be read: " + token.error().message);
  if (trimmed(*token).empty()) return fault(role, "the web identity token file " + tokenFile + " is empty");
  std::string body = formFor("AssumeRoleWithWebIdentity", role);
  addField(body, "WebIdentityToken", trimmed(*token));
  return ask(context, role, body, nullptr);
}

}  // namespace tenure::aws
