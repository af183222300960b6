// What a look at the files of a store found: rights, and files that are missing.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/store_error.hpp>

namespace tenure {

struct FileAccess {
  std::optional<StoreError> obstacle{};  ///< this user cannot write
  std::string wide{};                    ///< who else may open the files, and what to do; empty: nobody
  std::string strangers{};               ///< whose liveness files this user may not read, and what to do; empty: none
};

/// A store that cannot be made on this machine as it is now: a file is missing or may not be read, there is no pod
/// around. Its options may be right. Any other std::runtime_error of a store's factory is a fault that stays.
class TENURE_API UnusableHere : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tenure
