// Signed calls to one service: credentials, the clock of signatures, one further attempt after a refused signature.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/logger.hpp>

#include "credential_cache.hpp"
#include "json_client.hpp"
#include "lockcore/net/http_client.hpp"
#include "service_access.hpp"

namespace tenure::aws {

/// A request that is ready to be sent, and its destination.
struct SignedRequest {
  net::Origin origin;
  net::HttpRequest request;
};

/// Any thread; called each time the request is sent.
using Sign = std::function<SignedRequest(const Target&, const Keys&, std::chrono::seconds now)>;
using SignedOutcome = boost::system::result<net::HttpResponse, JsonCallError>;

enum class SignatureError {
  none,   ///< served, or refused for another reason
  clock,  ///< the time in the signature
  token,  ///< credentials that are expired or unknown
};

/// Whether the reply of a service refuses the request only because of its signature.
[[nodiscard]] SignatureError signatureErrorIn(const net::HttpResponse& response);

/// One call, from its beginning to its handler.
struct SignedCall {
  Sign sign;
  std::chrono::nanoseconds timeout;
  std::function<void(SignedOutcome)> handler;
  Instant begin{readClock()};
  bool signedAgain{false};
  bool copiesOut{false};  ///< with the former signature: copies may be carried out, whatever comes now

  void fail(JsonCallError error) const {
    error.maybeSent = error.maybeSent || copiesOut;
    handler(std::move(error));
  }
  [[nodiscard]] std::chrono::nanoseconds left() const { return timeout - elapsedForHolder(begin, readClock()); }
};
using SignedCallPtr = std::shared_ptr<SignedCall>;

/// What calls in flight share. close() leaves it empty, because the HTTP client must be destroyed then, and with it the
/// handlers that hold this object. Thread-safe. JsonClient::call says what a caller may rely on.
class SignedCalls : public std::enable_shared_from_this<SignedCalls> {
 public:
  SignedCalls(std::shared_ptr<ServiceAccess> access, Logger logger);

  void begin(const SignedCallPtr& call);
  void close();

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

  [[nodiscard]] Parts parts() const;
  void sendIfOpen(const SignedCallPtr& call, CredentialCache::Current credentials);
  void send(const SignedCallPtr& call, ServiceAccess& access, CredentialCache::Current credentials);
  void take(const SignedCallPtr& call, const Used& used, net::HttpOutcome outcome);
  /// If no other keys come in time, the answer is the refused reply.
  void signWithNewKeys(const SignedCallPtr& call, const CredentialCache::Current& used, CredentialCache& cache,
                       net::HttpResponse refused);

  mutable std::mutex mutex_{};
  std::shared_ptr<ServiceAccess> access_;
  std::shared_ptr<CredentialCache> cache_{};
  Logger logger_;
};

}  // namespace tenure::aws
