// Listings: page by page, each at one revision.
#pragma once

#include <cstddef>
#include <string>

#include "core.hpp"
#include "lockcore/stored/register.hpp"

namespace tenure::etcd_store {

/// A page is one range of records and, at the same revision, one transaction that reads their counters; a server takes
/// 128 operations in one.
inline constexpr std::size_t leasesOfAPage = 100;

/// `from` as in LeaseStore::listPage().
void scanLeases(const CorePtr& core, const std::string& prefix, const std::string& from, const CallDeadline& deadline,
                stored::ScanHandler handler);

}  // namespace tenure::etcd_store
