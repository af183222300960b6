// The versions that a candidate writes, in a quarter of the memory that their texts take.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <tenure/lockcore/lease_record.hpp>

namespace tenure {

/// The 128 bits of a UUID.
using PackedVersion = std::array<std::uint64_t, 2>;

/// Empty if the text is not a UUID in lower case, as this library writes them: such a version is not ours. Never all
/// zero.
[[nodiscard]] std::optional<PackedVersion> packed(const RecordVersion& version);

}  // namespace tenure
