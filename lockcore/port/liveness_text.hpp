// A holder's liveness file as one text, for stores that keep texts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tenure/lockcore/export.hpp>
#include <tenure/lockcore/lease_record.hpp>

namespace tenure {

/// `device inode bootId id`
[[nodiscard]] TENURE_API std::string livenessText(const LivenessFile& file);

/// Empty for anything else: an incomplete text proves nothing, just like a missing one.
[[nodiscard]] TENURE_API std::optional<LivenessFile> livenessFileFrom(std::string_view text);

}  // namespace tenure
