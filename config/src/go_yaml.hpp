// YAML as programs in Go read it (sigs.k8s.io/yaml over go.yaml.in/yaml/v2), which turn it into JSON.
#pragma once

#include "source_text.hpp"
#include "yaml_tree.hpp"

namespace tenure::config {

/// The first document as a tree of JSON's kinds: a plain `12`, `0x1f` or `yes` is no text. Aliases and merge keys
/// (`<<`) are replaced by what they stand for, and of a key that is given twice the last one counts. A fault is fatal.
[[nodiscard]] YamlDocument parseGoYaml(const SourceText& source);

}  // namespace tenure::config
