#include "leader_document.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <boost/json.hpp>

#include <tenure/lockcore/lease_options.hpp>

namespace tenure {
namespace {

namespace json = boost::json;

constexpr std::size_t longestAddress = 256;
constexpr std::int64_t documentVersion = 1;

/// Empty: not a document of this version.
std::optional<json::object> parsed(const std::string& data) {
  if (data.empty()) return json::object{{"tenure", documentVersion}};
  if (data.size() > maxLeaderDocumentBytes) return std::nullopt;
  boost::system::error_code unreadable;
  json::value value = json::parse(data, unreadable);
  if (unreadable || !value.is_object()) return std::nullopt;
  json::object& document = value.get_object();
  const json::value* stated = document.if_contains("tenure");
  if (stated == nullptr || !stated->is_int64() || stated->get_int64() != documentVersion) return std::nullopt;
  // Of a name that comes twice only the last one was parsed. Whoever wrote that, or spells differently, is not us.
  if (json::serialize(document) != data) return std::nullopt;
  return std::move(document);
}

/// Tokens are at most maxFencingToken, which an int64 holds.
std::int64_t numberOf(FencingToken term) { return static_cast<std::int64_t>(term.value()); }

bool isPriority(std::int64_t number) noexcept { return number >= 0 && number <= maxPriority; }

}  // namespace

bool isLeaderAddress(std::string_view text) noexcept {
  const auto printable = [](char c) { return c > ' ' && c <= '~'; };
  return !text.empty() && text.size() <= longestAddress && std::all_of(text.begin(), text.end(), printable);
}

LeaderStatement statementIn(const std::string& data, FencingToken term) {
  if (data.empty()) return {};
  const auto document = parsed(data);
  if (!document) return {};
  const json::value* stated = document->if_contains("term");
  if (stated == nullptr || !stated->is_int64() || stated->get_int64() != numberOf(term)) return {};
  LeaderStatement out;
  const json::value* address = document->if_contains("address");
  if (address != nullptr && address->is_string()) {
    std::string text{address->get_string()};
    if (isLeaderAddress(text)) out.address = std::move(text);
  }
  const json::value* priority = document->if_contains("priority");
  if (priority != nullptr && priority->is_int64() && isPriority(priority->get_int64())) {
    out.priority = static_cast<unsigned>(priority->get_int64());
  }
  return out;
}

std::optional<std::string> withStatement(const std::string& data, FencingToken term, const LeaderStatement& statement) {
  auto document = parsed(data);
  if (!document) return std::nullopt;
  (*document)["term"] = numberOf(term);
  document->erase("address");
  document->erase("priority");
  if (!statement.address.empty()) (*document)["address"] = statement.address;
  if (statement.priority > 0) (*document)["priority"] = statement.priority;
  std::string text = json::serialize(*document);
  if (!parsed(text)) return std::nullopt;  // too long
  return text;
}

std::optional<json::object> membersOfDocument(const std::string& data) { return parsed(data); }

}  // namespace tenure
