// Everything that the search for credentials takes from its process, so that tests can replace it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace tenure::aws {

/// A copy, so setenv() in other threads does not affect it.
struct AwsEnvironment {
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

}  // namespace tenure::aws
