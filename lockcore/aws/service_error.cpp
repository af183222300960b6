#include "service_error.hpp"

#include <array>
#include <utility>

#include <boost/json.hpp>

namespace tenure::aws {
namespace {

namespace json = boost::json;

// A bad signature is put down to a wrong clock only if the server's Date shows that; the caller checks it.
constexpr std::array<std::pair<std::string_view, Refusal>, 11> codes{{
    {"ExpiredTokenException", Refusal::token},
    {"ExpiredToken", Refusal::token},
    {"UnrecognizedClientException", Refusal::token},
    {"InvalidClientTokenId", Refusal::token},
    {"InvalidAccessKeyId", Refusal::token},
    {"InvalidSignatureException", Refusal::clock},
    {"SignatureDoesNotMatch", Refusal::clock},
    {"RequestTimeTooSkewed", Refusal::clock},
    {"RequestExpired", Refusal::clock},
    {"RequestInTheFuture", Refusal::clock},
    {"IncompleteSignatureException", Refusal::clock},
}};

/// "com.amazon.coral.service#ExpiredTokenException", or as a header "ExpiredTokenException:http://..."
std::string_view bareCode(std::string_view text) {
  text = text.substr(text.find('#') + 1);  // npos + 1 is 0
  return text.substr(0, text.find(':'));
}

/// S3: <Error><Code>ExpiredToken</Code>...
std::string_view codeInXml(std::string_view body) {
  static constexpr std::string_view tag = "<Code>";
  const std::size_t at = body.find(tag);
  if (at == std::string_view::npos) return {};
  body.remove_prefix(at + tag.size());
  return body.substr(0, body.find('<'));
}

Refusal refusalFor(std::string_view code) {
  for (const auto& [name, refusal] : codes) {
    if (code == name) return refusal;
  }
  return Refusal::none;
}

}  // namespace

Refusal refusalOf(const net::HttpResponse& response) {
  if (response.status != 400 && response.status != 401 && response.status != 403) return Refusal::none;
  if (const auto header = response.header("x-amzn-ErrorType"); !header.empty()) return refusalFor(bareCode(header));
  // Most refusals are failed conditions, some of them with a record; these need not be parsed a second time.
  bool possible = false;
  for (const auto& [name, refusal] : codes) possible = possible || response.body.find(name) != std::string::npos;
  if (!possible) return Refusal::none;
  if (response.body.starts_with('<')) return refusalFor(codeInXml(response.body));
  boost::system::error_code unreadable;
  const json::value parsed = json::parse(response.body, unreadable);
  if (unreadable || !parsed.is_object()) return Refusal::none;
  const json::value* type = parsed.get_object().if_contains("__type");
  if (type == nullptr || !type->is_string()) return Refusal::none;
  const json::string& text = type->get_string();
  return refusalFor(bareCode({text.data(), text.size()}));
}

}  // namespace tenure::aws
