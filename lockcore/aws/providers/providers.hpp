// The links of the credential chain. Each may block, and returns credentials, "not set up here", or an error.
#pragma once

#include "lockcore/aws/credentials.hpp"
#include "lockcore/aws/fetch_context.hpp"

namespace tenure::aws {

/// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_CREDENTIAL_EXPIRATION.
[[nodiscard]] ProviderResult fromEnvironment(FetchContext& context);

/// AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_ARN, AWS_ROLE_SESSION_NAME; what is not set is taken from the profile in use.
[[nodiscard]] ProviderResult fromWebIdentity(FetchContext& context);

/// `web_identity_token_file`, `role_arn` and `role_session_name` of a profile, whatever the environment says.
[[nodiscard]] ProviderResult fromWebIdentityOf(FetchContext& context, const Profile& profile);

/// `role_arn` with `source_profile` or `credential_source`. A profile that says anything of a token has none.
[[nodiscard]] bool assumesRoleWithKeys(const Profile& profile);

/// The profile `wanted`: roles (`role_arn` with `source_profile`, `credential_source` or `web_identity_token_file`),
/// keys, `credential_process`. If nothing is wanted, the profile in use without its web identity, which is a link of
/// its own then.
[[nodiscard]] ProviderResult fromProfile(FetchContext& context, const std::string& wanted);

/// AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI (ECS, EKS Pod Identity).
[[nodiscard]] ProviderResult fromContainer(FetchContext& context);

/// EC2's instance metadata, version 2 only.
[[nodiscard]] ProviderResult fromInstanceMetadata(FetchContext& context);

/// The region in which the instance runs; empty (with the reason in `why`) if there is no answer.
[[nodiscard]] std::string regionOfInstance(FetchContext& context, std::string& why);

/// What a source calls the three parts of a key.
struct KeyNames {
  std::string accessKeyId;
  std::string secretAccessKey;
  std::string sessionToken;
};

/// Empty, or which part could be in no request: it has a character that is neither printable nor ASCII.
[[nodiscard]] std::string unfitIn(const Keys& keys, const KeyNames& names);

// For the links that get keys as JSON: credential_process, containers, EC2.

/// The names that differ between the issuers.
struct JsonKeyNames {
  const char* sessionToken;
  bool versionOne;             ///< "Version": 1 is required
  bool expiredServeOn{false};  ///< expired keys are given a further `extension`, with a warning
};

/// An error begins with `source` and says what is missing. It contains no part of the JSON.
[[nodiscard]] StoreResult<Credentials> credentialsFromJson(const FetchContext& context, const std::string& source,
                                                           std::string_view json, JsonKeyNames names,
                                                           std::string_view dateHeader);

struct ChainWishes {
  std::optional<Keys> explicitKeys{};
  std::string profile{};
};

/// Asks one link after another. An error lists every link with the reason why it gave nothing.
[[nodiscard]] StoreResult<Credentials> findCredentials(FetchContext& context, const ChainWishes& wishes);

}  // namespace tenure::aws
