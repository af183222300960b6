// Files, directories and file systems of this machine.
#pragma once

#include <string>

#include "facts.hpp"
#include "store_files.hpp"

namespace tenure::cli::doctor {

/// Of the configuration's file `config`, and of what the store section names.
[[nodiscard]] FilesFacts readFiles(const std::string& config, const StoreFiles& store);

}  // namespace tenure::cli::doctor
