#include "signed_calls.hpp"

#include <array>
#include <string>
#include <utility>

#include <boost/json.hpp>

namespace tenure::aws {
namespace {

namespace json = boost::json;

// A bad signature is put down to a wrong clock only if the server's Date shows that; the caller checks it.
constexpr std::array<std::pair<std::string_view, SignatureError>, 11> codes{{
    {"ExpiredTokenException", SignatureError::token},
    {"ExpiredToken", SignatureError::token},
    {"UnrecognizedClientException", SignatureError::token},
    {"InvalidClientTokenId", SignatureError::token},
    {"InvalidAccessKeyId", SignatureError::token},
    {"InvalidSignatureException", SignatureError::clock},
    {"SignatureDoesNotMatch", SignatureError::clock},
    {"RequestTimeTooSkewed", SignatureError::clock},
    {"RequestExpired", SignatureError::clock},
    {"RequestInTheFuture", SignatureError::clock},
    {"IncompleteSignatureException", SignatureError::clock},
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

SignatureError signatureErrorFor(std::string_view code) {
  for (const auto& [name, error] : codes) {
    if (code == name) return error;
  }
  return SignatureError::none;
}

}  // namespace

SignatureError signatureErrorIn(const net::HttpResponse& response) {
  if (response.status != 400 && response.status != 401 && response.status != 403) return SignatureError::none;
  if (const auto header = response.header("x-amzn-ErrorType"); !header.empty())
    return signatureErrorFor(bareCode(header));
  // Most rejections are failed conditions, some of them with a record; these need not be parsed a second time.
  bool possible = false;
  for (const auto& [name, error] : codes) possible = possible || response.body.find(name) != std::string::npos;
  if (!possible) return SignatureError::none;
  if (response.body.starts_with('<')) return signatureErrorFor(codeInXml(response.body));
  boost::system::error_code unreadable;
  const json::value parsed = json::parse(response.body, unreadable);
  if (unreadable || !parsed.is_object()) return SignatureError::none;
  const json::value* type = parsed.get_object().if_contains("__type");
  if (type == nullptr || !type->is_string()) return SignatureError::none;
  const json::string& text = type->get_string();
  return signatureErrorFor(bareCode({text.data(), text.size()}));
}

namespace {

JsonCallError transientError(const std::string& message, bool maybeSent) {
  return {{ErrorClass::transient, message}, maybeSent};
}

}  // namespace

SignedCalls::SignedCalls(std::shared_ptr<ServiceAccess> access, Logger logger)
    : access_{std::move(access)}, logger_{std::move(logger)} {
  cache_ = std::make_shared<CredentialCache>(
      [from = access_](const std::stop_token& stop) { return from->fetch(stop); }, logger_);
}

void SignedCalls::begin(const SignedCallPtr& call) {
  const auto [access, cache] = parts();
  if (CredentialCache::Current credentials = cache->current()) return send(call, *access, std::move(credentials));
  cache->wait(call->timeout, [self = shared_from_this(), call](StoreResult<CredentialCache::Current> got) {
    if (!got) return call->handler(JsonCallError{got.error(), false});
    self->sendIfOpen(call, *std::move(got));
  });
}

void SignedCalls::close() {
  std::shared_ptr<ServiceAccess> access;
  std::shared_ptr<CredentialCache> cache;
  {
    const std::lock_guard lock{mutex_};
    access = std::move(access_);
    cache = std::move(cache_);
  }
  cache.reset();
}

SignedCalls::Parts SignedCalls::parts() const {
  const std::lock_guard lock{mutex_};
  return {access_, cache_};
}

void SignedCalls::sendIfOpen(const SignedCallPtr& call, CredentialCache::Current credentials) {
  const auto [access, cache] = parts();
  if (!access) return call->fail(transientError("the client was closed", false));
  if (call->left().count() <= 0) {
    return call->fail(transientError("no AWS credentials within the time of the call", false));
  }
  send(call, *access, std::move(credentials));
}

void SignedCalls::send(const SignedCallPtr& call, ServiceAccess& access, CredentialCache::Current credentials) {
  const std::shared_ptr<const Target> target = access.target();
  const SigningClock::Reading time = access.clock().read();
  auto [origin, request] = call->sign(*target, credentials->keys, time.now);
  target->http->send(origin, std::move(request), call->left(),
                     [self = shared_from_this(), call, used = Used{std::move(credentials), time.offset}](
                         net::HttpOutcome outcome) { self->take(call, used, std::move(outcome)); });
}

void SignedCalls::take(const SignedCallPtr& call, const Used& used, net::HttpOutcome outcome) {
  if (!outcome) {
    // A request that was refused for its signature was not carried out, unless copies of it were. If the second request
    // after it is lost, its outcome is unknown like that of any other.
    const net::HttpError error = outcome.error();
    // A reply that is too long will be too long again.
    const bool passes = error.kind != net::HttpError::Kind::tooLarge;
    return call->fail(
        JsonCallError{{passes ? ErrorClass::transient : ErrorClass::misconfigured, error.message}, error.maybeSent});
  }
  call->copiesOut = outcome->copiesOut = call->copiesOut || outcome->copiesOut;
  const SignatureError error = call->signedAgain ? SignatureError::none : signatureErrorIn(*outcome);
  const auto [access, cache] = parts();
  if (error == SignatureError::none || !access || call->left().count() <= 0) return call->handler(*std::move(outcome));
  call->signedAgain = true;
  if (error == SignatureError::token) return signWithNewKeys(call, used.credentials, *cache, *std::move(outcome));
  const auto correction = access->clock().correctBy(outcome->header("Date"), used.offset);
  if (correction == SigningClock::Correction::none) return call->handler(*std::move(outcome));
  if (correction == SigningClock::Correction::justMade) {
    logger_.log(LogLevel::warn,
                "the wall clock of this machine is wrong: the service's is " +
                    std::to_string(access->clock().read().offset.count()) +
                    " s ahead of it; requests are signed with the service's time until the clock is set right");
  }
  send(call, *access, used.credentials);
}

void SignedCalls::signWithNewKeys(const SignedCallPtr& call, const CredentialCache::Current& used,
                                  CredentialCache& cache, net::HttpResponse refused) {
  auto kept = std::make_shared<net::HttpResponse>(std::move(refused));
  cache.replace(used, call->left(), [self = shared_from_this(), call, used, kept](auto got) {
    const auto [access, unused] = self->parts();
    const bool other = got && (*got)->keys != used->keys;
    if (!other || !access || call->left().count() <= 0) return call->handler(std::move(*kept));
    self->send(call, *access, *std::move(got));
  });
}

}  // namespace tenure::aws
