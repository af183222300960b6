// Members of JSON objects that may be missing, or of another kind.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <tenure/lockcore/lease_record.hpp>

namespace tenure::ops {

[[nodiscard]] inline std::string textOf(const boost::json::object& object, std::string_view key) {
  const boost::json::value* value = object.if_contains(key);
  const boost::json::string* text = value != nullptr ? value->if_string() : nullptr;
  return text != nullptr ? std::string{text->data(), text->size()} : std::string{};
}

/// Zero if it is none.
[[nodiscard]] inline std::int64_t numberOf(const boost::json::object& object, std::string_view key) {
  const boost::json::value* value = object.if_contains(key);
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

[[nodiscard]] inline bool flagOf(const boost::json::object& object, std::string_view key) {
  const boost::json::value* value = object.if_contains(key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

[[nodiscard]] inline FencingToken tokenOf(const boost::json::object& object, std::string_view key) {
  const std::int64_t number = numberOf(object, key);
  return number > 0 ? FencingToken{static_cast<std::uint64_t>(number)} : FencingToken{};
}

/// Empty, if the member is no object.
[[nodiscard]] inline boost::json::object objectOf(const boost::json::object& object, std::string_view key) {
  const boost::json::value* value = object.if_contains(key);
  return value != nullptr && value->is_object() ? value->get_object() : boost::json::object{};
}

}  // namespace tenure::ops
