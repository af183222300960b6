#include "leader_document.hpp"

#include <algorithm>
#include <cstdint>

#include <boost/json.hpp>

namespace tenure {
namespace {

namespace json = boost::json;

constexpr std::size_t longestAddress = 256;
constexpr std::int64_t documentVersion = 1;

/// Empty: not a document of this version.
std::optional<json::object> parsed(const std::string& data) {
  if (data.empty()) return json::object{{"tenure", documentVersion}};
  json::error_code unreadable;
  json::value value = json::parse(data, unreadable);
  if (unreadable || !value.is_object()) return std::nullopt;
  json::object& document = value.get_object();
  const json::value* stated = document.if_contains("tenure");
  if (stated == nullptr || !stated->is_int64() || stated->get_int64() != documentVersion) return std::nullopt;
  return std::move(document);
}

/// Tokens are at most maxFencingToken, which an int64 holds.
std::int64_t numberOf(FencingToken term) { return static_cast<std::int64_t>(term.value()); }

}  // namespace

bool isLeaderAddress(std::string_view text) noexcept {
  const auto printable = [](char c) { return c > ' ' && c <= '~'; };
  return !text.empty() && text.size() <= longestAddress && std::all_of(text.begin(), text.end(), printable);
}

std::string addressIn(const std::string& data, FencingToken term) {
  if (data.empty()) return {};
  const auto document = parsed(data);
  if (!document) return {};
  const json::value* stated = document->if_contains("term");
  const json::value* address = document->if_contains("address");
  if (stated == nullptr || !stated->is_int64() || stated->get_int64() != numberOf(term)) return {};
  if (address == nullptr || !address->is_string()) return {};
  std::string text{address->get_string()};
  return isLeaderAddress(text) ? text : std::string{};
}

std::optional<std::string> withAddress(const std::string& data, FencingToken term, const std::string& address) {
  auto document = parsed(data);
  if (!document) return std::nullopt;
  (*document)["term"] = numberOf(term);
  (*document)["address"] = address;
  std::string text = json::serialize(*document);
  if (!parsed(text)) return std::nullopt;  // a number of theirs is too great to be written again
  return text;
}

}  // namespace tenure
