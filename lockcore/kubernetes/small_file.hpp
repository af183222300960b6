// The files that Kubernetes gives to a pod.
#pragma once

#include <string>

#include <tenure/lockcore/store_error.hpp>

namespace tenure::kubernetes_store {

/// What is in the regular file, without white space at its ends; at most 64 KiB. It waits for no pipe. The fault
/// (`credentials`) names the file and never what is in it.
[[nodiscard]] StoreResult<std::string> smallFile(const std::string& what, const std::string& path);

}  // namespace tenure::kubernetes_store
