// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-service.html
#include "lockcore/aws/text.hpp"
#include "lockcore/port/ascii_text.hpp"
#include "providers.hpp"

namespace tenure::aws {
namespace {

constexpr const char* rolePath = "/latest/meta-data/iam/security-credentials/";
constexpr const char* regionPath = "/latest/meta-data/placement/region";

/// Of the environment, or else of the profile; empty if neither has it.
std::string setting(const FetchContext& context, const char* variable, const char* key) {
  const Profile* profile = context.config.find(profileName(context.environment, context.profile));
  std::string text = context.environment.get(variable);
  return text.empty() && profile != nullptr ? profile->word(key) : text;
}

/// 1 if neither says it, as in botocore.
StoreResult<int> numberSetting(const FetchContext& context, const char* variable, const char* key) {
  const std::string text = setting(context, variable, key);
  const std::optional<int> number = text.empty() ? 1 : numberFrom<int>(text);
  if (number && *number > 0) return *number;
  return StoreError{ErrorClass::credentials, std::string{variable} + " (in a profile " + key + ") is \"" +
                                                 forPeople(text, 40) + "\"; write a whole number, at least 1"};
}

StoreResult<net::Url> metadataUrl(const FetchContext& context) {
  std::string text = setting(context, "AWS_EC2_METADATA_SERVICE_ENDPOINT", "ec2_metadata_service_endpoint");
  const std::string mode =
      lowered(setting(context, "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "ec2_metadata_service_endpoint_mode"));
  const bool v6 =
      mode.empty() ? lowered(setting(context, "AWS_IMDS_USE_IPV6", "imds_use_ipv6")) == "true" : mode == "ipv6";
  if (text.empty()) text = v6 ? "http://[fd00:ec2::254]" : "http://169.254.169.254";
  auto url = net::parseUrl(text);
  if (!url) {
    return StoreError{
        ErrorClass::credentials,
        "AWS_EC2_METADATA_SERVICE_ENDPOINT (in a profile ec2_metadata_service_endpoint) is not a usable URL: " +
            url.error().message};
  }
  if (url->target.ends_with('/')) url->target.pop_back();
  return *std::move(url);
}

/// One conversation with the metadata service. It begins with a token: version 1, which has none, is never used.
class InstanceMetadata {
 public:
  explicit InstanceMetadata(FetchContext& context) : context_{context} {}

  /// Why no metadata is available here, or empty. This machine may be no instance, and that is no error.
  std::string open() {
    if (context_.environment.isTrue("AWS_EC2_METADATA_DISABLED")) return "switched off by AWS_EC2_METADATA_DISABLED";
    auto url = metadataUrl(context_);
    if (!url) return url.error().message;
    const auto seconds = numberSetting(context_, "AWS_METADATA_SERVICE_TIMEOUT", "metadata_service_timeout");
    if (!seconds) return seconds.error().message;
    const auto most = numberSetting(context_, "AWS_METADATA_SERVICE_NUM_ATTEMPTS", "metadata_service_num_attempts");
    if (!most) return most.error().message;
    attempts_ = {.most = *most, .timeout = std::chrono::seconds{*seconds}};
    origin_ = url->origin;
    base_ = url->target;
    const net::HttpOutcome reply =
        ask({"PUT", base_ + "/latest/api/token", {{"X-aws-ec2-metadata-token-ttl-seconds", "21600"}}, {}});
    if (!reply) return "no answer: " + reply.error().message;
    if (reply->status != 200) {
      return net::toString(origin_) + " gives no token (HTTP status " + std::to_string(reply->status) +
             "); version 2 of the metadata service is needed, and in containers a hop limit of 2";
    }
    token_ = std::string{trimmed(reply->body)};
    return {};
  }

  net::HttpOutcome get(const std::string& path) {
    return ask({"GET", base_ + path, {{"X-aws-ec2-metadata-token", token_}}, {}});
  }

  [[nodiscard]] std::string where() const { return "EC2 instance metadata at " + net::toString(origin_); }

 private:
  net::HttpOutcome ask(const net::HttpRequest& request) { return context_.askMetadata(origin_, request, attempts_); }

  FetchContext& context_;
  Attempts attempts_{};
  net::Origin origin_{};
  std::string base_{};  ///< what all paths begin with
  std::string token_{};
};

StoreError refused(const InstanceMetadata& metadata, const std::string& what, const net::HttpOutcome& reply) {
  return {ErrorClass::credentials,
          metadata.where() + ": " + what + ": " +
              (reply ? "HTTP status " + std::to_string(reply->status) : reply.error().message)};
}

}  // namespace

ProviderResult fromInstanceMetadata(FetchContext& context) {
  InstanceMetadata metadata{context};
  if (std::string why = metadata.open(); !why.empty()) return NotConfigured{std::move(why)};
  const net::HttpOutcome roles = metadata.get(rolePath);
  if (roles && roles->status == 404) return NotConfigured{"the instance has no role (instance profile)"};
  if (!roles || roles->status != 200) return refused(metadata, "the name of the instance's role", roles);
  const std::string role{trimmed(split(trimmed(roles->body), '\n').front())};
  if (role.empty()) return NotConfigured{"the instance has no role (instance profile)"};
  const net::HttpOutcome reply = metadata.get(rolePath + percentEncode(role, ""));
  if (!reply || reply->status != 200) {
    return refused(metadata, "the credentials of role " + forPeople(role, 80), reply);
  }
  // As in botocore, expired ones serve on: the instance has no others while the service that issues them is down.
  auto read = credentialsFromJson(context, metadata.where() + ", role " + forPeople(role, 80), reply->body,
                                  {.sessionToken = "Token", .versionOne = false, .expiredServeOn = true},
                                  reply->header("Date"));
  if (!read) return read.error();
  return *std::move(read);
}

std::string regionOfInstance(FetchContext& context, std::string& why) {
  InstanceMetadata metadata{context};
  why = metadata.open();
  if (!why.empty()) return {};
  const net::HttpOutcome reply = metadata.get(regionPath);
  if (reply && reply->status == 200) return std::string{trimmed(reply->body)};
  why = refused(metadata, "the region", reply).message;
  return {};
}

}  // namespace tenure::aws
