// Everything that the search for credentials takes from its process, so that tests bring their own.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace tenure::aws {

/// A copy: immune to setenv() of other threads.
struct AwsEnvironment {
  std::map<std::string, std::string> variables{};
  /// Milliseconds since 1970; only for signatures and for the lifetime of credentials.
  std::function<std::int64_t()> wallClockMillis{};

  [[nodiscard]] static AwsEnvironment ofProcess();

  /// Empty if it is not set; AWS's SDKs do not tell the two apart either.
  [[nodiscard]] std::string get(const std::string& name) const;
  /// "true" in any case of letters.
  [[nodiscard]] bool isTrue(const std::string& name) const;
  /// `path` with a leading "~/" taken from HOME.
  [[nodiscard]] std::string expandHome(const std::string& path) const;
};

}  // namespace tenure::aws
