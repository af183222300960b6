#include <string>

#include "lockcore/aws/json_credentials.hpp"
#include "lockcore/aws/run_process.hpp"
#include "lockcore/aws/text.hpp"
#include "providers.hpp"

namespace tenure::aws {

ProviderResult fromProcess(FetchContext& context, const Profile& profile) {
  const IniValue& command = profile.values.at("credential_process");
  const std::string who = "credential_process of profile " + profile.name + " (" + profile.where + ')';
  const auto wrong = [&](const std::string& what) { return StoreError{ErrorClass::credentials, who + ' ' + what}; };
  auto ran = runShellCommand(command.text, context.environment.variables, context.limits.process, context.stop);
  if (!ran) return wrong(ran.error().message + "; run it by hand to see why");
  if (ran->exitCode != 0 || ran->signal != 0) {
    const std::string how = ran->signal != 0 ? "was ended by signal " + std::to_string(ran->signal)
                                             : "ended with exit code " + std::to_string(ran->exitCode);
    const std::string said = forPeople(ran->err, 300);
    return wrong(how + (said.empty() ? " and said nothing on stderr" : "; it said: " + said));
  }
  auto read = credentialsFromJson(context, who, ran->out, {.sessionToken = "SessionToken", .versionOne = true}, {});
  if (!read) return read.error();
  return *std::move(read);
}

}  // namespace tenure::aws
