// The name of this machine.
#pragma once

#include <optional>
#include <string>

#include <tenure/lockcore/export.hpp>

namespace tenure {

/// Empty if the system has no name or does not tell it.
[[nodiscard]] TENURE_API std::optional<std::string> hostName();

}  // namespace tenure
