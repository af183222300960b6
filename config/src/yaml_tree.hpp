// A YAML document as a plain tree that keeps what yaml-cpp's own nodes lose: the place of every key, keys given twice,
// and the difference between nothing and an empty text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "source_text.hpp"

namespace tenure::config {

struct YamlEntry;

struct YamlNode {
  enum class Kind {
    nothing,  ///< null, ~ or no value at all
    scalar,
    list,  ///< its items are not kept: no key takes a list
    map,
    refused,  ///< was there, and has its fault already (an alias, something nested too deeply)
  };
  // YamlEntry is not complete yet: the constructors stand elsewhere, and `entries` has no initialiser.
  YamlNode();
  YamlNode(Kind kindOfNode, std::size_t firstByte, std::string textOfScalar = {});

  Kind kind{Kind::nothing};
  std::size_t offset{0};  ///< of its first byte in the text
  std::string text{};     ///< of a scalar, without quotes
  std::vector<YamlEntry> entries;
};

struct YamlEntry {
  YamlNode key;
  YamlNode value;
};

struct YamlFault {
  std::size_t offset;
  std::string message;
};

/// `root` is empty if the text holds no document. If there is a fault that `fatal` marks, the tree is not to be used.
struct YamlDocument {
  std::optional<YamlNode> root{};
  std::vector<YamlFault> faults{};
  bool fatal{false};
};

/// Reads one document. Never throws for what the text holds. What we do not take although YAML has it (anchors,
/// aliases, tags, several documents, deep nesting) is a fault.
[[nodiscard]] YamlDocument parseYaml(const SourceText& source);

}  // namespace tenure::config
