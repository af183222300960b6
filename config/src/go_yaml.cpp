#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "kubeconfig_file.hpp"
#include "lockcore/port/json_text.hpp"
#include "lockcore/port/quoted_text.hpp"

namespace tenure::config {
namespace {

constexpr std::size_t mostLevels = 1000;      // with what aliases stand for: each level takes stack
constexpr std::size_t mostAliased = 100'000;  // values that stand for aliases: a few lines could ask for a billion
constexpr std::size_t mostAliasedBytes = std::size_t{16} << 20U;  // of their texts

enum class Type { text, number, boolean, nothing, infinite };

bool isOneOf(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

bool consistsOf(std::string_view text, std::string_view digits) {
  return !text.empty() && text.find_first_not_of(digits) == std::string_view::npos;
}

constexpr std::string_view decimal = "0123456789";

std::string_view withoutSign(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return text;
}

/// With a base in front, as Go's strconv.ParseInt has it; not more than 64 bits.
bool isBasedInteger(std::string_view text) {
  text = withoutSign(text);
  if (text.size() < 3 || text[0] != '0') return false;
  const char base = static_cast<char>(text[1] | 0x20);
  const std::string_view digits = text.substr(2);
  const int bits = base == 'x' ? 16 : base == 'o' ? 8 : base == 'b' ? 2 : 0;
  std::uint64_t value = 0;
  if (bits == 0) return false;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, bits);
  return error == std::errc{} && end == digits.data() + digits.size();
}

/// YAML's decimal numbers. One that is too large for a double is text.
bool isDecimal(std::string_view text) {
  const std::string_view number = withoutSign(text);
  const std::size_t exponentAt = std::min(number.find_first_of("eE"), number.size());
  const std::string_view mantissa = number.substr(0, exponentAt);
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const std::string_view whole = mantissa.substr(0, point);
  const std::string_view fraction = mantissa.substr(std::min(point + 1, mantissa.size()));
  if (!whole.empty() && !consistsOf(whole, decimal)) return false;
  if (!fraction.empty() && !consistsOf(fraction, decimal)) return false;
  if (whole.empty() && fraction.empty()) return false;
  if (exponentAt == number.size()) return true;
  if (!consistsOf(withoutSign(number.substr(exponentAt + 1)), decimal)) return false;
  double value = 0;
  const auto parsed = std::from_chars(number.data(), number.data() + number.size(), value);
  return parsed.ec == std::errc{} || number[std::min(exponentAt + 1, number.size() - 1)] == '-';
}

/// What a plain scalar is (resolve.go of yaml/v2). Times are texts in the end.
Type typeOfPlain(std::string_view text) {
  if (isOneOf(text, {"", "~", "null", "Null", "NULL"})) return Type::nothing;
  if (isOneOf(text, {"y", "Y", "yes", "Yes", "YES", "true",  "True",  "TRUE",  "on",  "On",  "ON",
                     "n", "N", "no",  "No",  "NO",  "false", "False", "FALSE", "off", "Off", "OFF"})) {
    return Type::boolean;
  }
  if (isOneOf(text,
              {".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF"})) {
    return Type::infinite;
  }
  if (text.front() == '.') return isDecimal(text) ? Type::number : Type::text;
  if (!consistsOf(text.substr(0, 1), "+-0123456789")) return Type::text;
  std::string plain{text};
  std::erase(plain, '_');
  return isBasedInteger(plain) || isDecimal(plain) ? Type::number : Type::text;
}

bool isTrue(std::string_view text) {
  return isOneOf(text, {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"});
}

constexpr std::string_view tagPrefix = "tag:yaml.org,2002:";

/// Makes the tree of JSON's kinds from the raw one.
class Converter {
 public:
  Converter(YamlDocument& document, const YamlNode& raw) : document_{document} { note(raw); }

  YamlNode convert(const YamlNode& raw) {
    if (document_.fatal) return {YamlNode::Kind::refused, raw.offset};
    if (aliases_ > 0 && ++aliased_ > mostAliased) return refused(raw, "its aliases stand for too many values");
    if (depth_ >= mostLevels) return refused(raw, "nested more than " + std::to_string(mostLevels) + " levels deep");
    ++depth_;
    YamlNode node = converted(raw);
    --depth_;
    return node;
  }

 private:
  using Places = std::map<std::string, std::size_t, std::less<>>;  ///< of a map's keys

  void note(const YamlNode& raw) {
    if (raw.anchor != 0 && raw.kind != YamlNode::Kind::alias) anchors_[raw.anchor] = &raw;
    for (const YamlEntry& entry : raw.entries) note(entry.key), note(entry.value);
  }

  YamlNode refused(const YamlNode& at, std::string message) {
    if (!document_.fatal) document_.faults.push_back({at.offset, "not valid YAML: " + std::move(message)});
    document_.fatal = true;
    return {YamlNode::Kind::refused, at.offset};
  }

  YamlNode converted(const YamlNode& raw) {
    switch (raw.kind) {
      case YamlNode::Kind::scalar:
        return scalar(raw);
      case YamlNode::Kind::alias:
        return standsFor(raw);
      case YamlNode::Kind::map: {
        YamlNode map{YamlNode::Kind::map, raw.offset};
        Places places;
        fill(raw, map, places);
        return map;
      }
      case YamlNode::Kind::list: {
        YamlNode list{YamlNode::Kind::list, raw.offset};
        for (const YamlEntry& entry : raw.entries) list.entries.push_back({entry.key, convert(entry.value)});
        return list;
      }
      default:
        return {raw.kind, raw.offset};
    }
  }

  /// The place of the value is where it is written, which is in the anchor.
  YamlNode standsFor(const YamlNode& alias) {
    const YamlNode& anchored = *anchors_.at(alias.anchor);
    if (!open_.insert(&anchored).second) return refused(alias, "an anchor's value contains its own alias");
    ++aliases_;
    YamlNode node = convert(anchored);
    --aliases_;
    open_.erase(&anchored);
    return node;
  }

  void fill(const YamlNode& raw, YamlNode& map, Places& places) {
    for (const YamlEntry& entry : raw.entries) {
      if (document_.fatal) return;
      const YamlNode& key = entry.key;
      const bool merges = key.kind == YamlNode::Kind::scalar && key.text == "<<" &&
                          (key.tag == "?" || key.tag == std::string{tagPrefix} + "merge");
      if (merges) {
        merge(entry.value, map, places);
        continue;
      }
      YamlNode name = convert(key);
      if (name.kind == YamlNode::Kind::refused) return;
      const bool isText = name.kind == YamlNode::Kind::scalar || name.kind == YamlNode::Kind::number ||
                          name.kind == YamlNode::Kind::boolean;
      if (!isText) {
        refused(key, "a key must be a text");
        return;
      }
      put(std::move(name), convert(entry.value), map, places);
    }
  }

  static void put(YamlNode key, YamlNode value, YamlNode& map, Places& places) {
    const auto [found, isNew] = places.emplace(key.text, map.entries.size());
    if (isNew) {
      map.entries.push_back({std::move(key), std::move(value)});
    } else {
      map.entries[found->second] = {std::move(key), std::move(value)};
    }
  }

  /// Of a list the maps that come first count most.
  void merge(const YamlNode& raw, YamlNode& map, Places& places) {
    if (raw.kind == YamlNode::Kind::list) {
      for (auto one = raw.entries.rbegin(); one != raw.entries.rend(); ++one) mergeMap(one->value, map, places);
    } else {
      mergeMap(raw, map, places);
    }
  }

  void mergeMap(const YamlNode& raw, YamlNode& map, Places& places) {
    YamlNode other = convert(raw);
    if (other.kind == YamlNode::Kind::refused) return;
    if (other.kind != YamlNode::Kind::map) {
      refused(raw, "a merge key (<<) needs a map, or a list of maps");
      return;
    }
    for (YamlEntry& entry : other.entries) put(std::move(entry.key), std::move(entry.value), map, places);
  }

  YamlNode scalar(const YamlNode& raw) {
    if (aliases_ > 0 && (aliasedBytes_ += raw.text.size()) > mostAliasedBytes) {
      return refused(raw, "its aliases stand for too much text");
    }
    if (raw.tag == "!") return {YamlNode::Kind::scalar, raw.offset, raw.text};
    if (raw.tag == "?") return typed(raw, typeOfPlain(raw.text));
    if (!raw.tag.starts_with(tagPrefix)) return {YamlNode::Kind::scalar, raw.offset, raw.text};
    const std::string tag = raw.tag.substr(tagPrefix.size());
    if (tag == "binary") {
      auto bytes = bytesFromBase64(raw.text);
      if (!bytes) return refused(raw, "the value with the tag !!binary is not base64");
      return {YamlNode::Kind::scalar, raw.offset, std::move(*bytes)};
    }
    const Type type = typeOfPlain(raw.text);
    const bool fits = (tag == "null" && type == Type::nothing) || (tag == "bool" && type == Type::boolean) ||
                      ((tag == "int" || tag == "float") && (type == Type::number || type == Type::infinite));
    if (fits) return typed(raw, type);
    if (isOneOf(tag, {"null", "bool", "int", "float"}))
      return refused(raw, "the value is not what its tag !!" + tag + " says");
    return {YamlNode::Kind::scalar, raw.offset, raw.text};
  }

  YamlNode typed(const YamlNode& raw, Type type) {
    switch (type) {
      case Type::nothing:
        return {YamlNode::Kind::nothing, raw.offset};
      case Type::boolean:
        return {YamlNode::Kind::boolean, raw.offset, isTrue(raw.text) ? "true" : "false"};
      case Type::number:
        return {YamlNode::Kind::number, raw.offset, raw.text};
      case Type::infinite:
        return refused(raw, inQuotes(raw.text) + " is not a JSON number; put it into quotes");
      case Type::text:
        break;
    }
    return {YamlNode::Kind::scalar, raw.offset, raw.text};
  }

  YamlDocument& document_;
  std::map<std::size_t, const YamlNode*> anchors_{};
  std::set<const YamlNode*> open_{};  ///< anchors whose alias is being replaced
  std::size_t aliases_{0};
  std::size_t aliased_{0};
  std::size_t aliasedBytes_{0};
  std::size_t depth_{0};
};

}  // namespace

YamlDocument parseGoYaml(const SourceText& source) {
  YamlDocument document = parseRawYaml(source);
  if (!document.root || document.fatal) return document;
  const YamlNode raw = std::move(*document.root);
  document.root = Converter{document, raw}.convert(raw);
  return document;
}

}  // namespace tenure::config
