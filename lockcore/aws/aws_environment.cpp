#include "aws_environment.hpp"

#include <cstddef>
#include <string>
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

}  // namespace tenure::aws
