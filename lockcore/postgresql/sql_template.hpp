// SQL for PostgreSQL with the user's names in it, for the store and the fences. In a header, so that neither links the
// other's library.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

namespace tenure::postgresql {

/// A name in double quotes: `lease "x"` -> `"lease ""x"""`.
[[nodiscard]] inline std::string quotedName(std::string_view name) {
  std::string out{'"'};
  for (const char c : name) out += c == '"' ? std::string{"\"\""} : std::string{c};
  return out + '"';
}

/// A text in single quotes, as a literal that means the same with every setting.
[[nodiscard]] inline std::string quotedText(std::string_view text) {
  std::string out = text.find('\\') == std::string_view::npos ? "'" : "E'";
  for (const char c : text) out += c == '\'' || c == '\\' ? std::string(2, c) : std::string{c};
  return out + '\'';
}

/// Values for the {names} of a text. Each is an SQL identifier or literal, quotes included, or SQL made of these.
using SqlValues = std::map<std::string_view, std::string>;

/// A dollar quote that no value can end. A value does not form one together with the text around it, because names and
/// literals have quotes of their own.
[[nodiscard]] inline std::string dollarQuoteFor(const SqlValues& values) {
  std::string quote{"$tenure$"};
  const auto holdsIt = [&](const auto& value) { return value.second.find(quote) != std::string::npos; };
  while (std::any_of(values.begin(), values.end(), holdsIt)) quote.insert(quote.size() - 1, "_");
  return quote;
}

/// Replaces each {name} that has a value, and {quote} by a dollar quote. What {names} a value has stay as they are.
[[nodiscard]] inline std::string filledSql(std::string_view text, const SqlValues& values) {
  SqlValues all = values;
  all["quote"] = dollarQuoteFor(values);
  std::string out;
  while (!text.empty()) {
    const std::size_t open = text.find('{');
    out += text.substr(0, open);
    if (open == std::string_view::npos) break;
    const auto value = all.find(text.substr(open + 1, text.find('}', open) - open - 1));
    out += value != all.end() ? value->second : std::string{'{'};
    text.remove_prefix(value != all.end() ? text.find('}', open) + 1 : open + 1);
  }
  return out;
}

}  // namespace tenure::postgresql
