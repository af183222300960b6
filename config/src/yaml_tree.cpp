#include "yaml_tree.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "lockcore/port/ascii_text.hpp"
#include "words.hpp"

namespace tenure::config {
namespace {

// Our files have three levels. Deeper levels are read so that people see "not a known key" instead.
constexpr std::size_t deepest = 32;

std::size_t offsetOf(const YAML::Mark& mark) { return mark.pos < 0 ? 0 : static_cast<std::size_t>(mark.pos); }

/// Where the quote at the start of `text` ends. Inside "..." a backslash escapes, inside '...' a second quote.
std::size_t closingQuote(std::string_view text) {
  const char quote = text.front();
  for (std::size_t at = 1; at < text.size(); ++at) {
    const bool doubled = quote == '\'' && text.substr(at).starts_with("''");
    const bool escaped = quote == '"' && text[at] == '\\';
    if (doubled || escaped) {
      ++at;
    } else if (text[at] == quote) {
      return at;
    }
  }
  return std::string_view::npos;
}

/// Without an anchor and a tag before the value itself.
std::string_view withoutProperties(std::string_view text) {
  while (text.starts_with('&') || text.starts_with('!')) {
    const std::size_t end = std::min(text.find_first_of(" \t\r\n"), text.size());
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n", end), text.size()));
  }
  return text;
}

/// Builds the tree from yaml-cpp's events. A raw one keeps anchors, aliases, tags, and any depth that yaml-cpp reads.
class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(const SourceText& source, YamlDocument& document, bool raw)
      : source_{source}, document_{document}, raw_{raw} {}

  void OnDocumentStart(const YAML::Mark& mark) override { start_ = offsetOf(mark); }
  void OnDocumentEnd() override { whole_ = true; }

  [[nodiscard]] bool isWhole() const noexcept { return whole_; }
  [[nodiscard]] std::size_t start() const noexcept { return start_; }

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    complete(made(YamlNode::Kind::nothing, mark, "?", anchor));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (raw_) return complete(made(YamlNode::Kind::alias, mark, "", anchor));
    refuse(mark, "an alias (*name) is not supported here; write the value out");
    complete({YamlNode::Kind::refused, offsetOf(mark)});
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    checkTag(mark, tag);
    checkQuotes(mark);
    YamlNode node = made(YamlNode::Kind::scalar, mark, tag, anchor);
    node.text = value;
    complete(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    checkTag(mark, tag);
    open(made(YamlNode::Kind::list, mark, tag, anchor), mark);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    checkTag(mark, tag);
    open(made(YamlNode::Kind::map, mark, tag, anchor), mark);
  }
  void OnMapEnd() override { close(); }

  void OnAnchor(const YAML::Mark& mark, const std::string& /*name*/) override {
    if (!raw_) refuse(mark, "an anchor (&name) is not supported here; remove it and write each value out");
  }

 private:
  struct Level {
    YamlNode node;
    std::optional<YamlNode> key{};  ///< of a map: waits for its value
  };

  [[nodiscard]] YamlNode made(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
                              YAML::anchor_t anchor) const {
    YamlNode node{kind, offsetOf(mark)};
    if (raw_) node.tag = tag, node.anchor = anchor;
    return node;
  }

  void refuse(const YAML::Mark& mark, std::string message) {
    if (tooDeep_ == 0) document_.faults.push_back({offsetOf(mark), std::move(message)});
  }

  void checkTag(const YAML::Mark& mark, const std::string& tag) {
    if (!raw_ && tag != "?" && tag != "!" && !tag.empty()) {
      refuse(mark, "a tag (" + inQuotes(tag) + ") is not supported here; write the value without it");
    }
  }

  /// yaml-cpp 0.7 lets the end of the file close a quote that is never closed.
  void checkQuotes(const YAML::Mark& mark) {
    const std::string_view text =
        withoutProperties(std::string_view{source_.text()}.substr(std::min(offsetOf(mark), source_.text().size())));
    if (text.empty() || (text.front() != '"' && text.front() != '\'')) return;
    if (closingQuote(text) != std::string_view::npos) return;
    document_.faults.push_back({offsetOf(mark), "not valid YAML: the quote that opens here is never closed"});
    document_.fatal = true;
  }

  void open(YamlNode node, const YAML::Mark& mark) {
    if (raw_ || (tooDeep_ == 0 && levels_.size() < deepest)) {
      levels_.push_back({std::move(node)});
      return;
    }
    refuse(mark, "nested more than " + std::to_string(deepest) + " levels deep");
    ++tooDeep_;
    skippedOffset_ = offsetOf(mark);
  }

  void close() {
    if (tooDeep_ > 0) {
      if (--tooDeep_ == 0) complete({YamlNode::Kind::refused, skippedOffset_});
      return;
    }
    YamlNode node = std::move(levels_.back().node);
    levels_.pop_back();
    complete(std::move(node));
  }

  void complete(YamlNode node) {
    if (tooDeep_ > 0) return;
    if (levels_.empty()) {
      document_.root = std::move(node);
      return;
    }
    Level& level = levels_.back();
    if (level.node.kind != YamlNode::Kind::map) {
      level.node.entries.push_back({YamlNode{YamlNode::Kind::nothing, node.offset}, std::move(node)});
    } else if (!level.key) {
      level.key = std::move(node);
    } else {
      level.node.entries.push_back({std::move(*level.key), std::move(node)});
      level.key.reset();
    }
  }

  const SourceText& source_;
  YamlDocument& document_;
  const bool raw_;
  std::vector<Level> levels_;
  std::size_t tooDeep_{0};  ///< open levels below the deepest one; they are left out
  std::size_t skippedOffset_{0};
  std::size_t start_{0};
  bool whole_{false};
};

/// yaml-cpp's messages (exceptions.h, ErrorMsg) in plainer words.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> plainWords{{
    {"end of map flow not found", "the { before this is not closed, or a comma is missing"},
    {"end of sequence flow not found", "the [ before this is not closed, or a comma is missing"},
    {"end of map not found", "this does not belong to the lines before it; check the indentation and the quotes"},
    {"end of sequence not found", "this does not belong to the list before it; check the indentation"},
    {"illegal map value", "a colon is not expected here; check the indentation, or put the value into quotes"},
    {"unknown token", "a value cannot start with this character; put the value into quotes"},
    {"the referenced anchor is not defined", "an alias (*name) is not supported here; write the value out"},
    {"unknown escape character", "a backslash inside \"...\" starts an escape; double it or use single quotes"},
    {"illegal EOF in scalar", "the file ends inside quotes"},
    {"bad file", "nested too deeply"},  // yaml-cpp 0.7 says this at its own limit of 500 levels
}};

std::string inPlainWords(const std::string& message, std::string_view line) {
  std::string out = "not valid YAML: ";
  const auto known = std::find_if(plainWords.begin(), plainWords.end(),
                                  [&](const auto& row) { return message.starts_with(row.first); });
  out += known != plainWords.end() ? std::string{known->second} : message;
  const bool unquotedVariable = line.find("${") != std::string_view::npos && line.find('{') < line.find("${");
  if (unquotedVariable) out += "; inside { } a ${VARIABLE} needs quotes: \"${VARIABLE}\"";
  return out;
}

/// YAML takes `group billing` above `store:` for the beginning of one long key, and reports the colon of the next line.
/// The line to correct is the one without a colon.
std::optional<YamlFault> missingColon(const SourceText& source, std::size_t offset) {
  const std::string_view text = source.text();
  if (text.empty() || offset >= text.size()) return std::nullopt;
  const auto lineStart = [&](std::size_t at) {
    const std::size_t breakBefore = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
    return breakBefore == std::string_view::npos ? 0 : breakBefore + 1;
  };
  const std::size_t here = lineStart(offset);
  if (here == 0) return std::nullopt;
  const std::size_t before = lineStart(here - 1);
  const std::string_view line = trimmed(text.substr(before, here - 1 - before));
  if (line.empty() || line.front() == '#' || line.front() == '-' || line.find(':') != std::string_view::npos) {
    return std::nullopt;
  }
  const std::size_t blank = line.find_first_of(" \t");
  const std::string key{line.substr(0, blank)};
  const std::string_view value = blank == std::string_view::npos ? "" : trimmed(line.substr(blank));
  const std::string meant = value.empty() ? key + ":" : key + ": " + std::string{value};
  return YamlFault{text.find(line, before), inQuotes(line) + " has no colon; did you mean " + inQuotes(meant) + "?"};
}

/// yaml-cpp reads the version of `%YAML 1.2` by a stream of the host's locale, where 1.2 may be twelve. So versions are
/// judged here, and yaml-cpp gets these lines as comments.
std::string withoutVersions(const std::string& source, std::optional<YamlFault>& fault) {
  std::string out = source;
  bool amongDirectives = true, seen = false;
  for (const std::string_view line : linesOf(source)) {
    std::vector<std::string_view> words = wordsOf(line);
    words.erase(std::find_if(words.begin(), words.end(), [](auto word) { return word.starts_with('#'); }), words.end());
    if (amongDirectives && line.starts_with("%YAML") && words.front() == "%YAML") {
      const auto offset = static_cast<std::size_t>(line.data() - source.data());
      const std::string_view version = words.size() == 2 ? words[1] : "";
      const bool known = version.starts_with("1.") && numberFrom<unsigned>(version.substr(2));
      if (!known) fault = {offset, "not valid YAML: " + inQuotes(line) + " names no version 1.x; write %YAML 1.2"};
      if (seen) fault = {offset, "not valid YAML: a second %YAML; remove this line"};
      if (fault) return out;
      out[offset] = '#';
      seen = true;
    } else if (line.starts_with("...")) {
      amongDirectives = true, seen = false;
    } else if (!words.empty() && !line.starts_with('%')) {
      amongDirectives = false;
    }
  }
  return out;
}

YamlFault furtherDocument(const SourceText& source, std::size_t offset) {
  const bool marked = source.lineAt(offset).starts_with("---");
  return {offset, marked ? "a second document starts here; a file holds one group"
                         : "not valid YAML: this line is indented less than the first one; start both in one column"};
}

}  // namespace

YamlNode::YamlNode() = default;

YamlNode::YamlNode(Kind kindOfNode, std::size_t firstByte, std::string textOfScalar)
    : kind{kindOfNode}, offset{firstByte}, text{std::move(textOfScalar)} {}

namespace {

YamlDocument parsed(const SourceText& source, bool raw) {
  YamlDocument document;
  std::optional<YamlFault> badVersion;
  std::istringstream stream{withoutVersions(source.text(), badVersion)};  // lint-allow(locale): read byte by byte
  const auto fail = [&](std::size_t offset, std::string message) {
    document.faults.push_back({offset, std::move(message)});
    document.fatal = true;
  };
  if (badVersion) return fail(badVersion->offset, badVersion->message), document;
  TreeBuilder builder{source, document, raw};
  try {
    YAML::Parser parser{stream};
    if (!parser.HandleNextDocument(builder) || raw) return document;
    YamlDocument ignored;  // nobody asks what is in it
    TreeBuilder further{source, ignored, false};
    if (parser.HandleNextDocument(further)) {
      document.faults.push_back(furtherDocument(source, further.start()));
      document.fatal = true;
    }
  } catch (const YAML::Exception& e) {
    if (raw && builder.isWhole()) return document;  // it looks at what follows the end
    const std::size_t offset = offsetOf(e.mark);
    const bool colon = e.msg.starts_with("illegal map value");
    if (const auto earlier = colon ? missingColon(source, offset) : std::nullopt) {
      return fail(earlier->offset, earlier->message), document;
    }
    if (raw && e.msg.starts_with("the referenced anchor")) {
      return fail(offset, "not valid YAML: the alias (*name) has no anchor (&name) before it"), document;
    }
    fail(offset, inPlainWords(e.msg, source.lineAt(offset)));
  }
  return document;
}

}  // namespace

YamlDocument parseYaml(const SourceText& source) { return parsed(source, false); }

YamlDocument parseRawYaml(const SourceText& source) { return parsed(source, true); }

}  // namespace tenure::config
