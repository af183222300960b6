// One kubeconfig file as client-go reads it, with the types of its tools/clientcmd/api/v1.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <tenure/config/load_group.hpp>

#include "source_text.hpp"
#include "yaml_tree.hpp"

namespace tenure::config {

/// YAML as programs in Go read it (sigs.k8s.io/yaml over go.yaml.in/yaml/v2), which turn it into JSON.
/// The first document as a tree of JSON's kinds: a plain `12`, `0x1f` or `yes` is no text. Aliases and merge keys
/// (`<<`) are replaced by what they stand for, and of a key that is given twice the last one counts. A fault is fatal.
[[nodiscard]] YamlDocument parseGoYaml(const SourceText& source);

/// Null: there is none.
[[nodiscard]] const YamlNode* memberOf(const YamlNode& node, std::string_view key);

/// The bytes that a text has in base64; empty if it is none, which is a fault of its file.
[[nodiscard]] std::string bytesOfData(std::string text);

/// A wrong value is a fault also in an entry that no context names: client-go refuses the whole file for it. A key that
/// it does not know may have any value.
struct KubeFile {
  KubeFile(std::string_view bytes, std::filesystem::path where);

  void fault(const YamlNode& at, const std::string& key, const std::string& message);

  const std::filesystem::path path;
  SourceText source{""};
  YamlNode root{};  ///< of parseGoYaml(); nothing if there is a fault
  ConfigFaults faults{};

 private:
  void demand(const char* key, const char* value);
};

}  // namespace tenure::config
