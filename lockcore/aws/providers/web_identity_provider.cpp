#include "lockcore/aws/sts.hpp"
#include "providers.hpp"

namespace tenure::aws {

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
