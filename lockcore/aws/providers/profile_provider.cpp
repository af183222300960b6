#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lockcore/aws/run_process.hpp"
#include "lockcore/aws/sts.hpp"
#include "lockcore/aws/text.hpp"
#include "lockcore/port/ascii_text.hpp"
#include "providers.hpp"

namespace tenure::aws {
namespace {

StoreError fault(const Profile& profile, const std::string& what) {
  return {ErrorClass::credentials, "profile " + profile.name + " (" + profile.where + "): " + what};
}

/// `credential_process` of a profile.
ProviderResult fromProcess(FetchContext& context, const Profile& profile) {
  const IniValue& command = profile.values.at("credential_process");
  const std::string who = "credential_process of profile " + profile.name + " (" + profile.where + ')';
  const auto wrong = [&](const std::string& what) { return StoreError{ErrorClass::credentials, who + ' ' + what}; };
  std::vector<std::string> words = shellWords(command.text);
  if (words.empty()) return wrong("is not a command: a quotation has no end");
  auto ran = runProgram(std::move(words), context.environment.variables, context.limits.process, context.stop);
  if (!ran) return wrong(ran.error().message);
  if (ran->exitCode != 0 || ran->signal != 0) {
    const std::string how = ran->signal != 0 ? "was ended by signal " + std::to_string(ran->signal)
                                             : "ended with exit code " + std::to_string(ran->exitCode);
    const std::string said = forPeople(ran->err, 300);
    return wrong(how + (said.empty() ? " and wrote nothing to stderr" : "; it wrote: " + said));
  }
  auto read = credentialsFromJson(context, who, ran->out, {.sessionToken = "SessionToken", .versionOne = true}, {});
  if (!read) return read.error();
  return *std::move(read);
}

/// As Python's int() reads it, and so botocore; none: it is no whole number.
std::optional<std::string> wholeNumber(std::string_view text) {
  std::string out{text.starts_with('-') ? "-" : ""};
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  bool digit = false;  // an underscore may stand between two of them
  for (const char c : text) {
    if (c == '_' ? !digit : !isDigit(c)) return std::nullopt;
    digit = c != '_';
    if (digit) out += c;
  }
  if (!digit) return std::nullopt;
  std::int64_t number = 0;
  const auto read = std::from_chars(out.data(), out.data() + out.size(), number);
  return read.ec == std::errc{} ? std::to_string(number) : out;
}

/// `duration_seconds` for STS. If it is no whole number, botocore leaves it out, and `warning` says so.
std::string durationOf(const Profile& profile, std::string& warning) {
  const std::string text = profile.get("duration_seconds");
  if (auto number = wholeNumber(text)) return *std::move(number);
  if (!text.empty()) {
    warning = fault(profile, "duration_seconds is \"" + forPeople(text, 40) +
                                 "\", which is no whole number, and is left out; write one such as 3600")
                  .message;
  }
  return {};
}

/// Follows a profile to its keys, through the other profiles that it names.
class ProfileWalk {
 public:
  explicit ProfileWalk(FetchContext& context) : context_{context} {}

  ProviderResult resolve(const Profile& profile) {
    return assumesRoleWithKeys(profile) ? resolveRole(profile) : resolveRest(profile);
  }

  /// The same without the profile's web identity.
  ProviderResult resolveWithoutToken(const Profile& profile) {
    return assumesRoleWithKeys(profile) ? resolveRole(profile) : resolvePlain(profile);
  }

 private:
  ProviderResult resolveRest(const Profile& profile) {
    ProviderResult byToken = fromWebIdentityOf(context_, profile);
    return std::holds_alternative<NotConfigured>(byToken) ? resolvePlain(profile) : byToken;
  }

  /// botocore's order. Signing in is not passed over: the keys behind it may be those of another account.
  ProviderResult resolvePlain(const Profile& profile) {
    for (const char* identityCenter : {"sso_account_id", "sso_role_name"}) {
      if (profile.values.contains(identityCenter)) return noSignIn(profile, identityCenter);
    }
    if (hasKeys(profile.inCredentials)) return keysOf(profile, profile.inCredentials);
    if (profile.values.contains("login_session")) return noSignIn(profile, "login_session");
    if (!profile.get("credential_process").empty()) return fromProcess(context_, profile);
    if (hasKeys(profile.inConfig)) return keysOf(profile, profile.inConfig);
    return NotConfigured{"profile " + profile.name + " (" + profile.where +
                         ") has no keys, role_arn or credential_process"};
  }

  static std::string valueIn(const IniSection& section, const char* key) {
    const auto found = section.values.find(key);
    return found == section.values.end() ? std::string{} : found->second.text;
  }

  static bool hasKeys(const IniSection& section) {
    return !valueIn(section, "aws_access_key_id").empty() || !valueIn(section, "aws_secret_access_key").empty();
  }

  static ProviderResult keysOf(const Profile& profile, const IniSection& section) {
    const char* token = section.values.contains("aws_security_token") ? "aws_security_token" : "aws_session_token";
    Keys keys{valueIn(section, "aws_access_key_id"), valueIn(section, "aws_secret_access_key"),
              valueIn(section, token)};
    if (keys.accessKeyId.empty()) return fault(profile, "has aws_secret_access_key without aws_access_key_id");
    if (keys.secretAccessKey.empty()) return fault(profile, "has aws_access_key_id without aws_secret_access_key");
    if (const auto unfit = unfitIn(keys, {"aws_access_key_id", "aws_secret_access_key", token}); !unfit.empty())
      return fault(profile, unfit);
    return Credentials{std::move(keys), std::nullopt, "profile " + profile.name + " (" + profile.where + ')'};
  }

  static ProviderResult noSignIn(const Profile& profile, const std::string& key) {
    const std::string command = "aws configure export-credentials --profile " + profile.name;
    return fault(profile, key +
                              ": signing in by browser (IAM Identity Center, aws login) is not supported here, and no "
                              "other keys are taken for it; let the AWS CLI do it: in another profile set "
                              "credential_process = " +
                              command + ", and use that one");
  }

  ProviderResult resolveRole(const Profile& profile) {
    path_.push_back(profile.name);
    if (!profile.get("mfa_serial").empty()) {
      return fault(profile,
                   "mfa_serial: this process cannot ask for an MFA code; use a role that does not need one, or "
                   "credential_process");
    }
    std::string warning;
    const RoleRequest role{profile.get("role_arn"), profile.get("role_session_name"), profile.get("external_id"),
                           durationOf(profile, warning), "profile " + profile.name + " (" + profile.where + ')'};
    const std::string source = profile.get("source_profile");
    const std::string named = profile.get("credential_source");
    if (source.empty() == named.empty()) {
      return fault(profile, "role_arn needs one of source_profile, credential_source and web_identity_token_file");
    }
    ProviderResult base = source.empty() ? fromNamedSource(profile, named) : fromSourceProfile(profile, source);
    const auto* keys = std::get_if<Credentials>(&base);
    if (keys != nullptr) return finish(assumeRole(context_, role, keys->keys), std::move(warning));
    if (const auto* none = std::get_if<NotConfigured>(&base)) {
      return fault(profile, (source.empty() ? "credential_source " + named : "source_profile " + source) +
                                " gives no credentials: " + none->why);
    }
    return base;
  }

  ProviderResult fromSourceProfile(const Profile& profile, const std::string& source) {
    const Profile* next = context_.config.find(source);
    if (next == nullptr) {
      return fault(profile, context_.config.missingText(source) +
                                "; source_profile names it: correct the name, or add the profile");
    }
    if (!next->fault.empty()) return StoreError{ErrorClass::credentials, next->fault};
    // botocore's order: the keys of a source outweigh its role, so a profile may name itself.
    if (source == profile.name || hasKeys(next->inCredentials) || hasKeys(next->inConfig)) return resolveRest(*next);
    if (std::find(path_.begin(), path_.end(), source) != path_.end()) {
      std::string circle;
      for (const std::string& name : path_) circle += name + " -> ";
      return fault(profile, "source_profile forms a cycle: " + circle + source);
    }
    return resolve(*next);
  }

  ProviderResult fromNamedSource(const Profile& profile, const std::string& source) {
    if (source == "Environment") return fromEnvironment(context_);
    if (source == "EcsContainer") return fromContainer(context_);
    if (source == "Ec2InstanceMetadata") return fromInstanceMetadata(context_);
    return fault(profile, "credential_source is \"" + forPeople(source, 40) +
                              "\"; it can be Environment, EcsContainer or Ec2InstanceMetadata");
  }

  static ProviderResult finish(StoreResult<Credentials> got, std::string warning) {
    if (!got) return got.error();
    got->warning = std::move(warning);
    return *std::move(got);
  }

  FetchContext& context_;
  std::vector<std::string> path_{};
};

}  // namespace

bool assumesRoleWithKeys(const Profile& profile) {
  return !profile.get("role_arn").empty() && !profile.values.contains("web_identity_token_file");
}

ProviderResult fromProfile(FetchContext& context, const std::string& wanted) {
  const auto profile = context.config.inUse(context.environment, wanted);
  if (!profile) return profile.error();
  ProfileWalk walk{context};
  if (*profile != nullptr) return wanted.empty() ? walk.resolveWithoutToken(**profile) : walk.resolve(**profile);
  return NotConfigured{context.config.missingText(profileName(context.environment, wanted))};
}

}  // namespace tenure::aws
