// The file with the user's password.
#pragma once

#include <string>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/store_error.hpp>

namespace tenure::etcd_store {

/// The first line, without its end. The fault names the file and never what is in it; it is permanent unless the system
/// refused the file.
[[nodiscard]] TENURE_API StoreResult<std::string> passwordIn(const std::string& path);

}  // namespace tenure::etcd_store
