// The schema: every key of a group's file and every section, in the order of config/reference.yaml.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tenure/lockcore/export.hpp>

#include "key_spec.hpp"

namespace tenure::config {

/// A top-level key whose value is a map.
struct SectionSpec {
  std::string name;
  bool required{false};
  bool named{false};      ///< its keys are free names, each with a map of the keys `NAME.*.` of the schema
  std::string example{};  ///< for a message: `{ type: sqlite, path: ./tenure.db }`
  std::string about{};
};

[[nodiscard]] const std::vector<SectionSpec>& sections();
[[nodiscard]] const std::vector<KeySpec>& keySpecs();

/// The path of the key for a fault's field: "lease.stop_margin" for "lease.stopMargin", "jobs.nightly.late_by" for
/// "jobs.nightly.lateBy". Without a key: the field.
[[nodiscard]] TENURE_API std::string keyOf(const std::string& field);

/// "lease" of "lease.heartbeat", "jobs.*" of "jobs.*.schedule"; empty for a key of the top level.
[[nodiscard]] std::string sectionOf(std::string_view path);
/// "jobs" of "jobs.*.schedule": the key of the top level.
[[nodiscard]] std::string topOf(std::string_view path);
/// "heartbeat" of "lease.heartbeat".
[[nodiscard]] TENURE_API std::string nameIn(std::string_view path);

}  // namespace tenure::config
