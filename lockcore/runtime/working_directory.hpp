// Internal: the directory to which relative paths refer.
#pragma once

#include <filesystem>
#include <system_error>

namespace tenure::detail {

/// The working directory under the name that the caller of the process used ($PWD), if that names the present
/// directory; else under the kernel's name. The kernel's name has no links. So a link on the way (a deploy's
/// `current`), which must not lead to a database, is visible only in $PWD.
[[nodiscard]] std::filesystem::path workingDirectory(std::error_code& fault);

}  // namespace tenure::detail
