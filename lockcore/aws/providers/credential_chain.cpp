// The order of AWS's SDKs: https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html
#include <algorithm>

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

/// AWS_CREDENTIAL_EXPIRATION, the end of `keys`. Empty, or what is wrong with it.
std::string readEndOf(Credentials& keys, const FetchContext& context) {
  const std::string text = context.environment.get("AWS_CREDENTIAL_EXPIRATION");
  if (text.empty()) return {};
  const auto at = parseIsoTime(text);
  if (!at) {
    return "AWS_CREDENTIAL_EXPIRATION is not a time such as 2026-11-21T12:00:00Z; set it to the end of these keys, or "
           "unset it";
  }
  keys.lifetime = context.lifetimeUntil(*at, {});
  if (keys.lifetime->count() > 0) return {};
  return "AWS_CREDENTIAL_EXPIRATION is " + oneLine(text, 40) +
         ", which is over; start this process with new keys, or correct the clock of this machine";
}

bool profileAssumesRole(const FetchContext& context) {
  const Profile* profile = context.config.find(profileName(context.environment, {}));
  return profile != nullptr && assumesRoleWithKeys(*profile);
}

}  // namespace

StoreResult<Credentials> findCredentials(FetchContext& context, const ChainWishes& wishes) {
  if (wishes.explicitKeys) return Credentials{*wishes.explicitKeys, std::nullopt, "the program itself"};
  Search search;
  if (!wishes.profile.empty()) {
    search.ask("profile", [&] { return fromProfile(context, wishes.profile); });
    return search.finish();
  }
  search.ask("environment", [&] { return fromEnvironment(context); });
  // botocore's order: only this kind of profile comes before web identity.
  if (profileAssumesRole(context)) search.ask("profile", [&] { return fromProfile(context, {}); });
  search.ask("web identity", [&] { return fromWebIdentity(context); });
  search.ask("profile", [&] { return fromProfile(context, {}); });
  search.ask("container", [&] { return fromContainer(context); });
  search.ask("EC2 instance metadata", [&] { return fromInstanceMetadata(context); });
  return search.finish();
}

std::string unfitIn(const Keys& keys, const KeyNames& names) {
  const auto unfit = [](const std::string& text) {
    return std::any_of(text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; });
  };
  std::string name;
  if (unfit(keys.accessKeyId)) name = names.accessKeyId;
  if (unfit(keys.secretAccessKey)) name = names.secretAccessKey;
  if (unfit(keys.sessionToken)) name = names.sessionToken;
  if (name.empty()) return {};
  return name + " holds a line break or another character that no key has; look at its end";
}

ProviderResult fromEnvironment(FetchContext& context) {
  const AwsEnvironment& environment = context.environment;
  // The older name comes first, as in botocore.
  const std::string oldToken = environment.get("AWS_SECURITY_TOKEN");
  Keys keys{environment.get("AWS_ACCESS_KEY_ID"), environment.get("AWS_SECRET_ACCESS_KEY"),
            oldToken.empty() ? environment.get("AWS_SESSION_TOKEN") : oldToken};
  if (keys.accessKeyId.empty() && keys.secretAccessKey.empty()) return NotConfigured{"AWS_ACCESS_KEY_ID is not set"};
  if (keys.secretAccessKey.empty() || keys.accessKeyId.empty()) {
    const char* set = keys.accessKeyId.empty() ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID";
    const char* missing = keys.accessKeyId.empty() ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY";
    return StoreError{ErrorClass::credentials,
                      std::string{"environment: "} + set + " is set without " + missing + "; set both or none"};
  }
  std::string wrong = unfitIn(keys, {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
                                     oldToken.empty() ? "AWS_SESSION_TOKEN" : "AWS_SECURITY_TOKEN"});
  Credentials out{std::move(keys), std::nullopt, "environment (AWS_ACCESS_KEY_ID)"};
  if (wrong.empty()) wrong = readEndOf(out, context);
  if (!wrong.empty()) return StoreError{ErrorClass::credentials, "environment: " + wrong};
  return out;
}

}  // namespace tenure::aws
