#include "request_text.hpp"

#include "authority.hpp"
#include "text.hpp"

namespace tenure::net {
namespace {

bool isToken(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view{"!#$%&'*+-.^_`|~"}.find(c) != std::string_view::npos;
  });
}

bool isOneLine(std::string_view text) noexcept {
  return std::none_of(text.begin(), text.end(), [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

bool isOurs(std::string_view name) noexcept {
  return sameText(name, "host") || sameText(name, "content-length") || sameText(name, "connection") ||
         sameText(name, "transfer-encoding");
}

std::uint16_t standardPort(const Origin& origin) noexcept { return origin.tls ? 443 : 80; }

void appendHeader(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

}  // namespace

std::string requestFault(const HttpRequest& request) {
  if (!isToken(request.method)) return "the method is not an HTTP token";
  const bool targetFits =
      !request.target.empty() && request.target.front() == '/' &&
      std::all_of(request.target.begin(), request.target.end(), [](char c) { return c > ' ' && c != '\x7f'; });
  if (!targetFits) return "the target must begin with '/' and hold no space and no control character";
  for (const HttpHeader& header : request.headers) {
    if (!isToken(header.name)) return "the name of a header holds a character that is not allowed in one";
    if (!isOneLine(header.value)) return "the value of header " + header.name + " holds a line break";
  }
  return {};
}

void appendRequest(std::string& out, const Route& route, const std::string& userAgent, const HttpRequest& request) {
  const Origin& origin = route.origin;
  const std::string host = hostText(withoutLastDot(origin.host), origin.port, standardPort(origin));
  const bool absolute = route.proxy && !route.tunnels;
  out.append(request.method).append(" ");
  if (absolute) out.append("http://").append(host);
  out.append(request.target).append(" HTTP/1.1\r\n");
  appendHeader(out, "Host", host);
  bool hasAgent = false;
  for (const HttpHeader& header : request.headers) {
    if (isOurs(header.name)) continue;
    hasAgent = hasAgent || sameText(header.name, "user-agent");
    appendHeader(out, header.name, header.value);
  }
  if (!hasAgent && !userAgent.empty()) appendHeader(out, "User-Agent", userAgent);
  if (absolute && !route.proxy->authorization.empty()) {
    appendHeader(out, "Proxy-Authorization", route.proxy->authorization);
  }
  const bool bodyIsExpected = request.method != "GET" && request.method != "HEAD" && request.method != "DELETE";
  if (bodyIsExpected || !request.body.empty()) {
    appendHeader(out, "Content-Length", std::to_string(request.body.size()));
  }
  out.append("Connection: keep-alive\r\n\r\n").append(request.body);
}

void appendConnect(std::string& out, const Route& route, const std::string& userAgent) {
  const std::string target = hostText(route.origin.host, route.origin.port, 0);
  out.append("CONNECT ").append(target).append(" HTTP/1.1\r\n");
  appendHeader(out, "Host", target);
  if (!userAgent.empty()) appendHeader(out, "User-Agent", userAgent);
  if (!route.proxy->authorization.empty()) appendHeader(out, "Proxy-Authorization", route.proxy->authorization);
  out.append("\r\n");
}

}  // namespace tenure::net
