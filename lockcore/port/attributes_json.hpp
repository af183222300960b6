// A record's attributes as one readable column: a flat JSON object of strings (RFC 8259).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <tenure/lockcore/export.hpp>

namespace tenure {

/// Empty if a key or value is not UTF-8: JSON cannot hold it.
[[nodiscard]] TENURE_API std::optional<std::string> attributesToJson(
    const std::map<std::string, std::string>& attributes);

/// Empty if the text is anything but one object whose values are strings. Of equal keys the last one counts.
[[nodiscard]] TENURE_API std::optional<std::map<std::string, std::string>> attributesFromJson(std::string_view text);

}  // namespace tenure
