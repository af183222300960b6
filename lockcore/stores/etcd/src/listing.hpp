// Listings: page by page, each at one revision.
#pragma once

#include <cstddef>
#include <string>

#include "core.hpp"

namespace tenure::etcd_store {

/// A page is one range of records and, at the same revision, one transaction that reads their counters; a server takes
/// 128 operations in one.
inline constexpr std::size_t leasesOfAPage = 100;

void listLeases(const CorePtr& core, const std::string& prefix, const CallDeadline& deadline, ListHandler handler);
/// `from` as in LeaseStore::listPage().
void listPage(const CorePtr& core, const std::string& prefix, const std::string& from, const CallDeadline& deadline,
              PageHandler handler);

}  // namespace tenure::etcd_store
