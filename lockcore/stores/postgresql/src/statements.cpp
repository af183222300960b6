#include "statements.hpp"

#include <algorithm>

#include <tenure/lockcore/lease_key.hpp>

#include "statement_texts.hpp"

namespace tenure::postgresql_store {
namespace {

/// Puts the pieces into the texts, from the outside to the inside.
class Filler {
 public:
  Filler(std::string table, bool history)
      : table_{std::move(table)}, tableText_{quotedText(table_)}, history_{history} {}

  [[nodiscard]] std::string filled(std::string_view text) const {
    std::string out;
    while (!text.empty()) {
      const std::size_t open = text.find('[');
      out += text.substr(0, open);
      if (open == std::string_view::npos) break;
      const std::size_t close = closing(text, open);
      out += replaced(text.substr(open + 1, close - open - 1));
      text.remove_prefix(close + 1);
    }
    return out;
  }

 private:
  static std::size_t closing(std::string_view text, std::size_t open) {
    std::size_t depth = 0;
    for (std::size_t at = open; at < text.size(); ++at) {
      if (text[at] == '[') ++depth;
      if (text[at] == ']' && --depth == 0) return at;
    }
    return text.size();
  }

  [[nodiscard]] std::string replaced(std::string_view inside) const {
    if (inside.empty()) return "[]";  // of an array's type
    if (inside == "table") return table_;
    if (inside == "tableText") return tableText_;
    const std::size_t blank = inside.find(' ');
    std::string text{pieceNamed(inside.substr(0, blank), history_)};
    if (blank != std::string_view::npos) {
      const std::string_view arguments = inside.substr(blank + 1);
      // The first argument may hold commas only within other pieces, where none follows them.
      const std::size_t comma = lastComma(arguments);
      substitute(text, "%1", arguments.substr(0, comma));
      if (comma != std::string_view::npos) substitute(text, "%2", arguments.substr(comma + 2));
    }
    return filled(text);
  }

  /// Outside of brackets and parentheses.
  static std::size_t lastComma(std::string_view arguments) {
    int depth = 0;
    std::size_t found = std::string_view::npos;
    for (std::size_t at = 0; at < arguments.size(); ++at) {
      if (arguments[at] == '[' || arguments[at] == '(') ++depth;
      if (arguments[at] == ']' || arguments[at] == ')') --depth;
      if (arguments[at] == ',' && depth == 0) found = at;
    }
    return found;
  }

  static void substitute(std::string& text, std::string_view place, std::string_view argument) {
    for (std::size_t at = text.find(place); at != std::string::npos; at = text.find(place, at + argument.size())) {
      text.replace(at, place.size(), argument);
    }
  }

  const std::string table_;
  const std::string tableText_;
  const bool history_;
};

}  // namespace

bool isIdentifier(std::string_view name) {
  const bool shows = std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; });
  return shows && !name.empty() && name.size() <= maxIdentifierBytes && isUtf8(name);
}

std::string arrayLiteral(const std::vector<Value>& values) {
  std::string out{"{"};
  for (const Value& value : values) {
    if (out.size() > 1) out += ',';
    if (!value) {
      out += "NULL";
      continue;
    }
    out += '"';
    for (const char c : *value) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    out += '"';
  }
  return out + '}';
}

std::string qualifiedName(std::string_view schema, std::string_view table) {
  return quotedName(schema) + '.' + quotedName(table);
}

Statements::Statements(std::string_view schema, std::string_view table) {
  for (const bool history : {false, true}) {
    const Filler filler{qualifiedName(schema, table), history};
    for (std::size_t id = 0; id < statementCount; ++id) {
      sql_.at(history ? 1 : 0).at(id) = filler.filled(textOf(static_cast<StatementId>(id)));
    }
  }
}

}  // namespace tenure::postgresql_store
