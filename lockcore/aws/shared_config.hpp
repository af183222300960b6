// What a process finds about AWS in its surroundings: its environment, and the profiles of ~/.aws/config and
// ~/.aws/credentials. https://docs.aws.amazon.com/sdkref/latest/guide/file-location.html
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/store_error.hpp>

#include "ini_file.hpp"

namespace tenure::aws {

/// Everything that the search for credentials takes from its process, so that tests can replace it. The variables are a
/// copy, so setenv() in other threads does not affect it.
struct TENURE_API AwsEnvironment {
  std::map<std::string, std::string> variables{};
  /// Milliseconds since 1970; only for signatures and for the lifetime of credentials.
  std::function<std::int64_t()> wallClockMillis{};

  [[nodiscard]] static AwsEnvironment ofProcess();

  /// Empty if it is not set. AWS's SDKs treat "empty" and "not set" alike too.
  [[nodiscard]] std::string get(const std::string& name) const;
  /// "true" in any case of letters.
  [[nodiscard]] bool isTrue(const std::string& name) const;
  /// `path`, with the "~" of "~" or of a leading "~/" replaced by HOME.
  [[nodiscard]] std::string expandHome(const std::string& path) const;
};

struct Profile {
  std::string name{};
  std::map<std::string, IniValue> values{};
  std::string where{};  ///< "/home/a/.aws/config:12", for messages

  /// Empty if the key does not exist.
  [[nodiscard]] std::string get(const std::string& key) const;
};

/// Both files, read once. A profile is `[profile NAME]` (or `[default]`) in the config file, and `[NAME]` in the
/// credentials file. If both have a value, that of the credentials file counts.
class SharedConfig {
 public:
  [[nodiscard]] static StoreResult<SharedConfig> load(const AwsEnvironment& environment);

  [[nodiscard]] const Profile* find(const std::string& name) const;
  /// The endpoint in `[services NAME]` for one service; empty if there is none.
  [[nodiscard]] std::string serviceEndpoint(const std::string& servicesName, const std::string& service) const;

  /// "/home/a/.aws/config and /home/a/.aws/credentials"
  [[nodiscard]] const std::string& paths() const { return paths_; }

 private:
  void addConfigFile(const std::string& path, const IniFile& file);
  void add(const std::string& name, const std::string& path, const IniSection& section);

  std::map<std::string, Profile> profiles_{};
  std::map<std::string, IniSection> services_{};
  std::string paths_{};
};

/// The profile in use: `wanted` if given, then AWS_PROFILE, then "default".
[[nodiscard]] std::string profileName(const AwsEnvironment& environment, const std::string& wanted);

}  // namespace tenure::aws
