#include "http_gateway.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "bearer_token.hpp"
#include "lockcore/net/http_client.hpp"
#include "lockcore/port/ascii_text.hpp"
#include "lockcore/runtime/process_mark.hpp"

namespace tenure::kubernetes_store {
namespace {

using net::HttpError;
using std::chrono::nanoseconds;

/// A page of a hundred Leases, each with as many annotations as it may have; and one object.
constexpr std::size_t longestPage = 48U << 20U, longestReply = 4U << 20U;
constexpr std::size_t longestLine = 4U << 20U;
constexpr std::chrono::seconds acceptWithin{10};
/// The server may ask for more, but it does not know how long a lease lasts.
constexpr std::chrono::seconds longestPatience{30};

/// By which the deadlines of calls are counted.
nanoseconds now() { return readClock().boottime; }

/// What all calls and streams use. Thread-safe.
class Server {
 public:
  Server(const KubernetesStoreOptions& options, net::Url url)
      : url_{std::move(url)}, token_{options.tokenFile, options.token, systemClock()} {}

  void use(const std::shared_ptr<net::HttpClient>& client) { client_ = client; }
  [[nodiscard]] std::shared_ptr<net::HttpClient> client() const { return client_.lock(); }
  [[nodiscard]] const net::Origin& origin() const noexcept { return url_.origin; }
  [[nodiscard]] BearerToken& token() noexcept { return token_; }

  /// Below the path of the server's URL.
  [[nodiscard]] net::HttpRequest requestFor(const std::string& method, const std::string& target,
                                            const std::string& token) const {
    net::HttpRequest request{.method = method, .target = prefix() + target};
    request.headers.push_back({"Accept", "application/json"});
    if (!token.empty()) request.headers.push_back({"Authorization", "Bearer " + token});
    return request;
  }

  [[nodiscard]] std::string describe() const { return toString(url_.origin) + prefix(); }

  /// The server asks for patience.
  void noteBusy(const net::HttpResponse& response) {
    if (response.status != 429) return;
    const auto seconds = numberFrom<std::int64_t>(response.header("Retry-After"));
    if (!seconds || *seconds <= 0) return;
    quietUntil_ =
        (now() + std::min<nanoseconds>(std::chrono::seconds{std::min<std::int64_t>(*seconds, 3600)}, longestPatience))
            .count();
  }
  [[nodiscard]] bool asksForPatience() const { return now().count() < quietUntil_; }

 private:
  [[nodiscard]] std::string prefix() const {
    std::string path = url_.target;
    while (path.ends_with('/')) path.pop_back();
    return path;
  }

  const net::Url url_;
  BearerToken token_;
  std::weak_ptr<net::HttpClient> client_{};  ///< belongs to the gateway, whose end cancels what is under way
  std::atomic<nanoseconds::rep> quietUntil_{0};
};
using ServerPtr = std::shared_ptr<Server>;

/// What proves that an answer is one of an API server: it is an object with a kind, errors (Status) too. Two answers of
/// its own have none (429 of too many requests, 404 of a path), which costs a connection. A login page is none, nor
/// what another server says that took over one of several addresses.
bool isOfApiServer(const net::HttpResponse& response) {
  return response.body.starts_with('{') && response.body.find("\"kind\"") != std::string::npos;
}

ErrorClass classOf(HttpError::Kind kind) {
  return kind == HttpError::Kind::tls ? ErrorClass::misconfigured : ErrorClass::transient;
}

/// One request, and a second one if the token was refused and is another one by now.
class UserCall : public std::enable_shared_from_this<UserCall> {
 public:
  UserCall(ServerPtr server, Request request, nanoseconds deadline, OutcomeHandler handler)
      : server_{std::move(server)}, request_{std::move(request)}, deadline_{deadline}, handler_{std::move(handler)} {}

  void begin() {
    if (request_.yields && server_->asksForPatience()) {
      return refuse({ErrorClass::throttled, "the server has asked clients to wait (429, Retry-After)"});
    }
    const auto token = server_->token().show();
    if (token.has_error()) return refuse(token.error());
    sendWith(*token, true);
  }

 private:
  void sendWith(const std::string& token, bool mayRepeat) {
    const auto client = server_->client();
    if (!client) return refuse({ErrorClass::transient, "the store was closed"});
    net::HttpRequest request = server_->requestFor(request_.method, request_.target, token);
    if (!request_.body.empty()) request.headers.push_back({"Content-Type", request_.contentType});
    request.body = request_.body;
    if (!request_.lists) request.maxReply = longestReply;
    client->send(server_->origin(), std::move(request), deadline_ - now(),
                 [self = shared_from_this(), token, mayRepeat](net::HttpOutcome outcome) {
                   self->judge(std::move(outcome), token, mayRepeat);
                 });
  }

  void judge(net::HttpOutcome outcome, const std::string& token, bool mayRepeat) {
    if (!outcome) {
      const HttpError& error = outcome.error();
      return handler_(CallFault{{classOf(error.kind), error.message}, error.maybeSent});
    }
    if (!isOfApiServer(*outcome)) {
      if (const auto client = server_->client()) client->doubt(server_->origin());
    }
    // Whoever is not known to the server has not been let in: the request was not carried out.
    if (outcome->status == 401 && mayRepeat && server_->token().replaced(token)) {
      const auto next = server_->token().show();
      if (next.has_value()) return sendWith(*next, false);
    }
    server_->noteBusy(*outcome);
    handler_(Reply{outcome->status, std::move(outcome->body)});
  }

  /// Not inside the user's call.
  void refuse(StoreError error) {
    sharedScheduler()->post([self = shared_from_this(), error = std::move(error)] {
      self->handler_(CallFault{error, false});
    });
  }

  const ServerPtr server_;
  const Request request_;
  const nanoseconds deadline_;
  const OutcomeHandler handler_;
};

Ending endingOf(const Server& server, net::HttpOutcome outcome) {
  if (!outcome) return {0, {}, outcome.error().message, outcome.error().kind == HttpError::Kind::tooLarge};
  if (outcome->status / 100 == 2) return {0, {}, server.describe() + " has ended the stream"};
  std::string why = server.describe() + " did not accept the stream (status " + std::to_string(outcome->status) + ")";
  return {outcome->status, std::move(outcome->body), std::move(why)};
}

class HttpGateway final : public Gateway {
 public:
  HttpGateway(const KubernetesStoreOptions& options, Logger logger, std::shared_ptr<net::HttpClient> client)
      : server_{std::make_shared<Server>(options, net::parseUrl(options.server).value())},
        client_{client != nullptr ? std::move(client)
                                  : net::HttpClient::make(clientOptions(options, std::move(logger)))} {
    server_->use(client_);
  }

  void call(Request request, nanoseconds timeout, OutcomeHandler handler) override {
    if (!mark_.isHere()) return answerInChild(std::move(handler));
    const nanoseconds deadline = now() + std::min<nanoseconds>(timeout, std::chrono::hours{24});
    std::make_shared<UserCall>(server_, std::move(request), deadline, std::move(handler))->begin();
  }

  std::shared_ptr<void> stream(std::string target, nanoseconds silence, StreamHandlers handlers) override {
    if (!mark_.isHere()) return nullptr;
    const auto shown = server_->token().show();
    const std::string token = shown.has_value() ? *shown : std::string{};
    const net::StreamLimits limits{
        .accept = acceptWithin, .silence = silence, .longest = {}, .longestLine = longestLine};
    net::StreamHandlers of{handlers.onLine,
                           [server = server_, token, onEnd = handlers.onEnd](net::HttpOutcome outcome) {
                             // The next stream shows the new one.
                             if (outcome && outcome->status == 401) (void)server->token().replaced(token);
                             onEnd(endingOf(*server, std::move(outcome)));
                           }};
    return client_->stream(server_->origin(), server_->requestFor("GET", target, token), limits, std::move(of));
  }

  std::string describe() const override { return server_->describe(); }

 private:
  /// The threads of the gateway exist only in the parent.
  static void answerInChild(OutcomeHandler handler) {
    sharedScheduler()->post([handler = std::move(handler)] {
      handler(CallFault{{ErrorClass::misconfigured,
                         "this process is a forked child of the one that made the store; make a store here"},
                        false});
    });
  }

  const ProcessMark mark_{};
  const ServerPtr server_;
  const std::shared_ptr<net::HttpClient> client_;
};

}  // namespace

net::HttpClientOptions clientOptions(const KubernetesStoreOptions& options, Logger logger) {
  return {.caFile = options.caFile,
          .certificate = options.certificate,
          .key = options.key,
          .caText = options.caCertificates,
          .certificateText = options.certificateText,
          .keyText = options.keyText,
          .serverName = options.serverName,
          .proxy = net::ProxySettings::ofProcess(net::ProxyRules::go, options.proxy, "proxy-url"),
          .maxReply = longestPage,
          .logger = std::move(logger)};
}

std::shared_ptr<Gateway> makeHttpGateway(const KubernetesStoreOptions& options, Logger logger,
                                         std::shared_ptr<net::HttpClient> client) {
  return std::make_shared<HttpGateway>(options, std::move(logger), std::move(client));
}

}  // namespace tenure::kubernetes_store
