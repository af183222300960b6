#include "forwarding.hpp"

#include <string>
#include <vector>

namespace tenure::cli::fence_proxy {
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

HttpRefusal proxyProblem(int status, std::string_view kind, std::string_view title, std::string_view detail) {
  // The texts are the program's own: nothing in them needs escaping.
  std::string body = "{\"type\":\"urn:tenure:fence:" + std::string{kind} + "\",\"title\":\"" + std::string{title} +
                     "\",\"status\":" + std::to_string(status) + ",\"detail\":\"" + std::string{detail} + "\"}\n";
  HttpRefusal out{status, {{"Content-Type", "application/problem+json"}, {"Cache-Control", "no-store"}}, {}};
  if (status == 503) out.headers.emplace_back("Retry-After", "1");
  out.body = std::move(body);
  return out;
}

bool isIdempotent(http::verb method) noexcept {
  return method == http::verb::get || method == http::verb::head || method == http::verb::options ||
         method == http::verb::put || method == http::verb::delete_;
}

bool hasNoBody(http::verb method, unsigned status) noexcept {
  return method == http::verb::head || status == 204 || status == 304;
}

}  // namespace tenure::cli::fence_proxy
