#include "sigv4.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "lockcore/net/authority.hpp"
#include "lockcore/port/ascii_text.hpp"
#include "text.hpp"

namespace tenure::aws {
namespace {

std::string normalized(std::string_view path) {
  std::vector<std::string_view> kept;
  bool endsInSlash = true;
  for (const std::string_view part : split(path.substr(std::min<std::size_t>(1, path.size())), '/')) {
    endsInSlash = part.empty() || part == "." || part == "..";
    if (part == ".." && !kept.empty()) kept.pop_back();
    if (!endsInSlash) kept.push_back(part);
  }
  std::string out;
  for (const std::string_view part : kept) out.append("/").append(part);
  if (endsInSlash) out += '/';
  return out;
}

/// Sorted by the encoded name, then by the encoded value. Parameters may already be encoded.
std::string canonicalQuery(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> parameters;
  for (const std::string_view part : split(query, '&')) {
    if (part.empty()) continue;
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string_view value = part.substr(std::min(equals + 1, part.size()));
    parameters.emplace_back(percentEncode(percentDecode(part.substr(0, equals)), ""),
                            percentEncode(percentDecode(value), ""));
  }
  std::sort(parameters.begin(), parameters.end());
  std::string out;
  for (const auto& [name, value] : parameters) {
    if (!out.empty()) out += '&';
    out.append(name).append("=").append(value);
  }
  return out;
}

/// Without white space at its ends; each run of white space inside becomes one space.
std::string collapsed(std::string_view value) {
  std::string out;
  for (const char c : trimmed(value)) {
    const bool space = c == ' ' || c == '\t' || c == '\r' || c == '\n';
    if (!space) out += c;
    if (space && out.back() != ' ') out += ' ';
  }
  return out;
}

std::map<std::string, std::string> canonicalHeaders(const std::vector<net::HttpHeader>& headers) {
  std::map<std::string, std::string> out;
  for (const net::HttpHeader& header : headers) {
    const auto [entry, fresh] = out.try_emplace(lowered(header.name), collapsed(header.value));
    if (!fresh) entry->second.append(",").append(collapsed(header.value));
  }
  return out;
}

}  // namespace

std::string Scope::text() const { return day + '/' + region + '/' + service + "/aws4_request"; }

CanonicalRequest canonicalRequest(const SignableRequest& request) {
  const std::size_t mark = std::min(request.target.find('?'), request.target.size());
  const std::string_view target = request.target;
  const std::string path = request.normalizePath ? normalized(target.substr(0, mark)) : request.target.substr(0, mark);
  CanonicalRequest out;
  out.text.append(request.method)
      .append("\n")
      .append(request.encodePath ? percentEncode(path, "/") : path)
      .append("\n");
  out.text.append(canonicalQuery(target.substr(std::min(mark + 1, target.size())))).append("\n");
  for (const auto& [name, value] : canonicalHeaders(request.headers)) {
    out.text.append(name).append(":").append(value).append("\n");
    out.signedHeaders.append(out.signedHeaders.empty() ? "" : ";").append(name);
  }
  out.text.append("\n").append(out.signedHeaders).append("\n").append(request.bodyHash);
  return out;
}

std::string stringToSign(std::string_view amzDate, const Scope& scope, std::string_view canonical) {
  std::string out = "AWS4-HMAC-SHA256\n";
  out.append(amzDate).append("\n").append(scope.text()).append("\n");
  appendHex(out, sha256({canonical}));
  return out;
}

HmacKey signingKey(std::string_view secretAccessKey, const Scope& scope) {
  const Digest day = HmacKey{std::string{"AWS4"}.append(secretAccessKey)}(scope.day);
  const Digest region = HmacKey{bytesOf(day)}(scope.region);
  const Digest service = HmacKey{bytesOf(region)}(scope.service);
  return HmacKey{bytesOf(HmacKey{bytesOf(service)}("aws4_request"))};
}

std::string authorization(const Keys& keys, std::string_view amzDate, const Scope& scope,
                          const CanonicalRequest& canonical) {
  const HmacKey key = signingKey(keys.secretAccessKey, scope);
  std::string out = "AWS4-HMAC-SHA256 Credential=" + keys.accessKeyId + '/' + scope.text() +
                    ", SignedHeaders=" + canonical.signedHeaders + ", Signature=";
  appendHex(out, key(stringToSign(amzDate, scope, canonical.text)));
  return out;
}

namespace {

void sign(net::HttpRequest& request, const net::Origin& origin, const Keys& keys, const Scope& scope,
          const std::string& date, SignableRequest rules) {
  request.headers.push_back({"X-Amz-Date", date});
  if (!keys.sessionToken.empty()) request.headers.push_back({"X-Amz-Security-Token", keys.sessionToken});
  rules.method = request.method;
  rules.target = request.target;
  rules.headers = request.headers;
  rules.headers.push_back({"Host", hostHeader(origin)});
  request.headers.push_back({"Authorization", authorization(keys, date, scope, canonicalRequest(rules))});
}

Scope scopeOf(const std::string& date, std::string_view region, std::string_view service) {
  return {date.substr(0, 8), std::string{region}, std::string{service}};
}

}  // namespace

void signRequest(net::HttpRequest& request, const net::Origin& origin, const Keys& keys, std::string_view region,
                 std::string_view service, std::chrono::seconds now) {
  const std::string date = amzDate(now);
  sign(request, origin, keys, scopeOf(date, region, service), date, {.bodyHash = hex(sha256({request.body}))});
}

void signS3Request(net::HttpRequest& request, const net::Origin& origin, const Keys& keys, std::string_view region,
                   std::chrono::seconds now) {
  const std::string date = amzDate(now);
  std::string hash = hex(sha256({request.body}));
  request.headers.push_back({"X-Amz-Content-Sha256", hash});
  sign(request, origin, keys, scopeOf(date, region, "s3"), date,
       {.bodyHash = std::move(hash), .normalizePath = false, .encodePath = false});
}

std::string hostHeader(const net::Origin& origin) {
  return net::hostText(net::withoutLastDot(origin.host), origin.port, origin.tls ? 443 : 80);
}

}  // namespace tenure::aws
