#include "object_head.hpp"

#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "adapters/fence/src/fence_text.hpp"
#include "lockcore/port/ascii_text.hpp"

namespace tenure::s3_fence {
namespace {

using boost::json::object;
using boost::json::value;

constexpr std::string_view version = "tenure-fence";

std::optional<std::string> textAt(const object& in, std::string_view name) {
  const value* found = in.if_contains(name);
  const auto* text = found == nullptr ? nullptr : found->if_string();
  if (text == nullptr) return std::nullopt;
  return std::string{text->data(), text->size()};
}

std::optional<TermStamp> termIn(const value& one) {
  const object* term = one.if_object();
  if (term == nullptr) return std::nullopt;
  auto lease = textAt(*term, "lease");
  auto holder = textAt(*term, "holder");
  const auto token = parseFencingToken(textAt(*term, "token").value_or(""));
  if (!lease || !holder || !token) return std::nullopt;
  TermStamp out{*std::move(lease), *token, *std::move(holder)};
  if (errorOf(out)) return std::nullopt;  // nobody can have written under this stamp
  return out;
}

std::optional<std::vector<TermStamp>> termsIn(const object& head) {
  const value* found = head.if_contains("terms");
  const auto* list = found == nullptr ? nullptr : found->if_array();
  if (list == nullptr) return std::nullopt;
  std::vector<TermStamp> out;
  for (const value& one : *list) {
    auto term = termIn(one);
    const bool twice =
        term && std::any_of(out.begin(), out.end(), [&](const TermStamp& other) { return other.lease == term->lease; });
    if (!term || twice) return std::nullopt;
    out.push_back(*std::move(term));
  }
  return out;
}

/// Null if it is no JSON of a head's length.
value firstLineOf(std::string_view text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || end >= longestHead) return nullptr;
  boost::system::error_code error;
  value parsed = boost::json::parse(boost::json::string_view{text.data(), end}, error);
  return error ? value{nullptr} : parsed;
}

std::optional<ObjectHead> headIn(const object& json) {
  const value* number = json.if_contains(version);
  if (number == nullptr || !number->is_int64() || number->get_int64() != 1) return std::nullopt;
  auto write = textAt(json, "write");
  auto replaces = textAt(json, "replaces");
  auto data = textAt(json, "data");
  const auto size = numberFrom<std::size_t>(textAt(json, "size").value_or(""));
  auto terms = termsIn(json);
  if (!write || write->empty() || !replaces || !data || !size || !terms) return std::nullopt;
  return ObjectHead{*std::move(write), *std::move(replaces), *size, *std::move(data), *std::move(terms)};
}

}  // namespace

std::string toText(const ObjectHead& head) {
  boost::json::array terms;
  for (const TermStamp& term : head.terms) {
    terms.push_back(object{{"lease", term.lease}, {"token", toString(term.token)}, {"holder", term.holder}});
  }
  // Numbers are written as text, because other languages read JSON numbers as doubles.
  const object out{
      {version, 1},        {"write", head.write},      {"replaces", head.replaces}, {"size", std::to_string(head.size)},
      {"data", head.data}, {"terms", std::move(terms)}};
  return boost::json::serialize(out) + '\n';
}

std::optional<FoundHead> parseHead(std::string_view text) {
  const std::size_t end = text.find('\n');
  const value parsed = firstLineOf(text);
  if (!parsed.is_object()) return std::nullopt;
  auto head = headIn(parsed.get_object());
  // Only our own spelling is accepted. If a member comes twice, the parser keeps only one; and an unknown member would
  // be missing in the next head. Either of them may hold a token.
  if (!head || toText(*head) != text.substr(0, end + 1)) return std::nullopt;
  return FoundHead{*std::move(head), end + 1};
}

std::optional<DamagedTerm> damageIn(std::string_view object) {
  const value parsed = firstLineOf(object);
  const value* list = parsed.is_object() ? parsed.get_object().if_contains("terms") : nullptr;
  if (list == nullptr || !list->is_array() || !parsed.get_object().contains(version)) return std::nullopt;
  for (const value& one : list->get_array()) {
    const auto* term = one.if_object();
    const auto lease = term == nullptr ? std::nullopt : textAt(*term, "lease");
    const auto token = term == nullptr ? std::nullopt : textAt(*term, "token");
    if (lease && token && !parseFencingToken(*token)) return DamagedTerm{*lease, *token};
  }
  return std::nullopt;
}

std::optional<TermStamp> seenIn(const ObjectHead& head, const std::string& lease) {
  const auto found =
      std::find_if(head.terms.begin(), head.terms.end(), [&](const TermStamp& one) { return one.lease == lease; });
  if (found == head.terms.end()) return std::nullopt;
  return *found;
}

std::vector<TermStamp> termsWith(std::vector<TermStamp> terms, const TermStamp& stamp) {
  const auto found =
      std::find_if(terms.begin(), terms.end(), [&](const TermStamp& one) { return one.lease == stamp.lease; });
  if (found == terms.end()) {
    terms.push_back(stamp);
  } else {
    *found = stamp;
  }
  return terms;
}

}  // namespace tenure::s3_fence
