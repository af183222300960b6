// The place of a lease in a listing, as text.
#pragma once

#include <optional>
#include <string>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_key.hpp>

namespace tenure {

/// Names may hold any character where other programs wrote the row.
[[nodiscard]] TENURE_API std::string placeOf(const LeaseKey& key);

/// Empty: the text is not the place of any lease.
[[nodiscard]] TENURE_API std::optional<LeaseKey> keyAt(const std::string& place);

}  // namespace tenure
