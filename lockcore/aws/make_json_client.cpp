#include "make_json_client.hpp"

#include <stdexcept>
#include <utility>

#include "service_access.hpp"
#include "signed_calls.hpp"

namespace tenure::aws {
namespace {

using std::chrono::nanoseconds;

/// At most this many copies follow one another within the call's time.
constexpr int copiesInACall = 12;

JsonOutcome replyFrom(SignedOutcome&& outcome) {
  if (!outcome) return outcome.error();
  std::string id{outcome->header("x-amzn-RequestId")};
  return JsonReply{outcome->status, std::move(outcome->body), std::move(id), outcome->copiesOut};
}

class HttpJsonClient final : public JsonClient {
 public:
  HttpJsonClient(std::shared_ptr<ServiceAccess> access, Logger logger)
      : access_{access}, calls_{std::make_shared<SignedCalls>(std::move(access), std::move(logger))} {}

  ~HttpJsonClient() override {
    access_.reset();
    calls_->close();
  }
  HttpJsonClient(const HttpJsonClient&) = delete;
  HttpJsonClient& operator=(const HttpJsonClient&) = delete;

  void call(std::string target, std::string body, nanoseconds timeout, JsonHandler handler) override {
    begin(std::move(target), std::move(body), timeout, nanoseconds{0}, std::move(handler));
  }

  void callRepeatedly(std::string target, std::string body, nanoseconds timeout, JsonHandler handler) override {
    begin(std::move(target), std::move(body), timeout, timeout / copiesInACall, std::move(handler));
  }

  [[nodiscard]] std::string describe() const override { return access_->describe(); }

 private:
  void begin(std::string target, std::string body, nanoseconds timeout, nanoseconds repeatAfter, JsonHandler handler) {
    const std::shared_ptr<SignedCalls> kept = calls_;  // the handler may destroy the client before this call is over
    auto sign = [target = std::move(target), body = std::move(body), repeatAfter](const Target& to, const Keys& keys,
                                                                                  std::chrono::seconds now) {
      SignedRequest made{to.place.endpoint.origin, to.signer.sign(keys, now, target, body)};
      made.request.repeatAfter = repeatAfter;
      return made;
    };
    kept->begin(std::make_shared<SignedCall>(SignedCall{
        std::move(sign), timeout, [weak = std::weak_ptr{access_}, answer = std::move(handler)](SignedOutcome outcome) {
          if (outcome && !outcome->body.starts_with('{')) doubt(weak.lock());
          answer(replyFrom(std::move(outcome)));
        }}));
  }

  /// Every answer of such a service is JSON, errors too. Something else answers at one of its addresses. A call must
  /// not keep the access, whose end answers it.
  static void doubt(const std::shared_ptr<ServiceAccess>& access) {
    if (const auto target = access ? access->target() : nullptr) target->http->doubt(target->place.endpoint.origin);
  }

  std::shared_ptr<ServiceAccess> access_;
  std::shared_ptr<SignedCalls> calls_;
};

}  // namespace

void throw_exception_from_error(const JsonCallError& error, const boost::source_location& /*where*/) {
  throw std::runtime_error(error.error.message);
}

std::shared_ptr<JsonClient> makeJsonClient(JsonClientOptions options, ClientParts parts, Logger logger) {
  auto access = std::make_shared<ServiceAccess>(std::move(options), std::move(parts), logger);
  return std::make_shared<HttpJsonClient>(std::move(access), std::move(logger));
}

std::shared_ptr<JsonClient> makeJsonClient(JsonClientOptions options, Logger logger) {
  return makeJsonClient(std::move(options), ClientParts{AwsEnvironment::ofProcess(), net::HttpClient::make, {}},
                        std::move(logger));
}

}  // namespace tenure::aws
