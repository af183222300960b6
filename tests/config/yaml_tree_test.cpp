#include "config/src/yaml_tree.hpp"

#include <gtest/gtest.h>

namespace tenure::config {
namespace {

using Kind = YamlNode::Kind;

/// The tree as `{a: {b: 'x'}, c: ~}`.
std::string drawn(const YamlNode& node) {
  switch (node.kind) {
    case Kind::nothing:
      return "~";
    case Kind::list:
      return "[]";
    case Kind::refused:
      return "!";
    case Kind::scalar:
      return "'" + node.text + "'";
    default:
      break;
  }
  std::string out = "{";
  for (const YamlEntry& entry : node.entries) {
    if (out.size() > 1) out += ", ";
    out += drawn(entry.key) + ": " + drawn(entry.value);
  }
  return out + "}";
}

std::string faultsOf(const SourceText& source, const YamlDocument& document) {
  std::string out;
  for (const YamlFault& fault : document.faults) {
    const Place place = source.placeOf(fault.offset);
    out += "\n" + std::to_string(place.line) + ":" + std::to_string(place.column) + " " + fault.message;
  }
  return out;
}

/// The tree, then each fault in a line.
std::string parsed(std::string_view text) {
  const SourceText source{text};
  const YamlDocument document = parseYaml(source);
  return (document.root ? drawn(*document.root) : "none") + faultsOf(source, document);
}

TEST(YamlTree, ReadsTheVersionThatTheFileStates) {
  for (const char* head :
       {"%YAML 1.2\n", "%YAML 1.1\r\n", "# ours\n\n%YAML\t1.2  # the newest\n", "%TAG ! tag:x,2000:\n%YAML 1.2\n"})
    EXPECT_EQ(parsed(head + std::string{"---\na: b\n"}), "{'a': 'b'}") << head;
  EXPECT_EQ(parsed("a: |\n  %YAML 3\nb: c\n"), "{'a': '%YAML 3\n', 'b': 'c'}") << "no directive";
  const std::string no = " names no version 1.x; write %YAML 1.2";
  EXPECT_EQ(parsed("# ours\n%YAML 2.0\n---\na: b\n"), "none\n2:1 not valid YAML: \"%YAML 2.0\"" + no);
  for (const char* version : {"", " 1", " 12", " 1,2", " 1.", " 1.2.3", " 1.2 3", " 1.2x", " 1. 2", " -1.2"})
    EXPECT_EQ(parsed("%YAML" + std::string{version} + "\n---\na: b\n"),
              "none\n1:1 not valid YAML: \"%YAML" + std::string{version} + "\"" + no);
  EXPECT_EQ(parsed("%YAML 1.2\n%YAML 1.2\n---\na: b\n"), "none\n2:1 not valid YAML: a second %YAML; remove this line");
  EXPECT_EQ(parsed("%YAML 1.2\n---\na: b\n...\n%YAML 1.2\n---\nc: d\n"),
            "{'a': 'b'}\n6:1 a second document starts here; a file holds one group");
}

TEST(YamlTree, KeepsWhatTheFileSays) {
  EXPECT_EQ(parsed("a: b\nc: {d: 'e', f: [1, 2], g: ~}\nh:\n"), "{'a': 'b', 'c': {'d': 'e', 'f': [], 'g': ~}, 'h': ~}");
  EXPECT_EQ(parsed("a: 1\na: 2\n"), "{'a': '1', 'a': '2'}");
  EXPECT_EQ(parsed("a: ''\nb: \"\"\nc: null\nd: 'null'\n"), "{'a': '', 'b': '', 'c': ~, 'd': 'null'}");
  EXPECT_EQ(parsed("a: |\n  two\n  lines\n"), "{'a': 'two\nlines\n'}");
  EXPECT_EQ(parsed("--- # start\na: b\n...\n"), "{'a': 'b'}");
  EXPECT_EQ(parsed("%YAML 1.2\n---\na: b\n"), "{'a': 'b'}");
  EXPECT_EQ(parsed("a: b\r\nc: d\r\n"), "{'a': 'b', 'c': 'd'}");
  EXPECT_EQ(parsed("\xEF\xBB\xBF"
                   "a: b\n"),
            "{'a': 'b'}");
}

TEST(YamlTree, NothingIsNoDocument) {
  EXPECT_EQ(parsed(""), "none");
  EXPECT_EQ(parsed("\n  \n"), "none");
  EXPECT_EQ(parsed("# only words\n"), "none");
}

TEST(YamlTree, KnowsWhereEverythingIs) {
  const SourceText source{"a: b\nkey:\n  inner: \"value\"\n\xC3\xA9: {x: y}\n"};
  const YamlDocument document = parseYaml(source);
  ASSERT_TRUE(document.root);
  const auto& entries = document.root->entries;
  ASSERT_EQ(entries.size(), 3U);
  const auto place = [&](const YamlNode& node) { return source.placeOf(node.offset); };
  EXPECT_EQ(place(*document.root), (Place{1, 1}));
  EXPECT_EQ(place(entries[0].value), (Place{1, 4}));
  EXPECT_EQ(place(entries[1].key), (Place{2, 1}));
  EXPECT_EQ(place(entries[1].value.entries[0].value), (Place{3, 10}));
  EXPECT_EQ(place(entries[2].value.entries[0].value), (Place{4, 8}));  // characters, not bytes
}

TEST(YamlTree, QuotesMustBeClosed) {
  for (const std::string_view value : {"\"x", "'x", "'it''s", "\"x\\\"", "\"", "'"}) {
    const SourceText source{"a: " + std::string{value} + "\n"};
    const YamlDocument document = parseYaml(source);
    EXPECT_TRUE(document.fatal) << value;
    EXPECT_EQ(faultsOf(source, document), "\n1:4 not valid YAML: the quote that opens here is never closed") << value;
  }
  EXPECT_EQ(parsed("a: 'it''s'\nb: \"\\\"\"\nc: ''\n"), "{'a': 'it's', 'b': '\"', 'c': ''}");
}

TEST(YamlTree, DepthIsBoundedAndTheRestIsStillRead) {
  const std::string list = "a: " + std::string(200, '[') + std::string(200, ']') + "\nb: c\n";
  EXPECT_EQ(parsed(list), "{'a': [], 'b': 'c'}\n1:35 nested more than 32 levels deep");
  const auto nested = [](const std::string& begin, const std::string& inner) {
    std::string out = inner;
    for (int level = 0; level < 31; ++level) out = begin + out + '}';
    return out;
  };
  EXPECT_EQ(parsed(nested("{k: ", "{deep: {x: {y: 1}}, next: good}")),
            nested("{'k': ", "{'deep': !, 'next': 'good'}") + "\n1:132 nested more than 32 levels deep");
  const std::string veryDeep = "a: " + std::string(100'000, '[') + "\n";
  EXPECT_NE(parsed(veryDeep).find("nested"), std::string::npos);
}

TEST(YamlTree, FaultsOfWhatIsNotTakenDoNotHideTheRest) {
  EXPECT_EQ(parsed("a: &x 1\nb: *x\nc: !!int 5\nd: 6\n"),
            "{'a': '1', 'b': !, 'c': '5', 'd': '6'}\n"
            "1:4 an anchor (&name) is not supported here; remove it and write each value out\n"
            "2:4 an alias (*name) is not supported here; write the value out\n"
            "3:4 a tag (\"tag:yaml.org,2002:int\") is not supported here; write the value without it");
}

std::string textFault(std::string_view text) {
  const auto found = SourceText{text}.fault();
  if (!found) return "none";
  return std::to_string(found->place.line) + ":" + std::to_string(found->place.column) + " " + found->message;
}

TEST(SourceText, FindsTheFirstByteThatIsNotUtf8) {
  EXPECT_EQ(textFault("group: caf\xC3\xA9\n"), "none");
  EXPECT_EQ(textFault("group: caf\xE9\n"), "1:11 the byte 0xe9 is not UTF-8; save the file as UTF-8");
  EXPECT_EQ(textFault("a: b\n\xC3\xA9: \xC0\x80\n"), "2:4 the byte 0xc0 is not UTF-8; save the file as UTF-8");
  EXPECT_EQ(textFault("a: \xED\xA0\x80"), "1:4 the byte 0xed is not UTF-8; save the file as UTF-8");
  EXPECT_EQ(textFault("a: b\n\xE2\x82"), "2:1 the byte 0xe2 is not UTF-8; save the file as UTF-8");
  EXPECT_EQ(textFault(std::string_view{"g\0r\0", 4}), "1:1 the file seems to be UTF-16; save it as UTF-8");
  EXPECT_EQ(textFault("\xFF\xFEg"), "1:1 the file seems to be UTF-16; save it as UTF-8");
}

TEST(SourceText, FindsControlCharactersAndTabsThatIndent) {
  EXPECT_EQ(textFault(std::string_view{"a: b\nc: \0d", 10}),
            "2:4 the control character 0x00 is not allowed; remove it");
  EXPECT_EQ(textFault("a: \x04"), "1:4 the control character 0x04 is not allowed; remove it");
  EXPECT_EQ(textFault("a:\n\tb: c\n"), "2:1 a tab indents this line; indent with spaces");
  EXPECT_EQ(textFault("a:\n  \tb: c\n"), "2:3 a tab indents this line; indent with spaces");
  EXPECT_EQ(textFault("a: b\nc:\td\n"), "none");
  EXPECT_EQ(textFault("a: b\t# c\n\t\n\t# d\n"), "none");
}

}  // namespace
}  // namespace tenure::config
