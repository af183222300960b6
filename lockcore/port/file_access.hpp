// What a look at the files of a store found about rights.
#pragma once

#include <optional>
#include <string>

#include <tenure/lockcore/store_error.hpp>

namespace tenure {

struct FileAccess {
  std::optional<StoreError> obstacle{};  ///< this user cannot write
  std::string wide{};                    ///< who else may open the files, and what to do; empty: nobody
  std::string strangers{};               ///< whose liveness files this user may not read, and what to do; empty: none
};

}  // namespace tenure
