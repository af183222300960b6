#include "forwarding.hpp"

#include <string>
#include <vector>

namespace tenure::cli::fence_proxy {
namespace {

/// Whoever names one of these in Connection wants to break the framing or the routing.
bool isNeverHopByHop(beast::string_view name) {
  return beast::iequals(name, "Content-Length") || beast::iequals(name, "Host") ||
         beast::iequals(name, fenceHeaderName.data());
}

}  // namespace

void removeHopByHop(http::fields& fields) {
  std::vector<std::string> named;
  const auto lines = fields.equal_range(http::field::connection);
  for (auto line = lines.first; line != lines.second; ++line) {
    for (const auto& name : http::token_list{line->value()}) {
      if (!isNeverHopByHop(name)) named.emplace_back(name);
    }
  }
  for (const std::string& name : named) fields.erase(name);
  for (const http::field field :
       {http::field::connection, http::field::keep_alive, http::field::proxy_connection, http::field::te,
        http::field::trailer, http::field::transfer_encoding, http::field::upgrade}) {
    fields.erase(field);
  }
}

HttpRefusal proxyProblem(int status, std::string_view kind, std::string_view title, std::string_view detail) {
  // The texts are the program's own: nothing in them needs escaping.
  std::string body = "{\"type\":\"urn:tenure:fence:" + std::string{kind} + "\",\"title\":\"" + std::string{title} +
                     "\",\"status\":" + std::to_string(status) + ",\"detail\":\"" + std::string{detail} + "\"}\n";
  HttpRefusal out{status, {{"Content-Type", "application/problem+json"}, {"Cache-Control", "no-store"}}, {}};
  if (status == 503) out.headers.emplace_back("Retry-After", "1");
  out.body = std::move(body);
  return out;
}

std::optional<HttpRefusal> refusalOfShape(const RequestHead& request) {
  if (request.method() == http::verb::connect || request.count(http::field::upgrade) != 0) {
    return proxyProblem(501, "no-tunnels", "Tunnels are not forwarded",
                        "what goes through CONNECT or an upgraded connection cannot be fenced");
  }
  const auto coding = request[http::field::transfer_encoding];
  if (!coding.empty() && (!beast::iequals(coding, "chunked") || request.count(http::field::transfer_encoding) != 1)) {
    return proxyProblem(501, "transfer-coding", "The transfer coding is not known", "only chunked is");
  }
  if (request.count(http::field::content_length) > 1) {
    return proxyProblem(400, "bad-request", "The request is not understood", "Content-Length comes more than once");
  }
  return std::nullopt;
}

bool isIdempotent(http::verb method) noexcept {
  return method == http::verb::get || method == http::verb::head || method == http::verb::options ||
         method == http::verb::put || method == http::verb::delete_;
}

bool hasNoBody(http::verb method, unsigned status) noexcept {
  return method == http::verb::head || status == 204 || status == 304;
}

}  // namespace tenure::cli::fence_proxy
