#include "http_gateway.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <tenure/lockcore/clock.hpp>
#include <tenure/lockcore/runtime.hpp>

#include "lockcore/net/http_client.hpp"
#include "lockcore/port/quoted_text.hpp"
#include "lockcore/runtime/call_permit.hpp"
#include "members.hpp"
#include "password_file.hpp"

namespace tenure::etcd_store {
namespace {

namespace json = boost::json;
using net::HttpError;
using net::HttpOutcome;
using std::chrono::nanoseconds;

constexpr std::size_t longestReply = 16U << 20U;
constexpr std::size_t longestLine = 4U << 20U;
constexpr nanoseconds longestAuthentication = std::chrono::seconds{5};
constexpr nanoseconds longestAccept = std::chrono::seconds{5};
constexpr int codeInvalidArgument = 3;
constexpr int codePermissionDenied = 7;
constexpr int codeFailedPrecondition = 9;
constexpr int codeUnauthenticated = 16;

nanoseconds now() { return readClock().boottime; }

/// gRPC's code in the body of an error; 0 if there is none.
int codeIn(const std::string& body) {
  boost::system::error_code ec;
  const json::value parsed = json::parse(body, ec);
  if (ec || !parsed.is_object()) return 0;
  const json::value* code = parsed.get_object().if_contains("code");
  if (code == nullptr || !code->is_int64()) return 0;
  return static_cast<int>(std::clamp<std::int64_t>(code->get_int64(), -1, 1000));
}

/// The member cannot serve now, but another one may: it stops, or has no leader. Without a quorum etcd 3.4 answers a
/// write with 503 or 500.
bool isUnable(int status) { return status >= 500 || status == 408; }

struct Request {
  std::string path;
  std::string body;
  nanoseconds start;
  nanoseconds deadline;
  Gateway::Repeat repeat;
  OutcomeHandler handler;
  bool isAuthentication{false};

  std::vector<bool> tried{};
  std::size_t member{0};
  std::uint64_t tokenNumber{0};
  bool authenticatedAgain{false};
  bool copiesOut{false};
  bool onlyTls{true};  ///< all that went wrong is a matter of certificates
  std::string troubles{};
  std::shared_ptr<Reply> unable{};  ///< the last answer of a member that cannot serve
};
using RequestPtr = std::shared_ptr<Request>;

/// Shared by the user's handle and what works for it. While the token is asked for, there is no stream yet.
class StreamState {
 public:
  explicit StreamState(StreamHandlers handlers) : handlers_{std::move(handlers)} {}

  void line(std::string_view text) {
    permit_.call([&] { handlers_.onLine(text); });
  }
  void ended(const std::string& why) {
    permit_.call([&] { handlers_.onEnd(why); });
  }

  void hold(std::shared_ptr<void> stream) {
    const std::lock_guard lock{mutex_};
    if (!gone_) stream_.swap(stream);
  }

  void end() {
    permit_.revoke();
    std::shared_ptr<void> stream;
    const std::lock_guard lock{mutex_};
    gone_ = true;
    stream_.swap(stream);
  }

 private:
  const StreamHandlers handlers_;
  CallPermit permit_{};
  std::mutex mutex_{};
  bool gone_{false};                ///< guarded by the mutex, as the next one
  std::shared_ptr<void> stream_{};  ///< keeps this object; end() breaks the circle
};

class StreamHandle {
 public:
  explicit StreamHandle(std::shared_ptr<StreamState> state) : state_{std::move(state)} {}
  ~StreamHandle() { state_->end(); }
  StreamHandle(const StreamHandle&) = delete;
  StreamHandle& operator=(const StreamHandle&) = delete;

 private:
  const std::shared_ptr<StreamState> state_;
};

class Core : public std::enable_shared_from_this<Core> {
 public:
  Core(const EtcdStoreOptions& options, Logger logger)
      : user_{options.user},
        passwordFile_{options.passwordFile},
        logger_{std::move(logger)},
        members_{options.endpoints.size()} {
    for (const std::string& endpoint : options.endpoints) origins_.push_back(net::parseUrl(endpoint)->origin);
  }

  std::string describe() const {
    std::string text;
    for (const net::Origin& origin : origins_) text += (text.empty() ? "" : ", ") + toString(origin);
    return text;
  }

  void use(const std::shared_ptr<net::HttpClient>& client) { client_ = client; }

  void call(RequestPtr request) {
    request->tried.assign(origins_.size(), false);
    whenAuthenticated(request->deadline, [self = shared_from_this(), request](const CallFault* fault) {
      if (fault != nullptr) return request->handler(*fault);
      self->tryNext(request);
    });
  }

  std::shared_ptr<void> stream(net::HttpRequest request, nanoseconds silence, StreamHandlers handlers) {
    const auto state = std::make_shared<StreamState>(std::move(handlers));
    whenAuthenticated(now() + longestAccept, [self = shared_from_this(), state, silence,
                                              asked = std::move(request)](const CallFault* fault) mutable {
      if (fault == nullptr) return self->begin(state, std::move(asked), silence);
      state->ended(fault->error.message);
    });
    return std::make_shared<StreamHandle>(state);
  }

 private:
  using Continuation = std::function<void(const CallFault*)>;

  // -- the user's token ----------------------------------------------------------------------------------------------

  /// Goes on at once if there is a token or none is needed. One authentication serves all who wait for it: it costs the
  /// server much time. Never called with the mutex held.
  void whenAuthenticated(nanoseconds deadline, Continuation goOn) {
    {
      const std::lock_guard lock{mutex_};
      if (!user_.empty() && !hasToken_) {
        waiting_.push_back(std::move(goOn));
        if (std::exchange(authenticating_, true)) return;
        goOn = nullptr;
      }
    }
    if (goOn) return goOn(nullptr);
    authenticate(deadline);
  }

  /// The file is read each time, so a new password counts after the first refusal.
  void authenticate(nanoseconds deadline) {
    const auto password = passwordIn(passwordFile_);
    if (!password) {
      const CallFault fault{password.error(), false};
      // Not inside the user's call.
      return sharedScheduler()->post([self = shared_from_this(), fault] { self->authenticated({}, &fault); });
    }
    const auto request = std::make_shared<Request>();
    request->path = "/v3/auth/authenticate";
    request->body = json::serialize(json::object{{"name", user_}, {"password", *password}});
    request->start = now();
    request->deadline = std::min(deadline, request->start + longestAuthentication);
    request->repeat = Gateway::Repeat::yes;
    request->isAuthentication = true;
    request->tried.assign(origins_.size(), false);
    request->handler = [self = shared_from_this()](const Outcome& outcome) { self->judgeAuthentication(outcome); };
    tryNext(request);
  }

  void judgeAuthentication(const Outcome& outcome) {
    if (!outcome) {
      const CallFault fault{outcome.error().error, false};  // of the requests that wait nothing was sent
      return authenticated({}, &fault);
    }
    if (outcome->status == 200) {
      boost::system::error_code ec;
      const json::value parsed = json::parse(outcome->body, ec);
      const json::value* token = !ec && parsed.is_object() ? parsed.get_object().if_contains("token") : nullptr;
      if (token != nullptr && token->is_string() && !token->get_string().empty()) {
        return authenticated(std::string{token->get_string()}, nullptr);
      }
    }
    const int code = codeIn(outcome->body);
    // The cluster asks for no users (yet).
    if (outcome->status >= 400 && code == codeFailedPrecondition) return authenticated({}, nullptr);
    if (outcome->status == 400 && code == 0) {
      const CallFault fault{
          {ErrorClass::misconfigured, outcome->member + " did not look at user " + inQuotes(user_) + ": " +
                                          inQuotes(outcome->body) +
                                          "; beside users, the client's certificate must have no common name"},
          false};
      return authenticated({}, &fault);
    }
    const bool refused = outcome->status == 400 || outcome->status == 401 || outcome->status == 403;
    const std::string what =
        refused ? "refused user " + inQuotes(user_) + "; check the user, and the password in " + passwordFile_
                : "could not check user " + inQuotes(user_);
    const CallFault fault{{refused ? ErrorClass::credentials : ErrorClass::transient,
                           outcome->member + " " + what + " (status " + std::to_string(outcome->status) + ", code " +
                               std::to_string(code) + ")"},
                          false};
    authenticated({}, &fault);
  }

  void authenticated(std::string token, const CallFault* fault) {
    std::vector<Continuation> waiting;
    {
      const std::lock_guard lock{mutex_};
      authenticating_ = false;
      waiting.swap(waiting_);
      if (fault == nullptr) {
        token_ = std::move(token);
        hasToken_ = true;
        ++tokenNumber_;
      }
    }
    for (const Continuation& goOn : waiting) goOn(fault);
  }

  /// The server does not take this token (any more).
  void forget(std::uint64_t tokenNumber) {
    const std::lock_guard lock{mutex_};
    if (tokenNumber == tokenNumber_) hasToken_ = false;
  }

  /// Whether the request was refused unread because of the token. Code 3 with 400: the token is older than a change of
  /// roles (a signed one), or there is none.
  [[nodiscard]] bool isTokenRefused(int status, const std::string& body, bool hadToken) const {
    if (user_.empty() || status < 400) return false;
    const int code = codeIn(body);
    if (status == 401 || code == codeUnauthenticated) return true;
    return (status == 400 && code == codeInvalidArgument) || (!hadToken && code == codePermissionDenied);
  }

  void addToken(net::HttpRequest& request, std::uint64_t& number) {
    const std::lock_guard lock{mutex_};
    number = tokenNumber_;
    if (hasToken_ && !token_.empty()) request.headers.push_back({"Authorization", token_});
  }

  // -- calls ---------------------------------------------------------------------------------------------------------

  void tryNext(const RequestPtr& request) {
    std::optional<std::size_t> member;
    {
      const std::lock_guard lock{mutex_};
      member = members_.next(request->tried, now());
    }
    const auto client = client_.lock();
    if (!member || !client || request->deadline <= now()) {
      // Not inside the user's call.
      return sharedScheduler()->post([self = shared_from_this(), request] { self->giveUp(*request); });
    }
    request->member = *member;
    request->tried[*member] = true;
    net::HttpRequest asked{.target = request->path, .body = request->body};
    asked.headers.push_back({"Content-Type", "application/json"});
    if (!request->isAuthentication) addToken(asked, request->tokenNumber);
    const bool hadToken = std::any_of(asked.headers.begin(), asked.headers.end(),
                                      [](const net::HttpHeader& one) { return one.name == "Authorization"; });
    client->send(origins_[*member], std::move(asked), share(*request),
                 [self = shared_from_this(), request, hadToken](HttpOutcome outcome) {
                   self->judge(request, std::move(outcome), hadToken);
                 });
  }

  /// About a third of the time for each member, and all that is left for the last one.
  [[nodiscard]] static nanoseconds share(const Request& request) {
    const nanoseconds left = request.deadline - now();
    const bool isLast = std::all_of(request.tried.begin(), request.tried.end(), [](bool one) { return one; });
    return isLast ? left : std::min(left, (request.deadline - request.start) / 3);
  }

  void judge(const RequestPtr& request, HttpOutcome outcome, bool hadToken) {
    if (!outcome) return noAnswer(request, outcome.error());
    if (isUnable(outcome->status)) return unableToAnswer(request, std::move(*outcome));
    {
      const std::lock_guard lock{mutex_};
      members_.answered(request->member);
    }
    if (!request->isAuthentication && !request->authenticatedAgain &&
        isTokenRefused(outcome->status, outcome->body, hadToken)) {
      return askAgain(request, std::move(*outcome));
    }
    request->handler(replyOf(*request, std::move(*outcome)));
  }

  [[nodiscard]] Reply replyOf(const Request& request, net::HttpResponse response) const {
    return {response.status, std::move(response.body), toString(origins_[request.member]),
            request.copiesOut || response.copiesOut};
  }

  void noAnswer(const RequestPtr& request, const HttpError& error) {
    {
      const std::lock_guard lock{mutex_};
      members_.failed(request->member, now());
    }
    request->copiesOut = request->copiesOut || error.maybeSent;
    request->onlyTls = request->onlyTls && error.kind == HttpError::Kind::tls;
    request->troubles += (request->troubles.empty() ? "" : "; ") + error.message;
    const bool mayGoOn = request->repeat == Gateway::Repeat::yes || !request->copiesOut;
    if (error.kind == HttpError::Kind::cancelled || !mayGoOn) return giveUp(*request);
    tryNext(request);
  }

  void unableToAnswer(const RequestPtr& request, net::HttpResponse response) {
    {
      const std::lock_guard lock{mutex_};
      members_.failed(request->member, now());
    }
    const int status = response.status;
    request->unable = std::make_shared<Reply>(replyOf(*request, std::move(response)));
    if (request->repeat == Gateway::Repeat::no) return request->handler(std::move(*request->unable));
    request->copiesOut = true;
    request->troubles +=
        (request->troubles.empty() ? "" : "; ") + request->unable->member + ": status " + std::to_string(status);
    tryNext(request);
  }

  void askAgain(const RequestPtr& request, net::HttpResponse refusal) {
    request->authenticatedAgain = true;
    forget(request->tokenNumber);
    const auto reply = std::make_shared<Reply>(replyOf(*request, std::move(refusal)));
    whenAuthenticated(request->deadline, [self = shared_from_this(), request, reply](const CallFault* fault) {
      if (fault != nullptr) return request->handler(CallFault{fault->error, request->copiesOut});
      if (request->deadline <= now()) return request->handler(std::move(*reply));
      request->tried[request->member] = false;
      self->tryNext(request);
    });
  }

  void giveUp(Request& request) {
    if (request.unable) {
      request.unable->copiesOut = request.copiesOut;
      return request.handler(std::move(*request.unable));
    }
    const bool isConfiguration = request.onlyTls && !request.troubles.empty();
    const std::string why = request.troubles.empty() ? "the time was over before a member was asked" : request.troubles;
    request.handler(
        CallFault{{isConfiguration ? ErrorClass::misconfigured : ErrorClass::transient, "no member answered: " + why},
                  request.copiesOut});
  }

  // -- streams -------------------------------------------------------------------------------------------------------

  void begin(const std::shared_ptr<StreamState>& state, net::HttpRequest request, nanoseconds silence) {
    const auto client = client_.lock();
    if (!client) return state->ended("the store was closed");
    std::size_t member = 0;
    {
      const std::lock_guard lock{mutex_};
      member = members_.next(std::vector<bool>(origins_.size(), false), now()).value_or(0);
    }
    std::uint64_t tokenNumber = 0;
    addToken(request, tokenNumber);
    const net::StreamLimits limits{
        .accept = std::min(silence, longestAccept), .silence = silence, .longest = {}, .longestLine = longestLine};
    net::StreamHandlers handlers{[state](std::string_view line) { state->line(line); },
                                 [self = shared_from_this(), state, member, tokenNumber](const HttpOutcome& outcome) {
                                   state->ended(self->whyEnded(member, tokenNumber, outcome));
                                 }};
    state->hold(client->stream(origins_[member], std::move(request), limits, std::move(handlers)));
  }

  /// The next stream goes to another member: this one may have lost the others.
  std::string whyEnded(std::size_t member, std::uint64_t tokenNumber, const HttpOutcome& outcome) {
    if (outcome && isTokenRefused(outcome->status, outcome->body, true)) {
      forget(tokenNumber);
    } else {
      const std::lock_guard lock{mutex_};
      members_.failed(member, now());
    }
    if (!outcome) return outcome.error().message;
    const std::string where = toString(origins_[member]);
    if (outcome->status / 100 == 2) return where + " has ended the stream";
    return where + " did not accept the stream (status " + std::to_string(outcome->status) + ", code " +
           std::to_string(codeIn(outcome->body)) + ")";
  }

  const std::string user_;
  const std::string passwordFile_;
  const Logger logger_;
  std::vector<net::Origin> origins_{};
  std::weak_ptr<net::HttpClient> client_{};  ///< belongs to the gateway, whose end cancels what is under way

  std::mutex mutex_{};  ///< guards what follows
  Members members_;
  std::string token_{};
  bool hasToken_{false};  ///< the token may be empty: the cluster asks for none
  std::uint64_t tokenNumber_{0};
  bool authenticating_{false};
  std::vector<Continuation> waiting_{};
};

class HttpGateway final : public Gateway {
 public:
  HttpGateway(const EtcdStoreOptions& options, Logger logger)
      : core_{std::make_shared<Core>(options, std::move(logger))},
        client_{net::HttpClient::make({.caFile = options.caFile,
                                       .certificate = options.certificate,
                                       .key = options.key,
                                       .proxy = {},
                                       .maxReply = longestReply})} {
    core_->use(client_);
  }

  void call(std::string_view path, std::string body, nanoseconds timeout, Repeat repeat,
            OutcomeHandler handler) override {
    const auto request = std::make_shared<Request>();
    request->path = path;
    request->body = std::move(body);
    request->start = now();
    request->deadline = request->start + std::min<nanoseconds>(timeout, std::chrono::hours{24});
    request->repeat = repeat;
    request->handler = std::move(handler);
    core_->call(request);
  }

  std::shared_ptr<void> stream(std::string_view path, std::string body, nanoseconds silence,
                               StreamHandlers handlers) override {
    net::HttpRequest request{.target = std::string{path}, .body = std::move(body)};
    request.headers = {{"Content-Type", "application/json"}, {"Grpc-Metadata-hasleader", "true"}};
    return core_->stream(std::move(request), silence, std::move(handlers));
  }

  std::string describe() const override { return core_->describe(); }

 private:
  std::shared_ptr<Core> core_;
  std::shared_ptr<net::HttpClient> client_;
};

}  // namespace

std::shared_ptr<Gateway> makeHttpGateway(const EtcdStoreOptions& options, Logger logger) {
  return std::make_shared<HttpGateway>(options, std::move(logger));
}

}  // namespace tenure::etcd_store
