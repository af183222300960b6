#include "forwarding.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "lockcore/port/ascii_text.hpp"

namespace tenure::gateway {
namespace {

/// If a service names one of these in Connection, removing it would break the framing of its answer.
bool isNeverHopByHop(beast::string_view name) {
  return beast::iequals(name, "Content-Length") || beast::iequals(name, fenceHeaderName.data());
}

}  // namespace

void removeHopByHop(http::fields& fields) {
  std::vector<std::string> named;
  const auto lines = fields.equal_range(http::field::connection);
  for (auto line = lines.first; line != lines.second; ++line) {
    for (const auto& name : http::token_list{line->value()}) named.emplace_back(name);
  }
  for (const std::string& name : named) {
    if (!isNeverHopByHop(name)) fields.erase(name);
  }
  for (const http::field field :
       {http::field::connection, http::field::keep_alive, http::field::proxy_connection, http::field::te,
        http::field::trailer, http::field::transfer_encoding, http::field::upgrade}) {
    fields.erase(field);
  }
  fields.erase("HTTP2-Settings");
}

HttpProblem proxyProblem(int status, std::string_view kind, std::string_view title, std::string_view detail) {
  // The texts are the program's own: nothing in them needs escaping.
  std::string body = "{\"type\":\"urn:tenure:fence:" + std::string{kind} + "\",\"title\":\"" + std::string{title} +
                     "\",\"status\":" + std::to_string(status) + ",\"detail\":\"" + std::string{detail} + "\"}\n";
  HttpProblem out{status, {{"Content-Type", "application/problem+json"}, {"Cache-Control", "no-store"}}, {}};
  if (status == 503) out.headers.emplace_back("Retry-After", "1");
  out.body = std::move(body);
  return out;
}

bool isFaultOfRequest(const error_code& error) {
  return error.category() == make_error_code(http::error::bad_version).category() &&
         error != http::error::end_of_stream && error != http::error::partial_message;
}

HttpProblem badRequest(const error_code& error, std::string_view detail) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return proxyProblem(431, "header-too-large", "The header of the request is too large", "send less of it");
  }
  return proxyProblem(400, "bad-request", "The request is not understood", detail);
}

bool isIdempotent(http::verb method) noexcept {
  return method == http::verb::get || method == http::verb::head || method == http::verb::options ||
         method == http::verb::put || method == http::verb::delete_;
}

bool hasNoBody(http::verb method, unsigned status) noexcept {
  return method == http::verb::head || status == 204 || status == 304;
}

namespace {

using Problem = std::optional<HttpProblem>;
using beast::iequals;
using beast::string_view;

constexpr string_view httpScheme = "http://";

HttpProblem badRequest(std::string_view detail) {
  return proxyProblem(400, "bad-request", "The request is not understood", detail);
}

/// `http://authority` of a target in absolute form; else empty.
string_view schemeAndAuthority(string_view target) {
  if (target.size() <= httpScheme.size() || !iequals(target.substr(0, httpScheme.size()), httpScheme)) return {};
  return target.substr(0, std::min(target.find_first_of("/?#", httpScheme.size()), target.size()));
}

Problem ofFields(const RequestHead& request) {
  if (fieldsOf(request) <= mostFields) return std::nullopt;
  return proxyProblem(431, "header-too-large", "The request has too many header fields", "at most 100 are taken");
}

/// Services that turn header names into variables (CGI, WSGI) treat `_` and `-` alike.
Problem ofNames(const RequestHead& request) {
  constexpr std::array<string_view, 6> framing{"content-length", "transfer-encoding", "fencing-token", "content-digest",
                                               "host",           "connection"};
  for (const auto& field : request) {
    std::string name{field.name_string()};
    if (name.find('_') == std::string::npos) continue;
    std::replace(name.begin(), name.end(), '_', '-');
    if (std::any_of(framing.begin(), framing.end(), [&](string_view one) { return iequals(one, name); })) {
      return badRequest("a header that frames or fences a request is written with an underscore");
    }
  }
  if (request.count("Content-Digest") > 1) return badRequest("Content-Digest comes more than once");
  return std::nullopt;
}

Problem ofTunnel(const RequestHead& request) {
  if (request.method() != http::verb::connect) return std::nullopt;
  return proxyProblem(501, "no-tunnels", "Tunnels are not forwarded", "what goes through CONNECT cannot be fenced");
}

/// An offer of h2c is ignored, as RFC 9110 (section 7.8) lets a server do.
Problem ofUpgrade(const RequestHead& request) {
  const auto lines = request.equal_range(http::field::upgrade);
  for (auto line = lines.first; line != lines.second; ++line) {
    for (const string_view protocol : http::token_list{line->value()}) {
      if (iequals(protocol, "h2c")) continue;
      if (iequals(protocol, "websocket")) {
        return proxyProblem(501, "no-websockets", "WebSockets are not forwarded",
                            "what goes through an upgraded connection cannot be fenced");
      }
      return proxyProblem(501, "no-tunnels", "Upgraded connections are not forwarded",
                          "what goes through one cannot be fenced");
    }
  }
  return std::nullopt;
}

bool isHopByHop(string_view option) {
  constexpr string_view known[]{"close", "keep-alive", "upgrade",  "http2-settings",
                                "te",    "trailer",    "trailers", "proxy-connection"};
  return std::any_of(std::begin(known), std::end(known), [&](string_view one) { return iequals(one, option); });
}

/// Headers that Connection names are not forwarded. So a client could use it to remove headers on which the service, or
/// a server in front of the proxy, relies.
Problem ofConnection(const RequestHead& request) {
  const auto lines = request.equal_range(http::field::connection);
  for (auto line = lines.first; line != lines.second; ++line) {
    const http::token_list options{line->value()};
    if (std::all_of(options.begin(), options.end(), isHopByHop)) continue;
    return badRequest("Connection names a header that it may not name");
  }
  return std::nullopt;
}

bool isHostCharacter(char c) { return isDigit(c) || isLetter(c) || c == '-' || c == '.' || c == '_' || c == '~'; }

/// `host`, `host:80`, `[::1]`, `[::1]:80`.
bool isHost(string_view text) {
  const bool bracketed = text.starts_with('[');
  const std::size_t end = bracketed ? text.find(']') : std::min(text.find(':'), text.size());
  if (end == string_view::npos || end == 0) return false;
  const string_view host = bracketed ? text.substr(1, end - 1) : text.substr(0, end);
  const string_view rest = text.substr(bracketed ? end + 1 : end);
  const auto inBrackets = [](char c) { return isHostCharacter(c) || c == ':'; };
  const bool good = bracketed ? std::all_of(host.begin(), host.end(), inBrackets)
                              : std::all_of(host.begin(), host.end(), isHostCharacter);
  if (rest.empty()) return good;
  return good && rest.front() == ':' && std::all_of(rest.begin() + 1, rest.end(), isDigit);
}

Problem ofHost(const RequestHead& request) {
  const std::size_t count = request.count(http::field::host);
  if (count > 1) return badRequest("Host comes more than once");
  if (count == 0 && request.version() == 11) return badRequest("Host is missing");
  if (count == 1 && !isHost(request[http::field::host])) return badRequest("Host is not a host with or without a port");
  return std::nullopt;
}

bool isTargetCharacter(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte > 0x20 && byte < 0x7F && c != '#';
}

Problem ofTarget(const RequestHead& request) {
  const string_view target = request.target();
  if (!std::all_of(target.begin(), target.end(), isTargetCharacter)) {
    return badRequest("the target has a character that has to be escaped");
  }
  if (target.starts_with('/')) return std::nullopt;
  if (target == "*" && request.method() == http::verb::options) return std::nullopt;
  const string_view named = schemeAndAuthority(target);
  if (named.size() <= httpScheme.size()) return badRequest("the target is neither a path nor an http:// URL");
  if (iequals(named.substr(httpScheme.size()), request[http::field::host])) return std::nullopt;
  return badRequest("Host is not the host of the target");
}

Problem ofTransferCoding(const RequestHead& request) {
  if (request.count(http::field::transfer_encoding) == 0) return std::nullopt;
  if (!iequals(request[http::field::transfer_encoding], "chunked")) {
    return proxyProblem(501, "transfer-coding", "The transfer coding is not known", "only chunked is supported");
  }
  if (request.version() == 10) return badRequest("HTTP/1.0 has no Transfer-Encoding");
  if (request.count(http::field::content_length) == 0) return std::nullopt;
  return badRequest("there are both Content-Length and Transfer-Encoding");
}

/// The parser accepts "2, 2" as a length; a service may use the first number, the last, or none of them.
Problem ofContentLength(const RequestHead& request) {
  const std::size_t count = request.count(http::field::content_length);
  if (count == 0) return std::nullopt;
  if (count > 1) return badRequest("Content-Length comes more than once");
  const string_view length = request[http::field::content_length];
  const bool isNumber = !length.empty() && std::all_of(length.begin(), length.end(), isDigit);
  if (isNumber && (length.size() == 1 || length.front() != '0')) return std::nullopt;  // some programs read 010 as 8
  return badRequest("Content-Length is not one number");
}

Problem ofExpectation(const RequestHead& request) {
  const std::size_t count = request.count(http::field::expect);
  if (count == 0) return std::nullopt;
  if (count == 1 && iequals(request[http::field::expect], "100-continue")) return std::nullopt;
  return proxyProblem(417, "expectation", "The expectation is not known", "only 100-continue is supported");
}

constexpr std::array rules{ofFields, ofNames,  ofTunnel,         ofUpgrade,       ofConnection,
                           ofHost,   ofTarget, ofTransferCoding, ofContentLength, ofExpectation};

}  // namespace

Problem problemOfShape(const RequestHead& request) {
  for (const auto rule : rules) {
    if (Problem problem = rule(request)) return problem;
  }
  return std::nullopt;
}

void useOriginForm(RequestHead& request) {
  const string_view named = schemeAndAuthority(request.target());
  if (named.empty()) return;
  std::string rest{request.target().substr(named.size())};
  if (!rest.starts_with('/')) rest.insert(0, 1, '/');
  request.target(rest);
}

}  // namespace tenure::gateway
