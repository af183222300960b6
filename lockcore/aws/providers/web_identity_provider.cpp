// https://docs.aws.amazon.com/sdkref/latest/guide/feature-assume-role-credentials.html
#include <string>

#include "lockcore/aws/sts.hpp"
#include "providers.hpp"

namespace tenure::aws {
namespace {

/// One value of a web identity, and where it stands.
struct Value {
  std::string text{};
  bool ofEnvironment{false};
};

/// Where a value may stand. Each is looked for by itself, as in botocore: the token may be of the environment and its
/// role of the profile.
struct Places {
  const AwsEnvironment* environment;  ///< null: it does not count
  const Profile* profile;             ///< null: there is none

  /// A variable that is set and empty hides the key of the profile, as in botocore.
  [[nodiscard]] Value find(const char* variable, const char* key) const {
    if (environment != nullptr && environment->variables.contains(variable)) return {environment->get(variable), true};
    return {profile != nullptr ? profile->get(key) : std::string{}, false};
  }

  [[nodiscard]] std::string nameOfProfile() const { return "profile " + profile->name + " (" + profile->where + ')'; }
};

StoreError withoutRole(const Places& places, const Value& token, const Value& role) {
  const auto fault = [](const std::string& text) { return StoreError{ErrorClass::credentials, text}; };
  if (role.ofEnvironment) {
    return fault(
        "web identity: AWS_ROLE_ARN is empty, and outweighs role_arn of a profile; set it to the role, or "
        "unset it");
  }
  if (!token.ofEnvironment)
    return fault(places.nameOfProfile() + ": has web_identity_token_file without role_arn; set both or none");
  const std::string set = "web identity: AWS_WEB_IDENTITY_TOKEN_FILE is set without AWS_ROLE_ARN";
  if (places.profile == nullptr) return fault(set + "; set both or none");
  return fault(set + ", and " + places.nameOfProfile() +
               " has no role_arn; set one of these two, or unset AWS_WEB_IDENTITY_TOKEN_FILE");
}

/// For messages.
std::string whoAsks(const Places& places, const Value& token, const Value& role) {
  const char* variable = token.ofEnvironment ? "AWS_WEB_IDENTITY_TOKEN_FILE" : "AWS_ROLE_ARN";
  if (token.ofEnvironment && role.ofEnvironment) return std::string{"web identity ("} + variable + ')';
  if (token.ofEnvironment || role.ofEnvironment) return places.nameOfProfile() + " with " + variable;
  return places.nameOfProfile();
}

ProviderResult assumeBy(FetchContext& context, const Places& places) {
  const Value token = places.find("AWS_WEB_IDENTITY_TOKEN_FILE", "web_identity_token_file");
  if (token.text.empty()) return NotConfigured{"AWS_WEB_IDENTITY_TOKEN_FILE is not set"};
  const Value role = places.find("AWS_ROLE_ARN", "role_arn");
  if (role.text.empty()) return withoutRole(places, token, role);
  const RoleRequest request{.roleArn = role.text,
                            .sessionName = places.find("AWS_ROLE_SESSION_NAME", "role_session_name").text,
                            .who = whoAsks(places, token, role)};
  auto got = assumeRoleWithWebIdentity(context, request, context.environment.expandHome(token.text));
  if (!got) return got.error();
  return *std::move(got);
}

}  // namespace

ProviderResult fromWebIdentity(FetchContext& context) {
  const auto profile = context.config.inUse(context.environment, {});
  if (!profile) return profile.error();
  return assumeBy(context, {&context.environment, *profile});
}

ProviderResult fromWebIdentityOf(FetchContext& context, const Profile& profile) {
  return assumeBy(context, {nullptr, &profile});
}

}  // namespace tenure::aws
