#include "providers.hpp"

namespace tenure::aws {

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

}  // namespace tenure::aws
