// Directories: the names in one, making one, and the one to which relative paths refer.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/store_error.hpp>

#include "file_rights.hpp"

namespace tenure {

/// The names that start with `prefix`, in no order; none if the directory cannot be read.
[[nodiscard]] TENURE_API std::vector<std::string> namesIn(const std::string& directory, std::string_view prefix = {});

/// The same for callers that must know all of them. Returns 0, or the errno of the failure.
[[nodiscard]] TENURE_API int namesIn(const std::string& directory, std::string_view prefix,
                                     std::vector<std::string>& names);

/// Creates a directory in an existing one unless it exists. Refuses a symbolic link, because other users may be able to
/// create one.
/// Without `rights` the umask decides who may use it.
[[nodiscard]] TENURE_API StoreResult<void> makeDirectory(const std::string& store, const std::string& directory,
                                                         const std::optional<FileRights>& rights = {});

}  // namespace tenure

namespace tenure::detail {

/// The working directory under the name that the caller of the process used ($PWD), if that names the present
/// directory; else under the kernel's name. The kernel's name has no links. So a link on the way (a deploy's
/// `current`), which must not lead to a database, is visible only in $PWD.
[[nodiscard]] TENURE_API std::filesystem::path workingDirectory(std::error_code& fault);

}  // namespace tenure::detail
