#include "kubeconfig_file.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "lockcore/port/json_text.hpp"
#include "lockcore/port/quoted_text.hpp"

namespace tenure::config {
namespace {

struct Shape {
  enum class Kind { anything, text, boolean, data, list, named, map, object };
  Kind kind;
  const Shape* item{nullptr};  ///< of a list, a list of named entries, or a map
  std::vector<std::pair<std::string_view, const Shape*>> fields{};
};
using Kind = Shape::Kind;

/// With these members.
Shape objectWith(std::vector<std::pair<std::string_view, const Shape*>> fields) {
  return {Kind::object, nullptr, std::move(fields)};
}

const Shape textShape{Kind::text}, booleanShape{Kind::boolean}, dataShape{Kind::data};

const Shape& shapeOfExtensions() {
  static const Shape anything{Kind::anything};
  static const Shape extension = objectWith({{"name", &textShape}, {"extension", &anything}});
  static const Shape extensions{Kind::list, &extension};
  return extensions;
}

const Shape& shapeOfUser() {
  static const Shape texts{Kind::list, &textShape}, textsByName{Kind::map, &texts}, textByName{Kind::map, &textShape};
  static const Shape provider = objectWith({{"name", &textShape}, {"config", &textByName}});
  static const Shape variable = objectWith({{"name", &textShape}, {"value", &textShape}});
  static const Shape variables{Kind::list, &variable};
  static const Shape program = objectWith({{"command", &textShape},
                                           {"args", &texts},
                                           {"env", &variables},
                                           {"apiVersion", &textShape},
                                           {"installHint", &textShape},
                                           {"provideClusterInfo", &booleanShape},
                                           {"interactiveMode", &textShape}});
  static const Shape user = objectWith({{"client-certificate", &textShape},
                                        {"client-certificate-data", &dataShape},
                                        {"client-key", &textShape},
                                        {"client-key-data", &dataShape},
                                        {"token", &textShape},
                                        {"tokenFile", &textShape},
                                        {"as", &textShape},
                                        {"as-uid", &textShape},
                                        {"as-groups", &texts},
                                        {"as-user-extra", &textsByName},
                                        {"username", &textShape},
                                        {"password", &textShape},
                                        {"auth-provider", &provider},
                                        {"exec", &program},
                                        {"extensions", &shapeOfExtensions()}});
  return user;
}

const Shape& shapeOfFile() {
  static const Shape cluster = objectWith({{"server", &textShape},
                                           {"tls-server-name", &textShape},
                                           {"insecure-skip-tls-verify", &booleanShape},
                                           {"certificate-authority", &textShape},
                                           {"certificate-authority-data", &dataShape},
                                           {"proxy-url", &textShape},
                                           {"disable-compression", &booleanShape},
                                           {"extensions", &shapeOfExtensions()}});
  static const Shape context = objectWith(
      {{"cluster", &textShape}, {"user", &textShape}, {"namespace", &textShape}, {"extensions", &shapeOfExtensions()}});
  static const Shape namedCluster = objectWith({{"name", &textShape}, {"cluster", &cluster}});
  static const Shape namedUser = objectWith({{"name", &textShape}, {"user", &shapeOfUser()}});
  static const Shape namedContext = objectWith({{"name", &textShape}, {"context", &context}});
  static const Shape clusters{Kind::named, &namedCluster}, users{Kind::named, &namedUser},
      contexts{Kind::named, &namedContext};
  static const Shape preferences = objectWith({{"colors", &booleanShape}, {"extensions", &shapeOfExtensions()}});
  static const Shape file = objectWith({{"kind", &textShape},
                                        {"apiVersion", &textShape},
                                        {"preferences", &preferences},
                                        {"clusters", &clusters},
                                        {"users", &users},
                                        {"contexts", &contexts},
                                        {"current-context", &textShape},
                                        {"extensions", &shapeOfExtensions()}});
  return file;
}

std::string kindOf(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::list:
      return "a list";
    case YamlNode::Kind::map:
      return "a map";
    case YamlNode::Kind::number:
      return "a number";
    case YamlNode::Kind::boolean:
      return "a boolean";
    default:
      return "text";
  }
}

/// Go leaves out line breaks, and nothing else.
std::optional<std::string> decoded(std::string text) {
  std::erase_if(text, [](char c) { return c == '\n' || c == '\r'; });
  return bytesFromBase64(text);
}

/// Reports each value whose type is wrong, and names that a list has twice.
class Checker {
 public:
  explicit Checker(KubeFile& file) : file_{file} {}

  void check(const YamlNode& node, const Shape& shape, const std::string& key) {
    if (node.kind == YamlNode::Kind::nothing) return;
    switch (shape.kind) {
      case Kind::anything:
        return;
      case Kind::text:
        return demand(node, YamlNode::Kind::scalar, key, "text");
      case Kind::boolean:
        return demand(node, YamlNode::Kind::boolean, key, "true or false");
      case Kind::data:
        if (node.kind == YamlNode::Kind::scalar && !decoded(node.text)) return file_.fault(node, key, "is not base64");
        return demand(node, YamlNode::Kind::scalar, key, "text");
      case Kind::list:
      case Kind::named:
        return list(node, shape, key);
      case Kind::map:
        for (const YamlEntry& entry : node.entries)
          check(entry.value, *shape.item, key + '.' + shown(entry.key.text, 60));
        return demand(node, YamlNode::Kind::map, key, "a map");
      case Kind::object:
        return object(node, shape, key);
    }
  }

 private:
  void demand(const YamlNode& node, YamlNode::Kind kind, const std::string& key, const std::string& what) {
    if (node.kind == kind) return;
    const bool quotes =
        what == "text" && node.entries.empty() && node.kind != YamlNode::Kind::map && node.kind != YamlNode::Kind::list;
    file_.fault(node, key, "is " + kindOf(node) + ", and must be " + what + (quotes ? "; put it into quotes" : ""));
  }

  /// An entry that is null counts as one without a name.
  void list(const YamlNode& node, const Shape& shape, const std::string& key) {
    if (node.kind != YamlNode::Kind::list) return demand(node, YamlNode::Kind::list, key, "a list");
    std::set<std::string> names;
    for (const YamlEntry& entry : node.entries) {
      const YamlNode* given = memberOf(entry.value, "name");
      const std::string name = given != nullptr ? given->text : "";
      if (shape.kind == Kind::named && !names.insert(name).second) {
        file_.fault(entry.value, key, "has " + inQuotes(name) + " twice");
      }
      check(entry.value, *shape.item, key + '[' + shown(name, 60) + ']');
    }
  }

  void object(const YamlNode& node, const Shape& shape, const std::string& key) {
    demand(node, YamlNode::Kind::map, key, key.empty() ? "a map with clusters, users and contexts" : "a map");
    for (const auto& [name, field] : shape.fields) {
      const YamlNode* value = memberOf(node, name);
      if (value != nullptr) check(*value, *field, key + (key.empty() ? "" : ".") + std::string{name});
    }
  }

  KubeFile& file_;
};

}  // namespace

const YamlNode* memberOf(const YamlNode& node, std::string_view key) {
  if (node.kind != YamlNode::Kind::map) return nullptr;
  const auto found = std::find_if(node.entries.begin(), node.entries.end(),
                                  [&](const YamlEntry& entry) { return entry.key.text == key; });
  return found != node.entries.end() ? &found->value : nullptr;
}

KubeFile::KubeFile(std::string_view bytes, std::filesystem::path where) : path{std::move(where)} {
  const auto text = textOfYaml(bytes);
  if (text.has_error()) {
    const TextFault& wrong = text.error();
    faults.push_back({path.string(), wrong.place.line, wrong.place.column, "", wrong.message});
    return;
  }
  source = SourceText{*text};
  YamlDocument document = parseGoYaml(source);
  for (const YamlFault& wrong : document.faults) fault({YamlNode::Kind::nothing, wrong.offset}, "", wrong.message);
  if (!faults.empty() || !document.root) return;
  root = std::move(*document.root);
  demand("kind", "Config");
  demand("apiVersion", "v1");
  Checker{*this}.check(root, shapeOfFile(), "");
}

void KubeFile::demand(const char* key, const char* value) {
  const YamlNode* given = memberOf(root, key);
  if (given != nullptr && given->kind == YamlNode::Kind::scalar && !given->text.empty() && given->text != value) {
    fault(*given, key, "is " + inQuotes(given->text) + "; that of a kubeconfig file is " + value);
  }
}

void KubeFile::fault(const YamlNode& at, const std::string& key, const std::string& message) {
  const Place place = source.placeOf(at.offset);
  faults.push_back({path.string(), place.line, place.column, key, message});
}

std::string bytesOfData(std::string text) { return decoded(std::move(text)).value_or(""); }

}  // namespace tenure::config
