#include "shared_config.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <pwd.h>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include <tenure/lockcore/clock.hpp>

#include "lockcore/port/ascii_text.hpp"
#include "text.hpp"

namespace tenure::aws {

namespace {

/// Of this process's user if `user` is empty: it counts where HOME is not set, as in Python. Empty: there is none.
std::string homeOf(const std::string& user) {
  std::array<char, 16384> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  const int failed = user.empty() ? getpwuid_r(getuid(), &entry, buffer.data(), buffer.size(), &found)
                                  : getpwnam_r(user.c_str(), &entry, buffer.data(), buffer.size(), &found);
  return failed == 0 && found != nullptr ? entry.pw_dir : "";
}

}  // namespace

AwsEnvironment AwsEnvironment::ofProcess() {
  AwsEnvironment out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text{*entry};
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) out.variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  if (!out.variables.contains("HOME")) out.variables.emplace("HOME", homeOf(""));
  out.wallClockMillis = wallClockMillisForSigning;
  return out;
}

std::string AwsEnvironment::get(const std::string& name) const {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string{} : found->second;
}

bool AwsEnvironment::isTrue(const std::string& name) const { return lowered(get(name)) == "true"; }

std::string AwsEnvironment::expandHome(const std::string& path) const {
  if (!path.starts_with('~')) return path;
  const std::size_t end = std::min(path.find('/'), path.size());
  const std::string home = end == 1 ? get("HOME") : homeOf(path.substr(1, end - 1));
  return end > 1 && home.empty() ? path : home + path.substr(end);
}

std::string AwsEnvironment::expandVariables(const std::string& path) const {
  std::string out;
  for (std::size_t i = 0; i < path.size();) {
    const bool braced = path.compare(i, 2, "${") == 0;
    const std::size_t begin = i + (braced ? 2 : 1);
    std::size_t end = begin;
    while (path[i] == '$' && end < path.size() && (isLetter(path[end]) || isDigit(path[end]) || path[end] == '_'))
      ++end;
    const auto found = variables.find(path.substr(begin, end - begin));
    const bool whole = end > begin && (!braced || path.compare(end, 1, "}") == 0);
    if (whole && found != variables.end()) {
      out += found->second;
      i = end + (braced ? 1 : 0);
    } else {
      out += path[i++];
    }
  }
  return expandHome(out);
}

namespace {

/// The name in `profile NAME`; empty: `section` is of another kind.
std::string nameIn(const std::string& section, std::string_view kind) {
  if (!section.starts_with(kind)) return {};
  std::string name;
  const std::vector<std::string> words = shellWords(section);
  for (std::size_t i = 1; i < words.size(); ++i) name += (i > 1 ? " " : "") + words[i];
  return name;
}

std::string withoutComment(std::string_view text) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    const bool mark = text[i] == '#' || text[i] == ';';
    if (mark && (text[i - 1] == ' ' || text[i - 1] == '\t')) text = text.substr(0, i);
  }
  return std::string{trimmed(text)};
}

/// Of a file that is not for this user, or is none. Any other failure may pass.
bool isForOthers(int systemErrno) {
  return systemErrno == EACCES || systemErrno == EPERM || systemErrno == EISDIR || systemErrno == ELOOP;
}

/// Waiting does not mend it.
StoreError wrongSetting(std::string message) { return {ErrorClass::misconfigured, std::move(message), true}; }

}  // namespace

std::string Profile::get(const std::string& key) const {
  const auto found = values.find(key);
  return found == values.end() ? std::string{} : found->second.text;
}

std::string Profile::word(const std::string& key) const { return withoutComment(get(key)); }

SharedConfig SharedConfig::load(const AwsEnvironment& environment) {
  SharedConfig out;
  out.config_ = read(environment, "AWS_CONFIG_FILE", "~/.aws/config");
  out.credentials_ = read(environment, "AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials");
  for (const File* file : {&out.config_, &out.credentials_}) {
    if (file->forOthers) out.unread_ += (out.unread_.empty() ? "" : "; ") + file->path + ": " + file->whyNot;
    if (file->absent) out.absent_ += (out.absent_.empty() ? "" : "; ") + file->variable + " names " + file->path;
  }
  out.addConfigFile();
  for (const auto& [name, section] : out.credentials_.sections) {
    out.add(name, out.credentials_.path, section);
    out.profiles_[name].inCredentials = section;
  }
  return out;
}

SharedConfig::File SharedConfig::read(const AwsEnvironment& environment, const char* variable, const char* standard) {
  const std::string given = environment.get(variable);
  File out{.path = environment.expandVariables(given.empty() ? standard : given), .variable = variable};
  int systemErrno = 0;
  const auto text = readSmallFile(out.path, systemErrno);
  if (text) {
    out.sections = parseIni(out.path, *text);
  } else if (systemErrno == ENOENT || systemErrno == ENOTDIR) {
    out.absent = !given.empty();
  } else {
    out.whyNot = text.error().message.substr(out.path.size() + 2);
    out.forOthers = isForOthers(systemErrno);
  }
  return out;
}

/// If two sections say the same profile ([default] and [profile default], names with quotation marks), the last counts.
void SharedConfig::addConfigFile() {
  std::vector<std::pair<std::string, const IniSection*>> byPlace;
  for (const auto& [name, section] : config_.sections) byPlace.emplace_back(name, &section);
  std::sort(byPlace.begin(), byPlace.end(),
            [](const auto& a, const auto& b) { return a.second->line < b.second->line; });
  for (const auto& [name, section] : byPlace) {
    const std::string profile = name == "default" ? name : nameIn(name, "profile");
    if (const std::string services = nameIn(name, "services"); !services.empty()) services_[services] = *section;
    if (profile.empty()) continue;
    profiles_.erase(profile);
    add(profile, config_.path, *section);
    profiles_[profile].inConfig = *section;
  }
}

void SharedConfig::add(const std::string& name, const std::string& path, const IniSection& section) {
  Profile& profile = profiles_[name];
  profile.name = name;
  if (profile.where.empty()) profile.where = path + ':' + std::to_string(section.line);
  if (profile.fault.empty()) profile.fault = section.fault;
  for (const auto& [key, value] : section.values) profile.values[key] = value;
}

const Profile* SharedConfig::find(const std::string& name) const {
  const auto found = profiles_.find(name);
  return found == profiles_.end() ? nullptr : &found->second;
}

StoreResult<const Profile*> SharedConfig::inUse(const AwsEnvironment& environment, const std::string& wanted) const {
  for (const File* file : {&config_, &credentials_}) {
    const bool failed = !file->whyNot.empty() && !file->forOthers;
    if (failed) return StoreError{ErrorClass::credentials, file->path + ": " + file->whyNot};
  }
  const NamedProfile named = namedProfile(environment, wanted);
  const Profile* profile = find(profileName(environment, wanted));
  if (profile == nullptr && !named.name.empty()) {
    return StoreError{ErrorClass::credentials, missingText(named.name) + "; " +
                                                   (named.variable.empty() ? "the option profile" : named.variable) +
                                                   " names it: correct the name, or add the profile"};
  }
  if (profile != nullptr && !profile->fault.empty()) return StoreError{ErrorClass::credentials, profile->fault};
  return profile;
}

StoreResult<std::string> SharedConfig::serviceEndpoint(const Profile& profile, const std::string& service) const {
  const auto named = profile.values.find("services");
  if (named == profile.values.end()) return std::string{};
  const std::string header = "[services " + forPeople(named->second.text, 80) + ']';
  const auto section = services_.find(named->second.text);
  const bool found = section != services_.end();
  if (found && !section->second.fault.empty()) return wrongSetting(section->second.fault);
  if (!found || section->second.values.empty()) {
    return wrongSetting("profile " + forPeople(profile.name, 80) + " (" + profile.where + ") names the section " +
                        header + ", which is not in " + config_.path +
                        " or has nothing in it; correct services in line " + std::to_string(named->second.line) +
                        ", or write the section");
  }
  const auto value = section->second.values.find(service);
  if (value == section->second.values.end()) return std::string{};
  const auto nested = nestedIn(value->second);
  if (!nested) {
    return wrongSetting(config_.path + ':' + std::to_string(value->second.line) + ": " + service + " in " + header +
                        ' ' + nested.error().message);
  }
  const auto url = nested->find("endpoint_url");
  return url == nested->end() ? std::string{} : withoutComment(url->second);
}

std::string SharedConfig::paths() const {
  const auto text = [](const File& file) { return file.path + (file.whyNot.empty() ? "" : " (" + file.whyNot + ')'); };
  return text(config_) + " and " + text(credentials_);
}

std::string SharedConfig::missingText(const std::string& name) const {
  std::string out = "there is no profile " + forPeople(name, 80) + " in " + paths();
  if (config_.sections.contains(name)) {
    out += " (the section [" + forPeople(name, 80) + "] of " + config_.path + " is none; write [profile " +
           forPeople(name, 80) + "] there)";
  }
  return out;
}

NamedProfile namedProfile(const AwsEnvironment& environment, const std::string& wanted) {
  if (!wanted.empty()) return {wanted, {}};
  for (const char* variable : {"AWS_DEFAULT_PROFILE", "AWS_PROFILE"}) {
    if (std::string name = environment.get(variable); !name.empty()) return {std::move(name), variable};
  }
  return {};
}

std::string profileName(const AwsEnvironment& environment, const std::string& wanted) {
  const std::string named = namedProfile(environment, wanted).name;
  return named.empty() ? "default" : named;
}

}  // namespace tenure::aws
