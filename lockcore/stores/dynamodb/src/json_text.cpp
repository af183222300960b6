#include "json_text.hpp"

namespace tenure::dynamodb_store {

std::string inQuotes(std::string_view text) {
  std::string out;
  appendQuoted(out, text);
  return out;
}

void appendTextValue(std::string& out, std::string_view text) {
  out += R"({"S":)";
  appendQuoted(out, text);
  out += '}';
}

void appendNumberValue(std::string& out, std::int64_t value) {
  out += R"({"N":")";
  appendInteger(out, value);
  out += "\"}";
}

void appendBytesValue(std::string& out, std::string_view bytes) {
  out += R"({"B":")";
  appendBase64(out, bytes);
  out += "\"}";
}

}  // namespace tenure::dynamodb_store
