// A YAML document as a plain tree. It keeps what yaml-cpp's own nodes lose: the place of every key, keys given twice,
// and the difference between no value and an empty text.
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
    list,
    map,
    refused,  ///< existed, and its fault is already reported (an alias, something nested too deeply)
    number,   ///< of parseGoYaml() only, as the next one; `text` is as written
    boolean,  ///< `text` is "true" or "false"
    alias,    ///< of parseRawYaml() only; `anchor` is what it stands for
  };
  // YamlEntry is not complete yet, so the constructors are defined elsewhere, and `entries` has no initialiser.
  YamlNode();
  YamlNode(Kind kindOfNode, std::size_t firstByte, std::string textOfScalar = {});

  Kind kind{Kind::nothing};
  std::size_t offset{0};           ///< of its first byte in the text
  std::string text{};              ///< of a scalar, without quotes
  std::vector<YamlEntry> entries;  ///< of a map; of a list: the items, each as a value without a key
  std::string tag{};      ///< of parseRawYaml() only: in full; "?" for a plain scalar without, "!" for a quoted one
  std::size_t anchor{0};  ///< the same; 0: none
};

struct YamlEntry {
  YamlNode key;
  YamlNode value;
};

struct YamlFault {
  std::size_t offset;
  std::string message;
};

/// `root` is empty if the text contains no document. If `fatal` marks a fault, do not use the tree.
struct YamlDocument {
  std::optional<YamlNode> root{};
  std::vector<YamlFault> faults{};
  bool fatal{false};
};

/// Reads one document. Never throws because of the text. YAML features that we do not accept (anchors, aliases, tags,
/// several documents, deep nesting) are faults.
[[nodiscard]] YamlDocument parseYaml(const SourceText& source);

/// Reads the first document, with anchors, aliases and tags as they are written, for a format of others that has them.
[[nodiscard]] YamlDocument parseRawYaml(const SourceText& source);

}  // namespace tenure::config
