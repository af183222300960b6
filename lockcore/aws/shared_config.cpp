#include "shared_config.hpp"

#include "text.hpp"

namespace tenure::aws {
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
