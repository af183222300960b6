// One key of the schema: its description, how it is read into a GroupConfig, and how it is written from one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <tenure/config/group_config.hpp>

#include "config_keys.hpp"
#include "duration.hpp"
#include "value_codec.hpp"

namespace tenure::config {

struct KeySpec {
  ConfigKey key;
  std::string field;  ///< what the faults of the options call it: "lease.stopMargin" for lease.stop_margin
  /// Stores the value; returns a fault if the text is not of the key's kind. Whether the value is allowed is found out
  /// by the options' own checks.
  std::function<std::optional<ValueFault>(std::string_view text, GroupConfig& config)> set;
  /// The value as YAML writes it; empty if it is not set.
  std::function<std::optional<std::string>(const GroupConfig& config)> get;
  /// The value that is used if the key is not set, for people; empty function: it is always set.
  std::function<std::string(const GroupConfig& config)> derived{};
  bool isList{false};  ///< a YAML list is taken too; `set` gets its items with commas between
  std::string word{};  ///< FILE of `tenure lock --path FILE`; empty: `tenure lock` has no such option
};

/// The texts of a key that cannot be derived from its type.
struct KeyText {
  std::string path;
  std::string fallback{};  ///< the default in words if the struct's default is "not set"; KeySpec::derived gives it
  std::string example{};   ///< if there is no default to show
  std::string about{};
  std::string field{};  ///< where it is not the path in camel case
};

/// "lease.stopMargin" for "lease.stop_margin".
[[nodiscard]] std::string camelCase(std::string_view path);

template <typename T>
[[nodiscard]] const T* setValue(const T& field) {
  return &field;
}
template <typename T>
[[nodiscard]] const T* setValue(const std::optional<T>& field) {
  return field ? &*field : nullptr;
}
/// An empty text, list or map means "not set"; no key takes one from YAML.
template <typename T>
requires requires(const T& field) { field.empty(); }
[[nodiscard]] const T* setValue(const T& field) { return field.empty() ? nullptr : &field; }

/// `access` gives the field (a T or an optional<T>) of a GroupConfig, const or not.
template <typename T, typename Access>
[[nodiscard]] KeySpec keySpec(KeyText text, Codec<T> codec, Access access) {
  KeySpec spec;
  spec.field = text.field.empty() ? camelCase(text.path) : std::move(text.field);
  if (!text.fallback.empty()) spec.derived = [words = text.fallback](const GroupConfig&) { return words; };
  spec.key = ConfigKey{.path = std::move(text.path),
                       .storeType = {},
                       .kind = codec.kind,
                       .allowed = codec.allowed,
                       .required = false,
                       .fallback = std::move(text.fallback),
                       .example = std::move(text.example),
                       .about = std::move(text.about)};
  spec.isList = codec.kind == "list";
  spec.set = [codec, access](std::string_view value, GroupConfig& config) -> std::optional<ValueFault> {
    auto parsed = codec.parse(value);
    if (!parsed) return parsed.error();
    access(config) = *std::move(parsed);
    return std::nullopt;
  };
  spec.get = [codec, access](const GroupConfig& config) -> std::optional<std::string> {
    const auto* value = setValue(access(config));
    if (value == nullptr) return std::nullopt;
    return codec.write(*value);
  };
  return spec;
}

/// The same for a key that every file must have.
template <typename T, typename Access>
[[nodiscard]] KeySpec requiredKeySpec(KeyText text, Codec<T> codec, Access access) {
  KeySpec spec = keySpec(std::move(text), std::move(codec), access);
  spec.key.required = true;
  return spec;
}

}  // namespace tenure::config
