// Listings: page by page, all of one moment as long as the server remembers it.
#pragma once

#include <cstddef>
#include <string>

#include "core.hpp"
#include "lockcore/stored/register.hpp"

namespace tenure::kubernetes_store {

/// A page may have a quarter of a megabyte for each.
inline constexpr std::size_t leasesOfAPage = 100;

/// The Leases that the store has written, by their label. The server sorts them by the names of the objects. `from` as
/// in LeaseStore::listPage(): the server's `continue`, and where the page before ended.
void scanLeases(const CorePtr& core, const std::string& prefix, const std::string& from, const CallDeadline& deadline,
                stored::ScanHandler handler);

}  // namespace tenure::kubernetes_store
