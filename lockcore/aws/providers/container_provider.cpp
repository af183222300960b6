// https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "lockcore/aws/text.hpp"
#include "lockcore/port/ascii_text.hpp"
#include "providers.hpp"

namespace tenure::aws {
namespace {

StoreError fault(const std::string& what) { return {ErrorClass::credentials, "container credentials: " + what}; }

/// The token may be sent in plain text only to the machine itself and to the addresses of ECS and EKS.
bool mayBePlain(const std::string& host) {
  static constexpr std::array<std::string_view, 5> known{"localhost", "::1", "169.254.170.2", "169.254.170.23",
                                                         "fd00:ec2::23"};
  if (std::find(known.begin(), known.end(), lowered(host)) != known.end()) return true;
  return host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string::npos;
}

StoreResult<net::Url> endpoint(const AwsEnvironment& environment) {
  const std::string relative = environment.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const std::string full = environment.get("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  // The relative one comes first, as in AWS's SDKs; it is below the address of ECS.
  const char* variable =
      relative.empty() ? "AWS_CONTAINER_CREDENTIALS_FULL_URI" : "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
  if (!relative.empty() && relative.front() != '/') return fault(std::string{variable} + " does not begin with /");
  auto url = net::parseUrl(relative.empty() ? full : "http://169.254.170.2" + relative);
  if (!url) return fault(std::string{variable} + " is not a usable URL: " + url.error().message);
  if (!url->origin.tls && !mayBePlain(url->origin.host)) {
    return fault(
        std::string{variable} + " names the host " + forPeople(url->origin.host, 100) +
        " with http://; other hosts than the loopback, 169.254.170.2, 169.254.170.23 and [fd00:ec2::23] need https://");
  }
  return *std::move(url);
}

/// Empty: no token is set.
StoreResult<std::string> authorizationToken(const AwsEnvironment& environment) {
  std::string token = environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  const std::string file = environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  if (!file.empty()) {
    auto read = readSmallFile(file);
    if (!read) return fault("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE cannot be read: " + read.error().message);
    token = std::string{trimmed(*read)};
  }
  if (token.find_first_of("\r\n") != std::string::npos) return fault("the authorization token has a line break in it");
  return token;
}

}  // namespace

ProviderResult fromContainer(FetchContext& context) {
  const AwsEnvironment& environment = context.environment;
  if (environment.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI").empty() &&
      environment.get("AWS_CONTAINER_CREDENTIALS_FULL_URI").empty()) {
    return NotConfigured{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and _FULL_URI are not set"};
  }
  const auto url = endpoint(environment);
  if (!url) return url.error();
  const auto token = authorizationToken(environment);
  if (!token) return token.error();
  net::HttpRequest request{"GET", url->target, {{"Accept", "application/json"}}, {}};
  if (!token->empty()) request.headers.push_back({"Authorization", *token});
  const net::HttpOutcome reply = context.askMetadata(url->origin, request, context.limits.container);
  const std::string where = "the endpoint " + net::toString(url->origin);
  if (!reply) return fault(where + " was not reached: " + reply.error().message);
  if (reply->status != 200) {
    return fault(where + " answered with HTTP status " + std::to_string(reply->status) +
                 (reply->status == 401 || reply->status == 403 ? "; is the authorization token right?" : ""));
  }
  auto read = credentialsFromJson(context, "container credentials: " + where, reply->body,
                                  {.sessionToken = "Token", .versionOne = false}, reply->header("Date"));
  if (!read) return read.error();
  return *std::move(read);
}

}  // namespace tenure::aws
