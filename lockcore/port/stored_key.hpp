// What a store asks of a name, and the place of a lease in a listing, as text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_record.hpp>

namespace tenure {

/// As faultsOf(key), but names that look like others are let pass. A record with such a name may be there, of an
/// earlier release or of another program, and an operator must be able to look at it and to remove it.
[[nodiscard]] TENURE_API std::vector<std::string> faultsOfStored(const LeaseKey& key);

/// Names may hold any character where other programs wrote the row.
[[nodiscard]] TENURE_API std::string placeOf(const LeaseKey& key);

/// Empty: the text is not the place of any lease.
[[nodiscard]] TENURE_API std::optional<LeaseKey> keyAt(const std::string& place);

}  // namespace tenure
