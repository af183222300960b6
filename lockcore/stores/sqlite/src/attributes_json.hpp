// A record's attributes as one readable column: a flat JSON object of strings (RFC 8259).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tenure::sqlite_store {

using Attributes = std::map<std::string, std::string>;

/// Empty if a key or value is not UTF-8: JSON cannot hold it.
[[nodiscard]] std::optional<std::string> toJson(const Attributes& attributes);

/// Empty if the text is anything but one object whose values are strings. Of equal keys the last one counts.
[[nodiscard]] std::optional<Attributes> attributesFromJson(std::string_view text);

}  // namespace tenure::sqlite_store
