// Internal: where relative paths begin.
#pragma once

#include <filesystem>
#include <system_error>

namespace tenure::detail {

/// The working directory as whoever started the process named it ($PWD), if that is the directory in which it is; else
/// as the kernel names it. The kernel's name has no links, so a link that leads there (a deploy's `current`), and which
/// must not lead to a database, shows in the other one only.
[[nodiscard]] std::filesystem::path workingDirectory(std::error_code& fault);

}  // namespace tenure::detail
