#include <atomic>
#include <mutex>
#include <stdexcept>
#include <utility>

#include <tenure/lockcore/aws/make_json_client.hpp>
#include <tenure/lockcore/clock.hpp>

#include "credential_cache.hpp"
#include "service_access.hpp"
#include "service_error.hpp"

namespace tenure::aws {
namespace {

using std::chrono::nanoseconds;

/// One call from its begin to its handler.
struct Call {
  std::string target;
  std::string body;
  nanoseconds timeout;
  Instant begin;
  JsonHandler handler;
  bool signedAgain{false};

  [[nodiscard]] nanoseconds left() const { return timeout - elapsedForHolder(begin, readClock()); }
};
using CallPtr = std::shared_ptr<Call>;

JsonCallError transient(const std::string& message, bool maybeSent) {
  return {{ErrorClass::transient, message}, maybeSent};
}

JsonReply replyFrom(net::HttpResponse&& response) {
  std::string id{response.header("x-amzn-RequestId")};
  return {response.status, std::move(response.body), std::move(id)};
}

/// What calls in flight share. It is left empty by close(): the HTTP client must go then, and with it the handlers
/// that hold this object.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(std::shared_ptr<ServiceAccess> access, Logger logger)
      : access_{std::move(access)}, logger_{std::move(logger)} {
    cache_ = std::make_shared<CredentialCache>(
        [access = access_](const std::stop_token& stop) { return access->fetch(stop); }, logger_);
  }

  void begin(const CallPtr& call) {
    const auto [access, cache] = parts();
    if (CredentialCache::Current credentials = cache->current()) return send(call, *access, std::move(credentials));
    cache->wait(call->timeout, [self = shared_from_this(), call](StoreResult<CredentialCache::Current> got) {
      if (!got) return call->handler(JsonCallError{got.error(), false});
      self->sendIfOpen(call, *std::move(got));
    });
  }

  void close() {
    std::shared_ptr<ServiceAccess> access;
    std::shared_ptr<CredentialCache> cache;
    {
      const std::lock_guard lock{mutex_};
      access = std::move(access_);
      cache = std::move(cache_);
    }
    cache.reset();
  }

 private:
  struct Parts {
    std::shared_ptr<ServiceAccess> access;
    std::shared_ptr<CredentialCache> cache;
  };

  /// What a request was signed with.
  struct Used {
    CredentialCache::Current credentials;
    std::chrono::seconds offset;
  };

  [[nodiscard]] Parts parts() const {
    const std::lock_guard lock{mutex_};
    return {access_, cache_};
  }

  void sendIfOpen(const CallPtr& call, CredentialCache::Current credentials) {
    const auto [access, cache] = parts();
    if (!access) return call->handler(transient("the client was closed", false));
    const nanoseconds left = call->left();
    if (left.count() <= 0) return call->handler(transient("no AWS credentials within the time of the call", false));
    send(call, *access, std::move(credentials));
  }

  void send(const CallPtr& call, ServiceAccess& access, CredentialCache::Current credentials) {
    const std::shared_ptr<const Target> target = access.target();
    const SigningClock::Reading time = access.clock().read();
    net::HttpRequest request = target->signer.sign(credentials->keys, time.now, call->target, call->body);
    target->http->send(target->place.endpoint.origin, std::move(request), call->left(),
                       [self = shared_from_this(), call, used = Used{std::move(credentials), time.offset}](
                           net::HttpOutcome outcome) { self->take(call, used, std::move(outcome)); });
  }

  void take(const CallPtr& call, const Used& used, net::HttpOutcome outcome) {
    if (!outcome) {
      // What was refused for its signature was not carried out; after it, a lost second request is in doubt as any.
      const net::HttpError error = outcome.error();
      return call->handler(transient(error.message, error.maybeSent));
    }
    const Refusal refusal = call->signedAgain ? Refusal::none : refusalOf(*outcome);
    const auto [access, cache] = parts();
    if (refusal == Refusal::none || !access || call->left().count() <= 0) return finish(call, std::move(*outcome));
    call->signedAgain = true;
    if (refusal == Refusal::token) return signWithNewKeys(call, used.credentials, *cache, std::move(*outcome));
    const auto correction = access->clock().correctBy(outcome->header("Date"), used.offset);
    if (correction == SigningClock::Correction::none) return finish(call, std::move(*outcome));
    if (correction == SigningClock::Correction::justMade) {
      logger_.log(LogLevel::warn, "the wall clock of this machine is wrong: the service's is " +
                                      std::to_string(access->clock().read().offset.count()) +
                                      " s ahead of it; requests are signed with the service's time");
    }
    send(call, *access, used.credentials);
  }

  /// The refused reply is the answer if no other keys come in time.
  void signWithNewKeys(const CallPtr& call, const CredentialCache::Current& used, CredentialCache& cache,
                       net::HttpResponse refused) {
    auto kept = std::make_shared<net::HttpResponse>(std::move(refused));
    cache.replace(used, call->left(), [self = shared_from_this(), call, used, kept](auto got) {
      const auto [access, unused] = self->parts();
      const bool other = got && (*got)->keys != used->keys;
      if (!other || !access || call->left().count() <= 0) return finish(call, std::move(*kept));
      self->send(call, *access, *std::move(got));
    });
  }

  static void finish(const CallPtr& call, net::HttpResponse&& response) {
    call->handler(replyFrom(std::move(response)));
  }

  mutable std::mutex mutex_{};
  std::shared_ptr<ServiceAccess> access_;
  std::shared_ptr<CredentialCache> cache_{};
  Logger logger_;
};

class HttpJsonClient final : public JsonClient {
 public:
  HttpJsonClient(std::shared_ptr<ServiceAccess> access, Logger logger)
      : access_{access}, session_{std::make_shared<Session>(std::move(access), std::move(logger))} {}

  ~HttpJsonClient() override {
    access_.reset();
    session_->close();
  }
  HttpJsonClient(const HttpJsonClient&) = delete;
  HttpJsonClient& operator=(const HttpJsonClient&) = delete;

  void call(std::string target, std::string body, nanoseconds timeout, JsonHandler handler) override {
    const std::shared_ptr<Session> kept = session_;  // the handler may destroy the client before this call is over
    kept->begin(
        std::make_shared<Call>(Call{std::move(target), std::move(body), timeout, readClock(), std::move(handler)}));
  }

  [[nodiscard]] std::string describe() const override { return access_->describe(); }

 private:
  std::shared_ptr<ServiceAccess> access_;
  std::shared_ptr<Session> session_;
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
