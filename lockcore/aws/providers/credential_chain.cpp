// The order of AWS's SDKs: https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html
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

}  // namespace tenure::aws
