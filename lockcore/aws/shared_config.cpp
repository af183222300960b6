#include "shared_config.hpp"

#include <string_view>
#include <unistd.h>

#include <tenure/lockcore/clock.hpp>

#include "text.hpp"

namespace tenure::aws {

AwsEnvironment AwsEnvironment::ofProcess() {
  AwsEnvironment out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text{*entry};
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) out.variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  out.wallClockMillis = wallClockMillisForSigning;
  return out;
}

std::string AwsEnvironment::get(const std::string& name) const {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string{} : found->second;
}

bool AwsEnvironment::isTrue(const std::string& name) const { return lower(trim(get(name))) == "true"; }

std::string AwsEnvironment::expandHome(const std::string& path) const {
  if (path != "~" && !path.starts_with("~/")) return path;
  return get("HOME") + path.substr(1);
}

namespace {

std::string fileFrom(const AwsEnvironment& environment, const char* variable, const char* standard) {
  const std::string given = environment.get(variable);
  return environment.expandHome(given.empty() ? standard : given);
}

}  // namespace

std::string Profile::get(const std::string& key) const {
  const auto found = values.find(key);
  return found == values.end() ? std::string{} : found->second.text;
}

StoreResult<SharedConfig> SharedConfig::load(const AwsEnvironment& environment) {
  const std::string configPath = fileFrom(environment, "AWS_CONFIG_FILE", "~/.aws/config");
  const std::string keysPath = fileFrom(environment, "AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials");
  const auto config = readIni(configPath);
  if (!config) return config.error();
  const auto keys = readIni(keysPath);
  if (!keys) return keys.error();
  SharedConfig out;
  out.paths_ = configPath + " and " + keysPath;
  out.addConfigFile(configPath, *config);
  for (const auto& [name, section] : *keys) out.add(name, keysPath, section);
  return out;
}

void SharedConfig::addConfigFile(const std::string& path, const IniFile& file) {
  constexpr std::string_view profilePrefix = "profile ";
  constexpr std::string_view servicesPrefix = "services ";
  // [default] first: if [profile default] exists as well, its values replace these.
  if (const auto plain = file.find("default"); plain != file.end()) add("default", path, plain->second);
  for (const auto& [name, section] : file) {
    if (name.starts_with(profilePrefix)) add(name.substr(profilePrefix.size()), path, section);
    if (name.starts_with(servicesPrefix)) services_[name.substr(servicesPrefix.size())] = section;
  }
}

void SharedConfig::add(const std::string& name, const std::string& path, const IniSection& section) {
  Profile& profile = profiles_[name];
  profile.name = name;
  if (profile.where.empty()) profile.where = path + ':' + std::to_string(section.line);
  for (const auto& [key, value] : section.values) profile.values[key] = value;
}

const Profile* SharedConfig::find(const std::string& name) const {
  const auto found = profiles_.find(name);
  return found == profiles_.end() ? nullptr : &found->second;
}

std::string SharedConfig::serviceEndpoint(const std::string& servicesName, const std::string& service) const {
  const auto section = services_.find(servicesName);
  if (section == services_.end()) return {};
  const auto value = section->second.values.find(service);
  if (value == section->second.values.end()) return {};
  const auto url = value->second.nested.find("endpoint_url");
  return url == value->second.nested.end() ? std::string{} : url->second;
}

std::string profileName(const AwsEnvironment& environment, const std::string& wanted) {
  if (!wanted.empty()) return wanted;
  const std::string named = environment.get("AWS_PROFILE");
  return named.empty() ? "default" : named;
}

}  // namespace tenure::aws
