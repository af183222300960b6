// What libpq and a server say of themselves, for an operator's command that asks once.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/stores/postgresql_store.hpp>

namespace tenure::postgresql_store {

struct ServerAccount {
  std::string version{};                             ///< such as `15.14 (Debian 15.14-0+deb12u1)`
  std::optional<std::chrono::milliseconds> ahead{};  ///< of the wall clock here
  std::string fault{};                               ///< not empty: nobody answered, and why
};
/// Blocking: a connection of its own to the first host that takes it, within a few seconds for each.
[[nodiscard]] TENURE_API ServerAccount askServerItself(const PostgresqlStoreOptions& options);

/// Which libpq this process has loaded, such as `15.14`.
[[nodiscard]] TENURE_API std::string libraryVersion();

}  // namespace tenure::postgresql_store
