// Which OpenSSL this process has loaded.
#pragma once

#include <string>

namespace tenure::net {

/// Such as `3.40.1`.
[[nodiscard]] std::string libraryVersion();

}  // namespace tenure::net
