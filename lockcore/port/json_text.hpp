// Writes the JSON of requests by hand, because a heartbeat is built thousands of times a second.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <tenure/lockcore/export.hpp>

namespace tenure {

/// `text` in quotes, escaped as RFC 8259 asks. The text must be UTF-8 (the store checks that where texts come in).
TENURE_API void appendQuoted(std::string& out, std::string_view text);

/// A JSON string with its quotes, of a text that somebody else wrote: bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] TENURE_API std::string jsonString(std::string_view text);
/// The same; an empty text is null.
[[nodiscard]] TENURE_API std::string jsonStringOrNull(std::string_view text);

TENURE_API void appendInteger(std::string& out, std::int64_t value);

/// A code point as UTF-8. What is half of a pair in UTF-16 becomes bytes that are none.
TENURE_API void appendUtf8(std::string& out, std::uint32_t point);

/// RFC 4648, with padding.
TENURE_API void appendBase64(std::string& out, std::string_view bytes);
[[nodiscard]] TENURE_API std::string base64(std::string_view bytes);
/// Empty for anything that is not base64 with its padding in its only correct spelling.
[[nodiscard]] TENURE_API std::optional<std::string> bytesFromBase64(std::string_view text);

/// Empty if a key or value is not UTF-8: JSON cannot hold it.
[[nodiscard]] TENURE_API std::optional<std::string> attributesToJson(
    const std::map<std::string, std::string>& attributes);

/// Empty if the text is anything but one object whose values are strings. Of equal keys the last one counts.
[[nodiscard]] TENURE_API std::optional<std::map<std::string, std::string>> attributesFromJson(std::string_view text);

}  // namespace tenure
