// What a process finds about AWS in its surroundings: its environment, and the profiles of ~/.aws/config and
// ~/.aws/credentials. https://docs.aws.amazon.com/sdkref/latest/guide/file-location.html
#pragma once

#include <cstdint>
#include <functional>
#include <map>
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
  /// The same after $NAME and ${NAME} of variables that are set.
  [[nodiscard]] std::string expandVariables(const std::string& path) const;
};

struct Profile {
  std::string name{};
  std::map<std::string, IniValue> values{};
  std::string where{};         ///< "/home/a/.aws/config:12", for messages
  std::string fault{};         ///< IniSection::fault of its sections
  IniSection inCredentials{};  ///< its keys are those of one file: a token of the other one belongs to other keys
  IniSection inConfig{};

  /// Empty if the key does not exist.
  [[nodiscard]] std::string get(const std::string& key) const;
  /// The same for a value that has no blank in it. A comment may follow it, as other SDKs of AWS's read it.
  [[nodiscard]] std::string word(const std::string& key) const;
};

/// Both files, read once. A profile is `[profile NAME]` (or `[default]`) in the config file, and `[NAME]` in the
/// credentials file. If both have a value, that of the credentials file counts. A file that is not there counts as an
/// empty one, and so does one that this user may not read: see unread().
class SharedConfig {
 public:
  [[nodiscard]] static SharedConfig load(const AwsEnvironment& environment);

  /// Null if there is none.
  [[nodiscard]] const Profile* find(const std::string& name) const;

  /// Null if there is none and nothing names it. An error: it is named and not there, a line of it is not understood,
  /// or a file could not be read for a reason that may pass.
  [[nodiscard]] StoreResult<const Profile*> inUse(const AwsEnvironment& environment, const std::string& wanted) const;

  /// The endpoint for one service in the section that the profile's `services` names; empty if neither says one. An
  /// error: the section is named and not there, or what it says of the service is not understood.
  [[nodiscard]] StoreResult<std::string> serviceEndpoint(const Profile& profile, const std::string& service) const;

  /// "/home/a/.aws/config and /home/a/.aws/credentials", with the reason where one cannot be read.
  [[nodiscard]] std::string paths() const;
  /// "there is no profile NAME in ...", and what the user may have meant.
  [[nodiscard]] std::string missingText(const std::string& name) const;
  /// Empty, or which file is not for this user, and why. It could say anything.
  [[nodiscard]] const std::string& unread() const { return unread_; }
  /// Empty, or which variable names a file that is not there.
  [[nodiscard]] const std::string& absent() const { return absent_; }

 private:
  struct File {
    std::string path{};
    std::string variable{};  ///< could name it
    std::string whyNot{};    ///< it is there, and could not be read
    bool forOthers{false};   ///< and that will not pass
    bool absent{false};      ///< it is not there although `variable` names it
    IniFile sections{};
  };
  [[nodiscard]] static File read(const AwsEnvironment& environment, const char* variable, const char* standard);
  void addConfigFile();
  void add(const std::string& name, const std::string& path, const IniSection& section);

  File config_{};
  File credentials_{};
  std::string unread_{};
  std::string absent_{};
  std::map<std::string, Profile> profiles_{};
  std::map<std::string, IniSection> services_{};
};

/// What names a profile: `variable` is empty if it is `wanted`, and both are if nothing names one.
struct NamedProfile {
  std::string name{};
  std::string variable{};
};

/// `wanted` if given, then AWS_DEFAULT_PROFILE, then AWS_PROFILE, which is botocore's order.
[[nodiscard]] NamedProfile namedProfile(const AwsEnvironment& environment, const std::string& wanted);

/// The profile in use: the one that is named, or "default".
[[nodiscard]] std::string profileName(const AwsEnvironment& environment, const std::string& wanted);

}  // namespace tenure::aws
