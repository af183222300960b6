// The links of the credential chain. Each may block, and returns credentials, "not set up here", or an error.
#pragma once

#include "lockcore/aws/credentials.hpp"
#include "lockcore/aws/fetch_context.hpp"

namespace tenure::aws {

/// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN.
[[nodiscard]] ProviderResult fromEnvironment(FetchContext& context);

/// AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN, AWS_ROLE_SESSION_NAME.
[[nodiscard]] ProviderResult fromWebIdentity(FetchContext& context);

/// The profile with this name: roles (`role_arn` with `source_profile`, `credential_source` or
/// `web_identity_token_file`), keys, `credential_process`. `mustExist`: the program or AWS_PROFILE named it.
[[nodiscard]] ProviderResult fromProfile(FetchContext& context, const std::string& name, bool mustExist);

/// `credential_process` of a profile.
[[nodiscard]] ProviderResult fromProcess(FetchContext& context, const Profile& profile);

/// AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI (ECS, EKS Pod Identity).
[[nodiscard]] ProviderResult fromContainer(FetchContext& context);

/// EC2's instance metadata, version 2 only.
[[nodiscard]] ProviderResult fromInstanceMetadata(FetchContext& context);

/// The region in which the instance runs; empty (with the reason in `why`) if there is no answer.
[[nodiscard]] std::string regionOfInstance(FetchContext& context, std::string& why);

struct ChainWishes {
  std::optional<Keys> explicitKeys{};
  std::string profile{};
};

/// Asks one link after another. An error lists every link with the reason why it gave nothing.
[[nodiscard]] StoreResult<Credentials> findCredentials(FetchContext& context, const ChainWishes& wishes);

}  // namespace tenure::aws
