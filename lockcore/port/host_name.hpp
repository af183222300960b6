// The name of this machine.
#pragma once

#include <optional>
#include <string>

namespace tenure {

/// Empty if the system has no name or does not tell it.
[[nodiscard]] std::optional<std::string> hostName();

}  // namespace tenure
