// The order of AWS's SDKs: https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html
#include "lockcore/aws/sts.hpp"
#include "lockcore/aws/text.hpp"
#include "providers.hpp"

namespace tenure::aws {
namespace {

/// Asks one link after another until one gives credentials or an error.
class Search {
 public:
  void ask(const std::string& link, const std::function<ProviderResult()>& provider) {
    if (result_) return;
    ProviderResult got = provider();
    if (const auto* none = std::get_if<NotConfigured>(&got)) {
      reasons_ += (reasons_.empty() ? "" : "; ") + link + ": " + none->why;
    } else if (auto* error = std::get_if<StoreError>(&got)) {
      result_ = std::move(*error);
    } else {
      result_ = std::get<Credentials>(std::move(got));
    }
  }

  StoreResult<Credentials> finish() {
    if (result_) return *std::move(result_);
    return StoreError{ErrorClass::credentials,
                      "no AWS credentials found (" + reasons_ + "); give the process one of these"};
  }

 private:
  std::optional<StoreResult<Credentials>> result_{};
  std::string reasons_{};
};

}  // namespace

StoreResult<Credentials> findCredentials(FetchContext& context, const ChainWishes& wishes) {
  if (wishes.explicitKeys) return Credentials{*wishes.explicitKeys, std::nullopt, "the program itself"};
  Search search;
  if (!wishes.profile.empty()) {
    search.ask("profile", [&] { return fromProfile(context, wishes.profile, true); });
    return search.finish();
  }
  const bool named = !context.environment.get("AWS_PROFILE").empty();
  search.ask("environment", [&] { return fromEnvironment(context); });
  search.ask("web identity", [&] { return fromWebIdentity(context); });
  search.ask("profile", [&] { return fromProfile(context, profileName(context.environment, {}), named); });
  search.ask("container", [&] { return fromContainer(context); });
  search.ask("EC2 instance metadata", [&] { return fromInstanceMetadata(context); });
  return search.finish();
}

ProviderResult fromEnvironment(FetchContext& context) {
  const AwsEnvironment& environment = context.environment;
  Keys keys{environment.get("AWS_ACCESS_KEY_ID"), environment.get("AWS_SECRET_ACCESS_KEY"),
            environment.get("AWS_SESSION_TOKEN")};
  if (keys.accessKeyId.empty() && keys.secretAccessKey.empty()) return NotConfigured{"AWS_ACCESS_KEY_ID is not set"};
  if (keys.secretAccessKey.empty() || keys.accessKeyId.empty()) {
    const char* set = keys.accessKeyId.empty() ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID";
    const char* missing = keys.accessKeyId.empty() ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY";
    return StoreError{ErrorClass::credentials,
                      std::string{"environment: "} + set + " is set without " + missing + "; set both or none"};
  }
  return Credentials{std::move(keys), std::nullopt, "environment (AWS_ACCESS_KEY_ID)"};
}

ProviderResult fromWebIdentity(FetchContext& context) {
  const AwsEnvironment& environment = context.environment;
  const std::string tokenFile = environment.get("AWS_WEB_IDENTITY_TOKEN_FILE");
  if (tokenFile.empty()) return NotConfigured{"AWS_WEB_IDENTITY_TOKEN_FILE is not set"};
  const RoleRequest role{.roleArn = environment.get("AWS_ROLE_ARN"),
                         .sessionName = environment.get("AWS_ROLE_SESSION_NAME"),
                         .who = "web identity (AWS_WEB_IDENTITY_TOKEN_FILE)"};
  if (role.roleArn.empty()) {
    return StoreError{ErrorClass::credentials,
                      "web identity: AWS_WEB_IDENTITY_TOKEN_FILE is set without AWS_ROLE_ARN; set both or none"};
  }
  auto got = assumeRoleWithWebIdentity(context, role, environment.expandHome(tokenFile));
  if (!got) return got.error();
  return *std::move(got);
}

}  // namespace tenure::aws
