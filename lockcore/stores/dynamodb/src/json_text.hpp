// What DynamoDB's JSON has beyond other JSON: the types of values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lockcore/port/json_text.hpp"

namespace tenure::dynamodb_store {

/// As appendQuoted(), as a text of its own.
[[nodiscard]] std::string inQuotes(std::string_view text);

/// Attribute values as DynamoDB writes them: {"S":"text"}, {"N":"12"}, {"B":"base64"}.
void appendTextValue(std::string& out, std::string_view text);
void appendNumberValue(std::string& out, std::int64_t value);
void appendBytesValue(std::string& out, std::string_view bytes);

}  // namespace tenure::dynamodb_store
