// What a store asks of a name.
#pragma once

#include <string>
#include <vector>

#include <tenure/lockcore/lease_key.hpp>

namespace tenure {

/// As faultsOf(key), but names that look like others are let pass. A record with such a name may be there, of an
/// earlier release or of another program, and an operator must be able to look at it and to remove it.
[[nodiscard]] TENURE_API std::vector<std::string> faultsOfStored(const LeaseKey& key);

}  // namespace tenure
