// Makes a GroupConfig from the tree of a file, by the schema.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <tenure/config/load_group.hpp>

#include "election/src/checked_group.hpp"
#include "schema.hpp"
#include "source_text.hpp"
#include "yaml_tree.hpp"

namespace tenure::config {

/// A config without faults, with its options as they were checked.
struct LoadedGroup {
  GroupConfig config;
  CheckedGroup options;
};

struct ReaderFault {
  Place place;
  std::string key;
  std::string message;
};

/// Reads one file, and is used once. It collects every fault and goes on. A value that depends on a faulty one is not
/// judged.
class GroupReader {
 public:
  GroupReader(const SourceText& source, const VariableSource& variables) : source_{source}, variables_{variables} {}

  void read(const YamlNode& root);

  /// If there are no faults.
  [[nodiscard]] LoadedGroup group() const { return {config_, checked_.value()}; }
  [[nodiscard]] const std::vector<ReaderFault>& faults() const noexcept { return faults_; }

 private:
  /// The entries of a map whose keys come once each, and those whose keys are not in the schema.
  struct Entries {
    std::map<std::string, const YamlEntry*, std::less<>> known{};
    std::vector<const YamlNode*> unknownKeys{};
  };

  [[nodiscard]] Entries entriesOf(const YamlNode& map, const std::string& section);
  void readSection(const SectionSpec& section, const YamlEntry& entry);
  void readJobs(const YamlNode& map);
  void readKeys(const std::string& section, const YamlNode& map);
  void readKey(const KeySpec& spec, const YamlEntry& entry);
  void readValue(const KeySpec& spec, const YamlEntry& entry);
  void readItems(const KeySpec& spec, const YamlNode& list);
  void store(const KeySpec& spec, const YamlNode& value, const std::string& text, const std::string& written);
  void unknownKey(const YamlNode& key, const std::string& section);
  void missingKeys(const Entries& entries, const std::string& section, std::size_t offset);
  void checkValues();

  [[nodiscard]] std::vector<std::string> allowedIn(const std::string& section) const;
  [[nodiscard]] std::optional<std::string> expanded(const KeySpec& spec, const YamlNode& value);
  [[nodiscard]] bool applies(const KeySpec& spec) const;
  [[nodiscard]] bool mayBeJudged(const std::string& key) const;
  [[nodiscard]] std::size_t offsetFor(const std::string& key) const;
  [[nodiscard]] std::string inFile(const std::string& path) const;
  void fault(std::size_t offset, const std::string& key, std::string message);

  // Constant while reading.
  const SourceText& source_;
  const VariableSource& variables_;

  GroupConfig config_;
  std::optional<CheckedGroup> checked_{};
  std::vector<ReaderFault> faults_;
  std::map<std::string, std::size_t, std::less<>> offsets_;  ///< of each key's value, by the key's path; "" is the file
  std::map<std::string, std::string, std::less<>> outOfRange_;  ///< what is said of each value if it is out of range
  std::set<std::string> suggested_;                             ///< paths for which an unknown key was probably meant
  bool storeTypeKnown_{false};
  std::string pathOfJob_;  ///< of the job that is read now
};

}  // namespace tenure::config
