// Finds out from outside whether anybody holds a lease or competes for it.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <tenure/lockcore/lease_store.hpp>

namespace tenure::cli {

/// What the watch saw that was not quiet.
struct Unrest {
  bool moved{false};  ///< false: the store could not be asked
  std::string message;
};

/// The challenger's rule: nobody holds the lease if its stored state has not changed for as long as a lease lasts,
/// counted from after it was first read. Nobody competes either, because a candidate would have taken the lease by
/// then. `seen` is what was read, `lease` the longest lease that somebody may have. Empty: all was quiet. Blocks.
[[nodiscard]] std::optional<Unrest> watchForLife(LeaseStore& store, const LeaseKey& key, const StoredTokens& seen,
                                                 std::chrono::milliseconds lease);

}  // namespace tenure::cli
