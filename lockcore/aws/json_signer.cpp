#include "json_signer.hpp"

#include <utility>

#include "text.hpp"

namespace tenure::aws {
namespace {

constexpr std::string_view namesWithToken = "content-type;host;x-amz-date;x-amz-security-token;x-amz-target";
constexpr std::string_view namesWithoutToken = "content-type;host;x-amz-date;x-amz-target";

}  // namespace

JsonSigner::JsonSigner(const net::Origin& origin, std::string path, std::string region, std::string service,
                       std::string contentType)
    : path_{std::move(path)},
      region_{std::move(region)},
      service_{std::move(service)},
      contentType_{std::move(contentType)} {
  // The general function gives path and query; they end before the first header.
  const std::string general = canonicalRequest({"POST", path_, {{"content-type", contentType_}}, {}}).text;
  head_ = general.substr(0, general.find("content-type:"));
  head_.append("content-type:").append(contentType_).append("\nhost:").append(hostHeader(origin));
  head_.append("\nx-amz-date:");
}

net::HttpRequest JsonSigner::sign(const Keys& keys, std::chrono::seconds now, std::string target,
                                  std::string body) const {
  std::string date = amzDate(now);
  const std::shared_ptr<const DayKey> key = keyFor(keys, std::string_view{date}.substr(0, 8));
  const std::string_view names = keys.sessionToken.empty() ? namesWithoutToken : namesWithToken;

  std::string canonical;
  canonical.reserve(head_.size() + keys.sessionToken.size() + target.size() + 256);
  canonical.append(head_).append(date);
  if (!keys.sessionToken.empty()) canonical.append("\nx-amz-security-token:").append(keys.sessionToken);
  canonical.append("\nx-amz-target:").append(target).append("\n\n").append(names).append("\n");
  appendHex(canonical, sha256({body}));

  std::string toSign;
  toSign.reserve(192);
  toSign.append("AWS4-HMAC-SHA256\n").append(date).append("\n").append(key->scopeText).append("\n");
  appendHex(toSign, sha256({canonical}));

  std::string authorized;
  authorized.reserve(320);
  authorized.append("AWS4-HMAC-SHA256 Credential=").append(keys.accessKeyId).append("/").append(key->scopeText);
  authorized.append(", SignedHeaders=").append(names).append(", Signature=");
  appendHex(authorized, key->key(toSign));

  net::HttpRequest out{"POST", path_, {}, std::move(body)};
  out.headers.reserve(6);
  out.headers.push_back({"Content-Type", contentType_});
  out.headers.push_back({"X-Amz-Date", std::move(date)});
  if (!keys.sessionToken.empty()) out.headers.push_back({"X-Amz-Security-Token", keys.sessionToken});
  out.headers.push_back({"X-Amz-Target", std::move(target)});
  out.headers.push_back({"Authorization", std::move(authorized)});
  return out;
}

std::shared_ptr<const JsonSigner::DayKey> JsonSigner::keyFor(const Keys& keys, std::string_view day) const {
  std::shared_ptr<const DayKey> known;
  {
    const std::lock_guard lock{mutex_};
    known = latest_;
  }
  if (known && known->scope.day == day && known->keys == keys) return known;
  Scope scope{std::string{day}, region_, service_};
  HmacKey key = signingKey(keys.secretAccessKey, scope);
  std::string text = scope.text();
  auto made = std::make_shared<const DayKey>(DayKey{keys, std::move(scope), std::move(text), key});
  const std::lock_guard lock{mutex_};
  latest_ = made;
  return made;
}

}  // namespace tenure::aws
