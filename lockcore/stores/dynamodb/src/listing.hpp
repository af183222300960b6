// Listings: of a whole table, and of the leases of one name.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core.hpp"
#include "lockcore/port/extended_store.hpp"
#include "scan_price.hpp"

namespace tenure::dynamodb_store {

/// One request. `startKey` is JSON, empty for the first page. A page is in the order of the keys' hashes.
void listPage(const CorePtr& core, std::string_view prefix, std::string_view startKey, const Deadline& deadline,
              PageHandler handler);

/// Page after page, sorted. The price is noted.
void listLeases(const CorePtr& core, const std::shared_ptr<ScanPrice>& price, std::string prefix,
                const Deadline& deadline, ListHandler handler);

/// A query of one partition key, page after page, sorted.
void listLeasesOfName(const CorePtr& core, std::string name, const Deadline& deadline, ListHandler handler);

}  // namespace tenure::dynamodb_store
