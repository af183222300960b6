// AWS Security Token Service: temporary keys for a role.
#pragma once

#include <optional>
#include <string>

#include "credentials.hpp"
#include "fetch_context.hpp"

namespace tenure::aws {

struct RoleRequest {
  std::string roleArn{};
  std::string sessionName{};  ///< empty: one is made up
  std::string externalId{};
  std::string durationSeconds{};  ///< 900 to 43200; empty: STS's own, one hour
  std::string who{};              ///< for messages: "profile billing (/home/a/.aws/config:3)"
};

/// AssumeRole, signed with `base`.
[[nodiscard]] StoreResult<Credentials> assumeRole(FetchContext& context, const RoleRequest& role, const Keys& base);

/// AssumeRoleWithWebIdentity: `tokenFile` holds an OIDC token, which is read anew each time because it is replaced from
/// outside.
[[nodiscard]] StoreResult<Credentials> assumeRoleWithWebIdentity(FetchContext& context, const RoleRequest& role,
                                                                 const std::string& tokenFile);

}  // namespace tenure::aws
