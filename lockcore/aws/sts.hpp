// AWS Security Token Service: temporary keys for a role.
#pragma once

#include <string>

#include "credentials.hpp"
#include "fetch_context.hpp"

namespace tenure::aws {

struct RoleRequest {
  std::string roleArn{};
  std::string sessionName{};      ///< empty: a name is generated
  std::string externalId{};       ///< only for AssumeRole, as in botocore
  std::string durationSeconds{};  ///< the same; 900 to 43200; empty: STS's default, one hour
  std::string who{};              ///< for messages: "profile billing (/home/a/.aws/config:3)"
};

/// AssumeRole, signed with `base`.
[[nodiscard]] StoreResult<Credentials> assumeRole(FetchContext& context, const RoleRequest& role, const Keys& base);

/// AssumeRoleWithWebIdentity: `tokenFile` holds an OIDC token. The file is read again each time, because it is replaced
/// from outside.
[[nodiscard]] StoreResult<Credentials> assumeRoleWithWebIdentity(FetchContext& context, const RoleRequest& role,
                                                                 const std::string& tokenFile);

}  // namespace tenure::aws
