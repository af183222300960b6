#include <utility>

#include "lockcore/net/authority.hpp"
#include "object_client.hpp"
#include "object_requests.hpp"
#include "service_access.hpp"
#include "signed_calls.hpp"
#include "sigv4.hpp"
#include "text.hpp"

namespace tenure::aws {
namespace {

bool namedByHost(const net::Origin& endpoint, const std::string& bucket, Addressing addressing) {
  if (addressing != Addressing::automatic) return addressing == Addressing::virtualHost;
  // AWS's certificate covers one label before its own name.
  const std::string_view host = net::withoutLastDot(endpoint.host);
  const bool ofAws =
      host.starts_with("s3") && (host.ends_with(".amazonaws.com") || host.ends_with(".amazonaws.com.cn"));
  return ofAws && isHostLabel(bucket);
}

class HttpObjectClient final : public ObjectClient {
 public:
  HttpObjectClient(std::shared_ptr<ServiceAccess> access, Addressing addressing, Logger logger)
      : addressing_{addressing},
        access_{access},
        calls_{std::make_shared<SignedCalls>(std::move(access), std::move(logger))} {}
  ~HttpObjectClient() override {
    access_.reset();
    calls_->close();
  }
  HttpObjectClient(const HttpObjectClient&) = delete;
  HttpObjectClient& operator=(const HttpObjectClient&) = delete;

  void call(ObjectRequest request, std::chrono::nanoseconds timeout, ObjectHandler handler) override {
    const std::shared_ptr<SignedCalls> kept = calls_;  // the handler may destroy the client before this call is over
    auto sign = [what = std::move(request), how = addressing_](const Target& to, const Keys& keys,
                                                               std::chrono::seconds now) {
      SignedRequest out = unsignedRequest(to.place.endpoint, what, how);
      signS3Request(out.request, out.origin, keys, to.place.region, now);
      return out;
    };
    kept->begin(std::make_shared<SignedCall>(SignedCall{std::move(sign), timeout, std::move(handler)}));
  }

  [[nodiscard]] std::string describe() const override { return access_->describe(); }

 private:
  const Addressing addressing_;
  std::shared_ptr<ServiceAccess> access_;
  std::shared_ptr<SignedCalls> calls_;
};

}  // namespace

SignedRequest unsignedRequest(const net::Url& endpoint, const ObjectRequest& what, Addressing addressing) {
  SignedRequest out{endpoint.origin, {what.method, {}, what.headers, what.body}};
  std::string& target = out.request.target;
  target = endpoint.target.substr(0, endpoint.target.find('?'));
  if (!target.ends_with('/')) target += '/';
  if (namedByHost(endpoint.origin, what.bucket, addressing)) {
    out.origin.host = what.bucket + '.' + out.origin.host;
  } else {
    target += percentEncode(what.bucket, "") + (what.key.empty() ? "" : "/");
  }
  target += percentEncode(what.key, "/");
  if (!what.query.empty()) target += '?' + what.query;
  return out;
}

std::shared_ptr<ObjectClient> makeObjectClient(JsonClientOptions options, Addressing addressing, ClientParts parts,
                                               Logger logger) {
  options.service = "s3";
  auto access = std::make_shared<ServiceAccess>(std::move(options), std::move(parts), logger);
  return std::make_shared<HttpObjectClient>(std::move(access), addressing, std::move(logger));
}

std::shared_ptr<ObjectClient> makeObjectClient(JsonClientOptions options, Addressing addressing, Logger logger) {
  return makeObjectClient(std::move(options), addressing,
                          ClientParts{AwsEnvironment::ofProcess(), net::HttpClient::make, {}}, std::move(logger));
}

}  // namespace tenure::aws
